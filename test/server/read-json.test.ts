// The text of a body as JSON: what is read, rejected and refused.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isJsonObject, type JsonValue } from '../../src/model/json.ts';
import { Problem } from '../../src/server/problem.ts';
import { listLimits, type ReadJson, readJson } from '../../src/server/read-json.ts';
import { maxDepth } from '../../src/server/scan-json.ts';

const refusal = async (text: string): Promise<string> => {
  const problem = await readJson(text).catch((error: Problem) => error);
  expect(problem, text).toMatchObject({ status: 400 });
  return (problem as Problem).message;
};

it('any output of JSON.stringify is read back', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 5 }), async (value) => {
      const text = JSON.stringify(value);
      expect(await readJson(text)).toEqual({ value: JSON.parse(text), list: [] });
    }),
  );
});

it('lone surrogates and NUL in escapes survive, and brackets in strings do not count as nesting', async () => {
  expect((await readJson('["\\ud800","\\u0000"]')).value).toEqual(['\ud800', '\u0000']);
  const text = JSON.stringify({ a: '['.repeat(2000), b: [1] });
  expect((await readJson(text)).value).toEqual(JSON.parse(text));
});

it('containers nested too deep and too many values are refused', async () => {
  const nested = (depth: number) => '['.repeat(depth) + ' '.repeat(2000) + ']'.repeat(depth);
  await expect(readJson(nested(maxDepth))).resolves.toBeDefined();
  expect(await refusal(nested(maxDepth + 1))).toContain(`at most ${maxDepth} deep`);
  await expect(readJson(`[${'0,'.repeat(listLimits.values)}0]`)).rejects.toMatchObject({ status: 413 });
});

it('malformed JSON is refused, with the position if it is known, and without text of the body', async () => {
  expect(await refusal('{"user": "ada", }')).toContain('character 17 (line 1, column 17)');
  expect(await refusal('{\n "a": 1,\n "b" 2}')).toContain('(line 3, column 6)');
  expect(await refusal('{"user":"secret-token" "x"}')).not.toContain('secret');
  const more = ['{"a": "abc', '{} {}', '', "{'a': 1}", '{"a": 01}', '[1 2]', '{1: 2}', '["\\x41"]', '[,]'];
  for (const text of [...more, '[NaN]', '["\n"]']) expect(await refusal(text)).toContain('expected JSON');
});

it('any truncation of a body is refused, without another exception', async () => {
  const entry = { metadata: { key: 'a/b', write_ts: 1.5e3 }, data: { s: '\\"\u00e9' } };
  const text = JSON.stringify({ user: 'a', phone_to_server: [entry, entry] });
  const list = { name: 'phone_to_server', read: (element: JsonValue) => element };
  for (let end = 0; end < text.length; end += 1)
    await expect(readJson(text.slice(0, end), list)).rejects.toMatchObject({ status: 400 });
});

describe('a list read element by element', () => {
  const list = { name: 'list', read: (element: JsonValue) => ({ element }) };
  const read = async (text: string) => (await readJson(text, list)).list.map(({ element }) => element);

  const blank = fc.constantFrom('', '', ' ', '\n\t', '\r\n  ');
  const leaf = fc.oneof(
    fc.constantFrom('1', '-0', '1e999', 'null', '"list"', '"]}"', '"\\\\\\""', '"\\ud800"', '"é😀"', '{}', '[]'),
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
    { minLength: 1, maxLength: 2 },
  );
  const names = fc.constantFrom('"list"', '"list"', '"list"', '"user"', '"\\u006cist"');
  const body = fc.tuple(fc.array(fc.tuple(names, lists), { maxLength: 3 }), blank).map(([members, gap]) => {
    const texts = members.flatMap(([name, values]) => values.map((of) => `${name}:${of}`));
    return `${gap}{${texts.join(`,${gap}`)}}${gap}`;
  });

  it('gives the same result as the body read at once', async () => {
    await fc.assert(
      fc.asyncProperty(body, async (text) => {
        const expected: ReadJson<object> = { value: JSON.parse(text), list: [] };
        if (isJsonObject(expected.value) && Array.isArray(expected.value.list)) {
          expected.list = expected.value.list.map((element) => ({ element }));
          expected.value.list = [];
        }
        expect(await readJson(text, list)).toEqual(expected);
      }),
      { numRuns: 2_000 },
    );
  });

  it('any damage is refused or affects only elements, which are given as text', async () => {
    const replacement = fc.constantFrom('', ',', '{', '}', '[', ']', '"', '\\', '1', '\u0000');
    const cut = fc.tuple(fc.nat(2000), fc.nat(3), replacement);
    await fc.assert(
      fc.asyncProperty(body, cut, async (text, [at, length, by]) => {
        const from = at % (text.length + 1);
        const damaged = text.slice(0, from) + by + text.slice(from + length);
        const found = await readJson(damaged, list).catch((error: Problem) => error);
        if (found instanceof Problem) expect(found.status).toBe(400);
        else for (const element of found.list) expect(element).toHaveProperty('element');
      }),
      { numRuns: 2_000 },
    );
  });

  it('gives an element that is not JSON or nested too deep as text, and the others as values', async () => {
    const deep = (levels: number) => `{"a":${'['.repeat(levels)}${' '.repeat(2_000)}${']'.repeat(levels)}}`;
    expect(await read('{"list":[{"a":1},{"a":NaN}, {"b":"\u0001"} ,7,nul]}')).toEqual([
      { a: 1 },
      '{"a":NaN}',
      '{"b":"\u0001"}',
      7,
      'nul',
    ]);
    const [fits, tooDeep] = await read(`{"list":[${deep(maxDepth - 3)},${deep(maxDepth - 2)}]}`);
    expect([isJsonObject(fits!), tooDeep]).toEqual([true, deep(maxDepth - 2)]);
  });

  it('finds the list of the body, even if other fields have its name', async () => {
    expect(await read('{"list": [ {"a": 1} ,\n7, "]", {"b":[{"a":1},{"a":2}]}\t] }')).toHaveLength(4);
    expect(await read('{"more":{"list":[{"a":1}]},"list":[{"a":2}]}')).toEqual([{ a: 2 }]);
    expect(await read('{"list":[{"a":1}],"\\u006cist":[{"a":2}]}')).toEqual([{ a: 2 }]);
    expect(await read('{"list":[]}')).toEqual([]);
  });
});
