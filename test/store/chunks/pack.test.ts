// Compression: any text and value comes back; damage is noticed.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { levels, packText, packValue, unpackText, unpackValue } from '../../../src/store/chunks/pack.ts';

it('texts packed with any level are unpacked unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 2_000 }), (text) => {
      for (const level of Object.values(levels)) expect(unpackText(packText(text, level))).toBe(text);
    }),
  );
});

it('values are unpacked exactly, including values that JSON.stringify changes', () => {
  for (const value of [null, -0, Infinity, '', 'a\0', [], { a: [-0, { b: -Infinity }] }])
    expect(unpackValue(packValue(value))).toStrictEqual(value);
});

it('truncated bytes are an error', () => {
  const bytes = packText('x'.repeat(1_000) + Math.PI);
  expect(() => unpackText(bytes.subarray(0, bytes.length - 3))).toThrow();
});
