// Compression: any text and value comes back; damage is noticed.
import { brotliCompressSync, constants } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { levels, packText, packValue, unpackText, unpackValue } from '../../../src/store/chunks/pack.ts';

it('texts packed with any level are unpacked unchanged', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 2_000 }), fc.constantFrom(1, 10), (part, times) => {
      const text = part.repeat(times);
      for (const level of Object.values(levels)) expect(unpackText(packText(text, level))).toBe(text);
    }),
  );
});

it('values are unpacked exactly, including values that JSON.stringify changes', () => {
  for (const value of [null, -0, Infinity, '', 'a\0', [], { a: [-0, { b: -Infinity }] }])
    expect(unpackValue(packValue(value))).toStrictEqual(value);
});

it('bytes that this and older versions stored are read', () => {
  const text = '{"key":"background/battery","source":"StateSequence","Grüße":[null]}';
  expect(unpackText(brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_LGWIN]: 18 } }))).toBe(text);
  expect(unpackText(Buffer.from('/qsGZ1MrpaTE5Oz0ovzSvBT9pMSSklRwrsCZnNyLDu85PD9VySoaZFxsLQA=', 'base64'))).toBe(text);
});

it('truncated bytes are an error', () => {
  for (const length of [1_000, 10_000]) {
    const bytes = packText('x'.repeat(length) + Math.PI);
    expect(() => unpackText(bytes.subarray(0, bytes.length - 3))).toThrow();
  }
});
