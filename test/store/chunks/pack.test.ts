// Compression: whatever the bytes are, and whoever reads or wrote them.
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { pack, unpack } from '../../../src/store/chunks/pack.ts';

const bytes = fc.oneof(
  fc.uint8Array({ maxLength: 400 }),
  fc.integer({ min: 0, max: 400 }).map((length) => new Uint8Array(length).fill(7)),
);

it('bytes come back as they were, also through deflate itself, with any level of it', () => {
  fc.assert(
    fc.property(bytes, fc.integer({ min: 0, max: 9 }), (some, level) => {
      const whole = Buffer.from(some);
      expect(unpack(pack(some)).equals(whole)).toBe(true);
      expect(inflateRawSync(pack(some)).equals(whole)).toBe(true);
      expect(unpack(deflateRawSync(some, { level })).equals(whole)).toBe(true);
    }),
  );
});
