// Fields of entries from the columns of a chunk: what they say is what JSON.parse says of the texts, whatever these
// are.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Chunk } from '../../../src/store/chunks/chunk.ts';
import { decodeContent, decodeTimes, encodeChunk } from '../../../src/store/chunks/form.ts';
import type { EntryFields } from '../../../src/store/store.ts';

const fields: EntryFields = {
  metadata: ['key', 'write_ts', 'zone', 'origin'],
  data: ['ts', 'a', 'b', 'ab', 'toString', '__proto__'],
};

/** How many entries were made of columns alone, and each entry as read with fields. */
function readBack(texts: readonly string[]): { parts: unknown[]; fromColumns: number } {
  const rows = texts.map((text, i) => ({
    ...{ write_ts: 1_463_400_000.5 + i, ts: 1_463_400_000.25 + i },
    ...{ received_ts: 1, zone: null, text },
  }));
  const { times, entries } = encodeChunk(rows);
  const columns = decodeTimes(times, rows.length);
  let fromTexts = 0;
  const content = decodeContent(entries, columns);
  const chunk = new Chunk({ first: 0, last: 0, count: rows.length, size: 0 }, columns, () => ({
    ...content,
    texts: () => {
      fromTexts = 1;
      return content.texts();
    },
  }));
  const parts: unknown[] = rows.map(() => null);
  // One and the same object may hold them all, one after another, in any order.
  for (const place of [...parts.keys(), ...parts.keys()].reverse()) {
    parts[place] = structuredClone(chunk.glanceAt(place, fields));
  }
  return { parts, fromColumns: fromTexts === 0 ? parts.length : 0 };
}

/** The named fields of what JSON.parse makes of a text. */
function expected(text: string): unknown {
  const { metadata, data } = JSON.parse(text);
  return { metadata: pick(metadata, fields.metadata), data: pick(data, fields.data) };
}

function pick(from: unknown, names: readonly string[]): unknown {
  if (typeof from !== 'object' || from === null || Array.isArray(from)) return from;
  return Object.fromEntries(
    names
      .filter((name) => Object.hasOwn(from, name) && Reflect.get(from, name) !== undefined)
      .map((name) => [name, Reflect.get(from, name)]),
  );
}

/** Every entry is what the text says, apart from fields that nobody asked for. */
function expectSame(texts: readonly string[]): void {
  const { parts } = readBack(texts);
  for (const [i, part] of parts.entries()) {
    const { metadata, data } = part as { metadata: unknown; data: unknown };
    expect({ metadata: pick(metadata, fields.metadata), data: pick(data, fields.data) }).toStrictEqual(
      expected(texts[i]!),
    );
  }
}

const number = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? '-0' : String(value))),
  fc.integer().map(String),
  fc.bigInt().map(String),
  fc.integer({ min: 1_463_400_000_000, max: 1_463_500_000_000 }).map((ms) => String(ms / 1e3)),
  fc.tuple(fc.integer({ min: -99, max: 99 }), fc.nat(9_999_999)).map(([whole, part]) => `${whole}.${part}`),
  fc.constantFrom('-0', '0', '0.0', '-0.0', '0.50', '25.0', '1e400', '-1e400', '1E-7', '5e-324', '100', '7'),
  fc.constantFrom('9007199254740991', '9007199254740993', '-2251799813685248', '0.1234567890123456'),
  fc.constantFrom('0.30000000000000004', '123456789012345', '12345678901234.5', '999999999999999.9'),
);

const string = fc.oneof(
  fc.string({ maxLength: 12 }).map((text) => JSON.stringify(text)),
  fc.string({ unit: 'binary', maxLength: 6 }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '"08:05:59"',
    '"8:00 Jan"',
    '"a\\\\"',
    '"\\""',
    '"\\u0001"',
    '"\\u00010;"',
    '"\\ud83d\\ude00"',
    '"ü:1:2"',
    '""',
  ),
);

const value = fc.oneof(
  { weight: 4, arbitrary: number },
  { weight: 3, arbitrary: string },
  { weight: 1, arbitrary: fc.constantFrom('true', 'false', 'null', '[]', '{}', '[1,2]', '{"program":"x"}') },
  { weight: 1, arbitrary: number.map((one) => `{"program":"p","v":[${one}]}`) },
);

const name = fc.constantFrom(
  '"ts"',
  '"a"',
  '"b"',
  '"a\\u0062"',
  '"ab"',
  '"key"',
  '"write_ts"',
  '"zone"',
  '"__proto__"',
);
const colon = fc.constantFrom(':', ' : ', ' :', ': ');

/** The parts of an object between its values: names repeat, some are escaped, some stand away from their colon. */
const object = fc.array(fc.tuple(name, colon), { maxLength: 6 });

/** Texts of entries of which most have everything but the values in common. */
const entries = fc.tuple(object, object).chain(([metadata, data]) => {
  const filled = (parts: readonly (readonly [string, string])[]): fc.Arbitrary<string> =>
    fc
      .tuple(...parts.map(() => value))
      .map((of) => `{${parts.map(([one, at], i) => `${one}${at}${of[i]}`).join(',')}}`);
  const one = fc
    .tuple(filled(metadata), filled(data))
    .map(([ofMetadata, ofData]) => `{"metadata":${ofMetadata},"data":${ofData}}`);
  const other = fc
    .tuple(name, value)
    .map(([as, is]) => `{"metadata":{},${as}:${is},"data":{${as}:${is}},"data":{${as}:${is}}}`);
  return fc.array(fc.oneof({ weight: 8, arbitrary: one }, other), { minLength: 1, maxLength: 40 });
});

it('fields of any texts are those that JSON.parse finds in them', () => {
  fc.assert(fc.property(entries, expectSame), { numRuns: 250 });
});

it('a name that differs between texts is not taken for the name of the first', () => {
  const texts = ['"a"', '"b"', '"ts"'].map((one) => `{"metadata":{${one} :1},"data":{${one} :2}}`);
  expectSame([...texts, ...texts]);
});

it('what phones send is read without its text', () => {
  const texts = Array.from({ length: 60 }, (_, i) => {
    const ts = 1_463_400_000.25 + i;
    const fmt_time = new Date(ts * 1000).toISOString();
    const metadata = {
      key: 'background/location',
      write_ts: ts + 0.25,
      zone: 'Europe/Berlin',
      origin: { program: 'p' },
    };
    const data = { ts, a: i / 8, b: i % 2 ? 'high' : 'low', ab: i % 3 === 0, fmt_time, list: [i, i] };
    return JSON.stringify({ metadata, data });
  });
  expectSame(texts);
  expect(readBack(texts).fromColumns).toBe(texts.length);
});
