// What no diary has, for any entries: impossible speeds, and lengths that do not add up.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { analyse } from '../../src/analysis/analyse.ts';
import type { Location } from '../../src/analysis/clean/observations.ts';
import { keys } from '../../src/model/keys.ts';
import type { Section, Trip } from '../../src/model/trip.ts';
import { readStretch } from '../../src/pipeline/read-stretch.ts';
import { anyLife, runs } from '../support/lives.ts';
import { memoryTimeseries } from '../support/memory-timeseries.ts';
import { at, motions, moving } from '../support/phone.ts';
import { hour, rideAndRest, tripsOf } from './kit.ts';

/** Trips of a phone that reads motions. */
const tripsThrough = (locations: Location[]): Trip[] => tripsOf({ locations, motions: motions(0, 1, 'STILL') });

const isTooFast = ({ sensed_mode, distance, duration }: Section): boolean => {
  const limit = { WALKING: 4, BICYCLING: 14, CAR: 60, BUS: 40, TRAIN: 90 }[sensed_mode.split('.')[1]!];
  return limit !== undefined && distance >= 500 && distance > 1.01 * limit * duration;
};

it('in a random history, no section is too fast for its mode, and sections and stops sum to their trip', async () => {
  await fc.assert(
    fc.asyncProperty(anyLife, async (entries) => {
      const stretch = await readStretch(memoryTimeseries(entries), 'u', keys.filteredLocation, null, 1_000_000);
      const { records } = analyse({ userId: 'u', ...stretch, carry: null });
      for (const { trip } of records) {
        if (!trip) continue;
        expect(trip.sections.filter(isTooFast)).toEqual([]);
        const parts = [...trip.sections, ...trip.stops].reduce((sum, { distance }) => sum + distance, 0);
        expect(trip.distance).toBeCloseTo(parts, 1);
        for (const { estimated = 0, distance } of trip.sections) expect(estimated).toBeLessThanOrEqual(distance);
      }
    }),
    runs(60),
  );
});

const there = (from: number, east: number): Location[] => rideAndRest(from, east, 900);

it('the length of a trip is the same for an arrival at its start place an hour or a day before', () => {
  const again = (from: number): Location[] => there(from, 9000 + 600); // noticed 600 m from the place
  const [early, late] = [2 * hour, 26 * hour].map((from) => tripsThrough([...there(0, 0), ...again(from)])[1]!);
  expect(early!.distance).toBeCloseTo(late!.distance, 0);
});

it('the length of a trip has the part that no location shows as estimated', () => {
  const [, second] = tripsThrough([...there(0, 0), ...there(2 * hour, 9000 + 600)]);
  const estimated = second!.sections.reduce((sum, section) => sum + (section.estimated ?? 0), 0);
  expect(estimated).toBeGreaterThan(500);
  expect(estimated).toBeLessThan(900);
});

it('a lone location on another continent makes no flight', () => {
  const home = [...moving({ from: 0, to: 1200 }), ...moving({ from: 5 * hour, to: 6 * hour })];
  for (const far of [at(3 * hour, 1_500_000), at(1230, 5_000_000)])
    expect(tripsThrough([...home, far].sort((a, b) => a.ts - b.ts))).toEqual([]);
});
