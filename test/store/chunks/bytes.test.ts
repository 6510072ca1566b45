// Numbers and texts as bytes: what was written is read, wherever the buffer had to grow.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteReader, ByteWriter } from '../../../src/store/chunks/bytes.ts';

const piece = fc.oneof(
  fc.record({ double: fc.double({ noNaN: true }) }),
  fc.record({ signed: fc.integer() }),
  fc.record({ text: fc.string({ maxLength: 300, unit: 'grapheme' }) }),
);

it('every piece is read as it was written', () => {
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 4_000, max: 4_200 }),
      (pieces, n) => {
        const writer = new ByteWriter();
        for (let i = 0; i < n; i++) writer.byte(i % 251); // up to where the buffer grows first
        for (const one of pieces) {
          if ('double' in one) writer.double(one.double);
          else if ('signed' in one) writer.signed(one.signed);
          else writer.text(one.text);
        }
        const reader = new ByteReader(Buffer.from(writer.bytes()));
        for (let i = 0; i < n; i++) expect(reader.byte()).toBe(i % 251);
        const read = pieces.map((one) => {
          if ('double' in one) return { double: reader.double() };
          return 'signed' in one ? { signed: reader.signed() } : { text: reader.text() };
        });
        expect(read).toEqual(pieces);
      },
    ),
    { numRuns: 30 },
  );
});
