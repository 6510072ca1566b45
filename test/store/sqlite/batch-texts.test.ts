// The texts of a batch: those that a page wants, and nothing of the others.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { joinTexts, readTexts } from '../../../src/store/sqlite/batch-form.ts';

it('a few texts of a large batch are the same without the others', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 }).map((word) => JSON.stringify({ word }));
  const batch = fc.array(text, { minLength: 1, maxLength: 60 }).map((texts) => [...texts, `"${'x'.repeat(70_000)}"`]);
  fc.assert(
    fc.property(batch, fc.array(fc.nat(200), { maxLength: 80 }), (texts, numbers) => {
      const places = [...new Set(numbers.map((number) => number % texts.length))];
      const some = readTexts(joinTexts(texts), texts.length).only(places);
      expect(places.map((place) => some.at(place))).toEqual(places.map((place) => texts[place]));
      const hasLarge = places.includes(texts.length - 1);
      const wanted = places.reduce((sum, place) => sum + texts[place]!.length, 0);
      expect(some.size).toBe(hasLarge ? texts.reduce((sum, { length }) => sum + length, 0) : wanted);
    }),
    { numRuns: 300 },
  );
});
