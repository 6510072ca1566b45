// Order statistics.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { median, quantile } from '../../../src/model/geo/quantile.ts';

it('a quantile is interpolated between the two nearest values', () => {
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2.5);
  expect(quantile([4, 1, 3, 2], 0.25)).toBe(1.75);
  expect(quantile([4, 1, 3, 2], 1)).toBe(4);
  expect(median([7])).toBe(7);
});

it('a quantile is NaN for no values, so that comparisons with it are false', () => {
  expect(median([])).toBeNaN();
});

it('a quantile leaves the values in their order and lies among them', () => {
  const values = fc.array(fc.double({ min: 0, max: 1000, noNaN: true }), { minLength: 1 });
  fc.assert(
    fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (list, q) => {
      const copy = [...list];
      const value = quantile(list, q);
      expect(list).toEqual(copy);
      expect(value).toBeGreaterThanOrEqual(Math.min(...list));
      expect(value).toBeLessThanOrEqual(Math.max(...list));
    }),
  );
});
