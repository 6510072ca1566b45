// Zones of coordinates.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { zoneAt } from '../../../src/model/geo/zone.ts';
import { isTimeZone } from '../../../src/model/time.ts';

it('places far from borders have their zones', () => {
  expect(zoneAt({ latitude: 52.5, longitude: 13.4 })).toBe('Europe/Berlin');
  expect(zoneAt({ latitude: -1.286, longitude: 36.82 })).toBe('Africa/Nairobi');
  expect(zoneAt({ latitude: 37.4, longitude: -122.1 })).toBe('America/Los_Angeles');
});

it('every coordinate has a zone that can be calculated with, at sea and at the edges too', () => {
  const edges = [-90, 0, 90].flatMap((latitude) => [-180, 0, 180].map((longitude) => ({ latitude, longitude })));
  const anywhere = fc.record({
    latitude: fc.double({ min: -90, max: 90, noNaN: true }),
    longitude: fc.double({ min: -180, max: 180, noNaN: true }),
  });
  for (const location of [...edges, ...fc.sample(anywhere, 300)]) {
    expect(isTimeZone(zoneAt(location)), JSON.stringify(location)).toBe(true);
  }
});

it('an invalid coordinate has the zone UTC', () => {
  expect(zoneAt({ latitude: 91, longitude: 0 })).toBe('UTC');
  expect(zoneAt({ latitude: Number.NaN, longitude: 0 })).toBe('UTC');
});
