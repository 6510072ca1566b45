// Compression: any text and value comes back, whatever version of deflate packed it; damage is noticed.
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { packText, packValue, unpackText, unpackValue } from '../../../src/store/chunks/pack.ts';
import { same } from '../contract/kit.ts';

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string().map((text) => text.repeat(200)),
);

it('texts come back, packed with any level', () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 0, max: 9 }), (text, level) => {
      expect(unpackText(packText(text, level))).toBe(text);
      expect(unpackText(deflateRawSync(text, { level, memLevel: 1 }))).toBe(text);
    }),
  );
});

it('values come back, also those that JSON.stringify does not write', () => {
  for (const value of [-0, Infinity, { a: [-0, '\ud800\u0000'] }, JSON.parse('{"__proto__":{"a":1}}')]) {
    same(unpackValue(packValue(value)), value);
  }
});

it('bytes that are cut off are refused', () => {
  const bytes = packValue({ text: 'some words, and some more words' });
  for (let length = 0; length < bytes.length; length++) {
    expect(() => unpackValue(bytes.subarray(0, length))).toThrow();
  }
});
