// Metres on the sphere.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { between, distance, earthRadius } from '../../../src/model/geo/distance.ts';

const latLon = fc.record({
  latitude: fc.double({ min: -90, max: 90, noNaN: true }),
  longitude: fc.double({ min: -180, max: 180, noNaN: true }),
});
const degree = (Math.PI * earthRadius) / 180;

it('the distance is a degree of latitude everywhere, and of longitude at the equator', () => {
  expect(distance({ latitude: 48, longitude: 9 }, { latitude: 49, longitude: 9 })).toBeCloseTo(degree, 6);
  expect(distance({ latitude: 0, longitude: 9 }, { latitude: 0, longitude: 10 })).toBeCloseTo(degree, 6);
  expect(distance({ latitude: 60, longitude: 9 }, { latitude: 60, longitude: 10 })).toBeCloseTo(degree / 2, -1);
});

it('the distance takes the short way over the antimeridian and over the pole', () => {
  expect(distance({ latitude: 0, longitude: 179.5 }, { latitude: 0, longitude: -179.5 })).toBeCloseTo(degree, 6);
  expect(distance({ latitude: 89.5, longitude: 0 }, { latitude: 89.5, longitude: 180 })).toBeCloseTo(degree, 6);
});

it('the distance is a number from 0 to half the circumference, the same both ways, for any locations', () => {
  fc.assert(
    fc.property(latLon, latLon, (a, b) => {
      const metres = distance(a, b);
      expect(metres).toBeGreaterThanOrEqual(0);
      expect(metres).toBeLessThanOrEqual(Math.PI * earthRadius + 1e-6);
      expect(distance(b, a)).toBeCloseTo(metres, 6);
      expect(distance(a, a)).toBe(0);
    }),
  );
});

it('a location between two is linear in degrees', () => {
  const a = { latitude: 10, longitude: 20 };
  const b = { latitude: 20, longitude: 60 };
  expect(between(a, b, 0)).toEqual(a);
  expect(between(a, b, 1)).toEqual(b);
  expect(between(a, b, 0.25)).toEqual({ latitude: 12.5, longitude: 30 });
});

it('a location between two goes the short way round the antimeridian, both ways', () => {
  const east = { latitude: 0, longitude: 179 };
  const west = { latitude: 0, longitude: -179 };
  expect(between(east, west, 0.25).longitude).toBe(179.5);
  expect(between(east, west, 0.75).longitude).toBe(-179.5);
  expect(between(west, east, 0.75).longitude).toBe(179.5);
});

it('a location between two stays on the map', () => {
  fc.assert(
    fc.property(latLon, latLon, fc.double({ min: 0, max: 1, noNaN: true }), (a, b, share) => {
      const { latitude, longitude } = between(a, b, share);
      expect(Math.abs(latitude)).toBeLessThanOrEqual(90);
      expect(Math.abs(longitude)).toBeLessThanOrEqual(180);
    }),
  );
});
