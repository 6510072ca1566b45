import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonValue } from '../../src/model/json.ts';
import { Problem } from '../../src/server/problem.ts';
import { listLimits, type ReadJson, readJson, readJsonInTurns } from '../../src/server/read-json.ts';
import { maxDepth } from '../../src/server/scan-json.ts';

const bytes = (text: string) => Buffer.from(text, 'utf8');
const refusal = (text: string): string => {
  try {
    readJson(bytes(text));
  } catch (error) {
    if (error instanceof Problem && error.status === 400) return error.message;
    throw error;
  }
  throw new Error(`${text} was read`);
};

describe('JSON of a request', () => {
  it('any output of JSON.stringify is read back without a note', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        expect(readJson(bytes(text))).toEqual({ value: JSON.parse(text), list: [], notes: [] });
      }),
    );
  });

  it('a damaged body reads the same as the undamaged one beside the damage', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom('NaN', 'Infinity', '-Infinity'), (value, token) => {
        const text = `[${JSON.stringify(value, null, 1)}, ${token} , "NaN [ \\" {"]`;
        expect(readJson(bytes(text)).value).toEqual([JSON.parse(JSON.stringify(value)), token, 'NaN [ " {']);
      }),
    );
  });

  it('NaN and Infinity become strings, and stay unchanged within strings', () => {
    const { value, notes } = readJson(bytes('{"a": NaN, "b": [-Infinity,Infinity], "c": "NaN, \\"NaN"}'));
    expect(value).toEqual({ a: 'NaN', b: ['-Infinity', 'Infinity'], c: 'NaN, "NaN' });
    expect(notes).toHaveLength(1);
  });

  it('a byte that is not UTF-8 costs that character only, and is noted', () => {
    const body = Buffer.concat([bytes('{"name":"a'), Buffer.from([0xff]), bytes('b","ts":1.5}')]);
    const { value, notes } = readJson(body);
    expect(value).toEqual({ name: 'a\ufffdb', ts: 1.5 });
    expect(notes.join()).toContain('UTF-8');
  });

  it('raw control characters in strings are taken as they are', () => {
    expect(readJson(bytes('{"a":"x\u0000y\nz\t"}')).value).toEqual({ a: 'x\u0000y\nz\t' });
  });

  it('a byte order mark is ignored', () => {
    expect(readJson(bytes('\ufeff{"a":1}'))).toEqual({ value: { a: 1 }, list: [], notes: [] });
  });

  it('lone surrogates and NUL in escapes survive', () => {
    expect(readJson(bytes('["\\ud800","\\u0000"]')).value).toEqual(['\ud800', '\u0000']);
  });

  it('containers nested too deep become text, and the rest is read', () => {
    const deep = '['.repeat(maxDepth + 50) + ']'.repeat(maxDepth + 50);
    const { value, notes } = readJson(bytes(`{"a": ${deep}, "b": "fine"}`));
    expect(value).toMatchObject({ b: 'fine' });
    expect(() => JSON.stringify(value)).not.toThrow();
    let inner = (value as { a: unknown }).a;
    while (Array.isArray(inner)) inner = inner[0];
    expect(inner).toMatch(/^\[+\]+$/);
    expect(notes).toHaveLength(1);
  });

  it('brackets in strings do not count as nesting', () => {
    const text = JSON.stringify({ a: '['.repeat(2000), b: [1] });
    expect(readJson(bytes(text))).toEqual({ value: JSON.parse(text), list: [], notes: [] });
  });

  it('as many brackets without an end as a body may hold values are refused', () => {
    expect(refusal('['.repeat(listLimits.values))).toContain('the end of the body');
  });

  it('malformed JSON is refused with the position where it goes wrong', () => {
    expect(refusal('{"user": "ada", }')).toContain('character 17 (line 1, column 17)');
    expect(refusal('{\n "a": 1,\n "b" 2}')).toContain('(line 3, column 6)');
    expect(refusal('{"a": [1, 2}')).toContain('character 12');
    expect(refusal('{"a": NaN, "b": nul}')).toContain('character 17');
    expect(refusal('{"a": "abc')).toContain('the end of the body');
    expect(refusal('{} {}')).toContain('character 4');
    expect(refusal('')).toContain('character 1');
    for (const text of [
      "{'a': 1}",
      '{"a": 01}',
      '{"a": 1.}',
      '[1 2]',
      '{"a" 1}',
      '{1: 2}',
      '["\\x41"]',
      '[,]',
      'undefined',
    ]) {
      expect(refusal(text)).toContain('expected JSON');
    }
  });

  it('no refusal repeats the data sent', () => {
    expect(refusal('{"user":"secret-token" "x"}')).not.toContain('secret');
  });

  it('any truncation of a body is either JSON or refused, never an exception of another kind', () => {
    const text = JSON.stringify({
      user: 'a',
      phone_to_server: [{ metadata: { key: 'a/b', write_ts: 1.5e3 }, data: { s: '\\"\u00e9' } }],
    });
    for (let end = 0; end < text.length; end += 1) expect(refusal(text.slice(0, end))).toContain('expected JSON');
  });
});

describe('a list read element by element', () => {
  const seen: (string | null)[] = [];
  const list = {
    name: 'list',
    read: (element: JsonValue, text: string | null) => {
      seen.push(text);
      if (text !== null) deepStrictEqual(JSON.parse(text), element);
      return { element };
    },
  };
  /** What is read, or why it is not. */
  const outcome = (body: Buffer, reader?: typeof list): unknown => {
    try {
      return readJson(body, reader);
    } catch (error) {
      if (error instanceof Problem) return error.message;
      throw error;
    }
  };
  const own = { name: 'list', read: (_: JsonValue, text: string | null) => text };
  const expectTheSame = (body: Buffer): void => {
    const expected = structuredClone(outcome(body)) as ReadJson | string;
    if (typeof expected === 'object' && isJsonObject(expected.value) && Array.isArray(expected.value.list)) {
      Object.assign(expected, { list: expected.value.list.map((element) => ({ element })) });
      expected.value.list = [];
    }
    deepStrictEqual(outcome(body, list), expected);
  };

  const blank = fc.constantFrom('', '', ' ', '\n\t', '\r\n  ');
  const leaf = fc.oneof(
    fc.constantFrom('1', '-0', '1e999', 'null', '"list"', '"]}"', '"\\\\\\""', '"\\ud800"', '"é😀"', '{}', '[]', 'NaN'),
    fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text)),
  );
  const spaced = (open: string, close: string, parts: fc.Arbitrary<string[]>) =>
    fc.tuple(parts, blank, blank).map(([items, a, b]) => open + a + items.join(`${b},${a}`) + b + close);
  const { value } = fc.letrec<{ value: string; object: string; array: string; name: string; member: string }>(
    (tie) => ({
      name: fc.constantFrom('"list"', '"list"', '"user"', '"\\u006cist"', '"__proto__"', '"é"', '"]"'),
      member: fc.tuple(tie('name'), blank, tie('value')).map(([name, gap, of]) => `${name}${gap}:${gap}${of}`),
      object: spaced('{', '}', fc.array(tie('member'), { maxLength: 4 })),
      array: spaced('[', ']', fc.array(tie('value'), { maxLength: 5 })),
      value: fc.oneof({ maxDepth: 4 }, leaf, tie('object'), tie('array')),
    }),
  );
  const objects = fc.array(
    fc.oneof(
      value.map((of) => `{"x":${of}}`),
      fc.array(value, { maxLength: 3 }).map((of) => `{"x":[${of.map((one) => `{"x":${one}}`).join(',')}]}`),
    ),
    { maxLength: 6 },
  );
  const lists = fc.array(
    fc.oneof(
      objects.map((all) => `[${all.join(',')}]`),
      spaced('[', ']', objects),
      spaced('[', ']', fc.array(value)),
      value,
    ),
    { minLength: 1, maxLength: 4 },
  );
  const names = fc.constantFrom('"list"', '"list"', '"list"', '"user"', '"\\u006cist"');
  const body = fc.tuple(fc.array(fc.tuple(names, lists), { maxLength: 4 }), blank).map(([members, gap]) => {
    const texts = members.flatMap(([name, values]) => values.map((of) => `${name}:${of}`));
    return `${gap}{${texts.join(`,${gap}`)}}${gap}`;
  });
  const cut = fc.tuple(
    fc.nat(2000),
    fc.nat(3),
    fc.constantFrom('', ',', '{', '}', '[', ']', '"', '\\', '1', ' ', '\u0000'),
  );

  it('gives the same result as the body read at once, valid or damaged', () => {
    fc.assert(
      fc.property(body, fc.option(cut), (text, damage) => {
        if (damage === null) return expectTheSame(bytes(text));
        const [at, length, by] = damage;
        const from = at % (text.length + 1);
        expectTheSame(bytes(text.slice(0, from) + by + text.slice(from + length)));
      }),
      { numRuns: 3_000 },
    );
    expect(seen.filter((text) => text !== null).length).toBeGreaterThan(100);
  });

  it('nests no deeper than a body read at once', () => {
    for (const levels of [maxDepth - 4, maxDepth - 3, maxDepth - 2, maxDepth - 1, maxDepth]) {
      for (const blanks of [0, 2_000]) {
        const element = `{"a":${'['.repeat(levels)}${' '.repeat(blanks)}${']'.repeat(levels)}}`;
        expectTheSame(bytes(`{"list":[${element}]}`));
        expectTheSame(bytes(`{"user":${'['.repeat(levels)}${']'.repeat(levels)},"list":[{"a":1}]}`));
      }
    }
  });

  it('gives each element the text that it came as, over many of them', () => {
    for (const letter of ['a', 'é', '\ud83d\ude00']) {
      for (const count of [1, 255, 256, 257, 1_000]) {
        const elements = Array.from({ length: count }, (_, i) => `{"${letter}":[${i}.50, "},{"], "b": {} }`);
        const text = `\ufeff{"user":"ada","list":[${elements.join(',')}] , "more":{"list":{}}}`;
        const read = readJson(bytes(text), own);
        expect(read).toEqual({ value: { user: 'ada', list: [], more: { list: {} } }, list: elements, notes: [] });
      }
    }
  });

  it('ignores the blanks around it, whatever the elements begin with', () => {
    const read = (text: string) => readJson(bytes(text), own).list;
    expect(read('{"list": [ {"a": 1} ,\n7, "]", {"b":[{"a":1},{"a":2}]}\t] }')).toEqual([
      '{"a": 1}',
      '7',
      '"]"',
      '{"b":[{"a":1},{"a":2}]}',
    ]);
    expect(read('{"more":{"list":[{"a":1}]},"list":[{"a":2}]}')).toEqual(['{"a":2}']);
    expect(read('{"list":[{}],"more":{"list":[{"a":1}]}}')).toEqual(['{}']);
  });

  it('does so without the text where it is not certain', () => {
    const deep = (levels: number) => `{"a":${'['.repeat(levels)}${' '.repeat(2_000)}${']'.repeat(levels)}}`;
    for (const text of [
      '{"list":[{"a":1}],"\\u006cist":[{"a":2}]}',
      '{"list":[{"a":NaN}]}',
      `{"list":[${deep(maxDepth - 2)}]}`,
    ]) {
      expect(new Set(readJson(bytes(text), own).list)).toEqual(new Set([null]));
    }
  });

  it('says where a large body goes wrong without reading it twice', () => {
    const before = `{"list":[${'{"a":"x"},'.repeat(30_000)}`;
    expect(outcome(bytes(`${before}{"a" 1}]}`), list)).toContain(`character ${before.length + 6} `);
    expect(outcome(bytes(`${before}{"a":1`), list)).toContain('the end of the body');
  });
});

it('tells when it needs the bytes no more, after which they may be given back', async () => {
  const bytes = Buffer.from(JSON.stringify({ list: Array.from({ length: 5_000 }, (_, i) => ({ i })) }));
  const transferred = Buffer.from(new Uint8Array(bytes).buffer);
  const { buffer } = transferred;
  const list = { name: 'list', read: (element: unknown) => element };
  const giveBack = () => void structuredClone(buffer, { transfer: [buffer as ArrayBuffer] });
  const read = await readJsonInTurns(transferred, list, undefined, giveBack);
  expect(transferred.length).toBe(0);
  expect(read.list).toEqual(JSON.parse(bytes.toString()).list);
});
