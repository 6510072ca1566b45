import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Problem } from '../../src/server/problem.ts';
import { maxDepth, readJson } from '../../src/server/read-json.ts';

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
  it('whatever JSON.stringify writes is read back without a note', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        expect(readJson(bytes(text))).toEqual({ value: JSON.parse(text), notes: [] });
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

  it('NaN and Infinity become strings, within strings they stay what they are', () => {
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

  it('a byte order mark is passed over', () => {
    expect(readJson(bytes('\ufeff{"a":1}'))).toEqual({ value: { a: 1 }, notes: [] });
  });

  it('lone surrogates and NUL in escapes survive', () => {
    expect(readJson(bytes('["\\ud800","\\u0000"]')).value).toEqual(['\ud800', '\u0000']);
  });

  it('what is nested too deep is kept as text, and the rest is read', () => {
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
    expect(readJson(bytes(text))).toEqual({ value: JSON.parse(text), notes: [] });
  });

  it('a million brackets without an end are refused', () => {
    expect(refusal('['.repeat(1_000_000))).toContain('the end of the body');
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

  it('no refusal repeats what was sent', () => {
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
