// Tests of exact JSON text and of texts that any engine can hold.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonValue } from '../../src/model/json.ts';
import { escapeText, jsonText, unescapeText } from '../../src/model/json-text.ts';

it('jsonText preserves any JSON value, -0 included', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(JSON.parse(jsonText(value as JsonValue))).toStrictEqual(value);
    }),
  );
  expect(Object.is(JSON.parse(jsonText({ x: [-0] })).x[0], -0)).toBe(true);
});

it('jsonText writes what JSON.stringify writes where that is exact', () => {
  const value = { a: [1, 'é\u0000\ud800', null, true, { b: undefined, c: {} }], '': [] };
  expect(jsonText(value as JsonValue)).toBe(JSON.stringify(value));
  expect(jsonText({ ...value, z: -0 } as JsonValue)).toBe(JSON.stringify(value).replace(/}$/, ',"z":-0}'));
});

it.each([
  ['numbers beyond the range of doubles', '[1e999,-1e999]'],
  ['a field named __proto__', '{"__proto__":{"x":-0},"y":1}'],
  ['any depth', `${'[{"a":'.repeat(50_000)}-0${'}]'.repeat(50_000)}`],
])('jsonText keeps %s', (_, text) => {
  expect(jsonText(JSON.parse(text)) === text).toBe(true);
});

it('jsonText refuses NaN and values outside JSON', () => {
  expect(() => jsonText({ x: Number.NaN })).toThrow(TypeError);
  expect(() => jsonText((() => 1) as unknown as JsonValue)).toThrow(TypeError);
});

it('escapeText keeps different texts different and restores them', () => {
  const unit = fc.oneof(fc.constantFrom('\0', '\\', 'u', '0', '\ud800', '\udc00', 'a', '😀'), fc.string());
  fc.assert(
    fc.property(fc.array(unit), (units) => {
      const text = units.join('');
      const escaped = escapeText(text);
      expect(unescapeText(escaped)).toBe(text);
      expect(escaped).not.toMatch(/\0|\p{Surrogate}/u);
    }),
  );
  expect(escapeText('background/location é 😀')).toBe('background/location é 😀');
});
