import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AlikeEntries } from '../../src/intake/alike-entries.ts';
import { takeEntry } from '../../src/intake/take-entry.ts';
import { Problem } from '../../src/server/problem.ts';
import { readJson } from '../../src/server/read-json.ts';

const parsing = { name: 'list', read: takeEntry };

/** A reader that knows entries by their shapes, and how many it did not have to parse. */
function knowing() {
  const parsed = { count: 0 };
  const read = (...of: Parameters<typeof takeEntry>) => {
    parsed.count += 1;
    return takeEntry(...of);
  };
  return { parsed, reader: { name: 'list', read, alike: new AlikeEntries() } };
}

const outcome = (text: string, reader: Parameters<typeof readJson>[1]): unknown => {
  try {
    return readJson(Buffer.from(text), reader);
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
};

const bodyOf = (entries: readonly string[]) => `{"user":"ada","list":[${entries.join(',')}]}`;

const location = (i: number, speed = '1.5') =>
  `{"metadata":{"key":"background/location","write_ts":${1_437_578_400 + i}.25,"type":"sensor-data"},` +
  `"data":{"latitude":${48 + i / 100},"ts":${1_437_578_399 + i}.5,"speed":${speed},"filter":"time"}}`;

describe('entries like earlier ones', () => {
  const valid = fc.oneof(
    fc.constantFrom('0', '-0', '-1', '0.0', '1e9', '1E+9', '1.5e-7', '1e11', '99999999999.9', '1437578400123', '1e999'),
    fc.constantFrom('9007199254740993', '1437578400.12345678901234567890123', '0.1234567890123456789', '4.35'),
    fc.nat(2 ** 31).map((of) => `${of}`),
    fc.double({ min: 0, max: 2e11, noNaN: true }).map((of) => `${of}`),
    fc.tuple(fc.nat(2 ** 31), fc.nat(999_999)).map(([whole, part]) => `${whole}.${part}`),
  );
  const invalid = fc.constantFrom(
    '01',
    '1.',
    '.5',
    '+1',
    '-',
    '1e',
    '1e+',
    '0x1',
    'NaN',
    'nul',
    'truee',
    '"a\u0001"',
    '"',
  );
  const time = fc.oneof(
    { weight: 40, arbitrary: fc.tuple(fc.nat(2 ** 31), fc.nat(999)).map(([whole, part]) => `${whole}.${part}`) },
    { weight: 6, arbitrary: valid },
    { weight: 1, arbitrary: invalid },
    { weight: 3, arbitrary: fc.constantFrom('null', '"1437578400"', 'true', '{}', '[1]') },
  );
  const other = fc.oneof(
    { weight: 20, arbitrary: fc.string({ maxLength: 5 }).map((of) => JSON.stringify(of)) },
    { weight: 20, arbitrary: valid },
    { weight: 1, arbitrary: invalid },
    { weight: 9, arbitrary: fc.constantFrom('true', 'false', 'null', '"\\u0041"', '"]}"', '[1]') },
  );
  const key = fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom('"a/b"', '"background/location"') },
    { weight: 1, arbitrary: fc.constantFrom('""', '"a b"', '7', '"\\u0061"') },
  );
  const type = fc.oneof(
    { weight: 9, arbitrary: fc.constant('"message"') },
    { weight: 1, arbitrary: fc.constantFrom('"rw-document"', '7', 'null') },
  );
  /** Builders of entries of one shape: each takes the values. */
  const shape = fc.record({
    metadata: fc
      .subarray(['type', 'platform', 'ts'])
      .chain((more) => fc.shuffledSubarray(['key', 'write_ts', ...more], { minLength: more.length + 2 })),
    data: fc.shuffledSubarray(['ts', 'start_ts', 'end_ts', 'x', 'y', 'metadata.write_ts'], { minLength: 1 }),
    first: fc.constantFrom('metadata', 'data'),
    more: fc.constantFrom('', '', '', '', '', '', '"_id":1', '"data":{}'),
    gap: fc.constantFrom('', '', '', ' ', '\n '),
    nested: fc.constantFrom('', '', '', '"z":{"ts":1,"a":[1,"b",{}]}', '"x":1'),
  });
  const values = fc.record({
    key,
    type,
    write_ts: time,
    ts: time,
    start_ts: time,
    end_ts: time,
    platform: other,
    x: other,
    y: other,
    'metadata.write_ts': other,
  });
  type Shape = typeof shape extends fc.Arbitrary<infer T> ? T : never;
  type Values = typeof values extends fc.Arbitrary<infer T> ? T : never;
  const entryOf = ({ metadata, data, first, more, gap, nested }: Shape, given: Values): string => {
    const object = (names: readonly string[], rest: string) => {
      const members = names.map((name) => `"${name}":${gap}${given[name as keyof Values]}`);
      return `{${[...members, ...(rest ? [rest] : [])].join(`,${gap}`)}}`;
    };
    const parts = [`"metadata":${object(metadata, '')}`, `"data":${object(data, nested)}`];
    if (first === 'data') parts.reverse();
    return `{${[...parts, ...(more ? [more] : [])].join(',')}}`;
  };
  const entries = fc.array(shape, { minLength: 1, maxLength: 3 }).chain((shapes) =>
    fc.array(
      fc.tuple(fc.nat(shapes.length - 1), values).map(([which, given]) => entryOf(shapes[which]!, given)),
      { maxLength: 12 },
    ),
  );
  const damage = fc.tuple(
    fc.nat(3000),
    fc.constantFrom(0, 1, 2, 3, 5_000),
    fc.constantFrom('', ',', '{', '}', ']', '"', '\\', '1', ' ', 'é'),
  );

  it('are read as if they were parsed, valid or damaged, whatever was read before', () => {
    let [known, runs] = [0, 0];
    fc.assert(
      fc.property(
        entries,
        damage,
        fc.array(fc.constantFrom('', '', ' ', '\n'), { minLength: 1 }),
        (list, [at, length, by], blanks) => {
          const text = bodyOf(list.map((entry, i) => blanks[i % blanks.length] + entry));
          const from = at % (text.length + 1);
          const damaged = text.slice(0, from) + by + text.slice(from + length);
          const one = knowing();
          for (const body of [text, damaged, text, damaged]) {
            deepStrictEqual(outcome(body, one.reader), outcome(body, parsing));
          }
          one.parsed.count = 0;
          const isRead = typeof outcome(text, one.reader) === 'object';
          if (isRead) known += list.length - one.parsed.count;
          runs += 1;
        },
      ),
      { numRuns: 2_000 },
    );
    expect(known / runs).toBeGreaterThan(0.5);
  });

  it('are known when their numbers, texts and lengths differ', () => {
    const { parsed, reader } = knowing();
    const values = ['0', '-0.5', '12', '1e-7', '-3E+10', '0.25', '""', '"a"', '"]},{"', 'true', 'false', 'null'];
    const list = Array.from({ length: 500 }, (_, i) => location(i * 7, values[i % values.length]));
    deepStrictEqual(outcome(bodyOf(list), reader), outcome(bodyOf(list), parsing));
    expect(parsed.count).toBe(1);
  });

  it('are known in the bodies that follow, after more kinds of others than are kept', () => {
    const { parsed, reader } = knowing();
    for (let i = 0; i < 300; i += 1) {
      const strange = Array.from(
        { length: 20 },
        (_, k) => `{"metadata":{"key":"k","write_ts":1},"data":{"${i} ${k}":1}}`,
      );
      const text = bodyOf([...strange, ...Array.from({ length: 60 }, (_, k) => location(k))]);
      parsed.count = 0;
      deepStrictEqual(outcome(text, reader), outcome(text, parsing));
      expect(parsed.count).toBeLessThanOrEqual(21);
    }
  });

  it('are converted when their times are in milliseconds, as they would be alone', () => {
    const { reader } = knowing();
    const inMilliseconds = location(1)
      .replace('1437578401.25', '1437578401250')
      .replace('1437578400.5', '1437578400500');
    const { list } = outcome(bodyOf([location(0), inMilliseconds]), reader) as { list: unknown[] };
    expect(list).toEqual(
      [location(0), location(1)]
        .map((text) => takeEntry(JSON.parse(text)))
        .map((one) => ({
          ...one,
          text: expect.any(String),
        })),
    );
    expect(list[1]).toMatchObject({ write_ts: 1_437_578_401.25, ts: 1_437_578_400.5 });
  });

  it('have just the times that parsing gives, up to the last digit', () => {
    const { reader } = knowing();
    const list = [location(0)];
    for (let digits = 9_007_199_254_740_900n; digits < 9_007_199_254_741_010n; digits += 1n) {
      for (const whole of [1, 2, 8, 10]) {
        const time = `${digits}`.replace(new RegExp(`^.{${whole}}`), '$&.');
        list.push(location(0).replace('1437578399.5', time));
      }
    }
    deepStrictEqual(outcome(bodyOf(list), reader), outcome(bodyOf(list), parsing));
  });

  it('have the same text whatever was read before, with blanks before some of them only', () => {
    const body = bodyOf([location(0), ` ${location(1)}`, location(2), `\n${location(3)}`, location(4)]);
    const texts = [0, 1, 2, 3, 4].map((i) => location(i));
    for (const reader of [parsing, knowing().reader]) {
      const { list } = outcome(body, reader) as { list: { text: string }[] };
      expect(list.map(({ text }) => text)).toEqual(texts);
    }
  });

  it('are looked for in few bytes, however many kinds begin as the entries of a body do', () => {
    const { reader } = knowing();
    const kind = (text: string, name: string) =>
      `{"metadata":{"key":"k","write_ts":1},"data":{"a":"${text}","${name}":1}}`;
    const kinds = Array.from({ length: 60 }, (_, i) => kind('', `of ${i}`));
    readJson(Buffer.from(bodyOf(kinds)), reader);
    const compared = (body: string): number => {
      let count = 0;
      const counting = {
        ...reader,
        alike: {
          get end() {
            return reader.alike.end;
          },
          learn: (...of: Parameters<AlikeEntries['learn']>) => reader.alike.learn(...of),
          read: ({ bytes, view, text }: Parameters<AlikeEntries['read']>[0], at: number) => {
            const counted = new Proxy(bytes, {
              get(target, name) {
                if (typeof name === 'string' && /^\d/.test(name)) count += 1;
                return Reflect.get(target, name);
              },
            });
            return reader.alike.read({ bytes: counted, view, text }, at);
          },
        },
      };
      deepStrictEqual(outcome(body, counting), outcome(body, parsing));
      return count / body.length;
    };
    expect(compared(bodyOf([kind('x'.repeat(1_000_000), 'other')]))).toBeLessThan(1);
    const late = bodyOf(Array.from({ length: 2_000 }, () => kind('x'.repeat(800), 'o\\u0074her')));
    expect(compared(late)).toBeLessThan(1);
  });

  it('are known again after bodies without two entries alike', () => {
    const { parsed, reader } = knowing();
    const strange = Array.from({ length: 500 }, (_, k) => `{"metadata":{"key":"k","write_ts":1},"data":{"${k}":1}}`);
    readJson(Buffer.from(bodyOf(strange)), reader);
    parsed.count = 0;
    const text = bodyOf(Array.from({ length: 1_000 }, (_, k) => location(k)));
    deepStrictEqual(outcome(text, reader), outcome(text, parsing));
    expect(parsed.count).toBeLessThan(200);
  });

  it('stay known after many entries with times that no shape reads', () => {
    const { parsed, reader } = knowing();
    const negative = Array.from({ length: 60 }, (_, i) =>
      location(0).replace('background/location', 'k').replace('1437578399.5', `-${i}`),
    );
    readJson(Buffer.from(bodyOf([location(0), ...negative])), reader);
    parsed.count = 0;
    readJson(Buffer.from(bodyOf([location(1), location(2)])), reader);
    expect(parsed.count).toBe(0);
  });
});
