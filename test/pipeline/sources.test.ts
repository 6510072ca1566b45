// Several phones and apps of one person: the phone's own locations make the trips, others fill what it has not seen.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseLocations, type Location, sourceReach } from '../../src/analysis/clean/observations.ts';
import { locationEntry } from '../../src/intake/apps/other-entry.ts';
import type { Entry } from '../../src/model/entry.ts';
import { keys } from '../../src/model/keys.ts';
import type { TripRecord } from '../../src/model/trip.ts';
import { readLocations } from '../../src/pipeline/read-locations.ts';
import { simulateDay } from '../../src/simulate/simulate-day.ts';
import { chainAfter, chainOf, putAndRun } from '../support/diary.ts';
import { newUser, useStore } from '../support/store.ts';

const day = simulateDay({ day: '2024-03-12', seed: 'sources', platform: 'android' });

/** The same way as another app saw it: some seconds later than the phone, 5 m beside. */
const seenBy = (program: string, later = 20): Entry[] =>
  day
    .filter(({ metadata }) => metadata.key === keys.location)
    .map(({ data }) => {
      const [ts, latitude] = [Math.floor(Number(data.ts)) + later, Number(data.latitude) + 5e-5];
      return locationEntry({ ts, latitude, longitude: data.longitude, accuracy: 15 }, { program });
    });

/** The next morning, at the same place: the last trip has ended. */
const nextMorning = (entries: readonly Entry[]): Entry => {
  const last = entries.at(-1)!.data;
  const fix = { ts: Number(last.ts) + 9 * 3600, latitude: last.latitude, longitude: last.longitude, accuracy: 15 };
  return locationEntry(fix, { program: 'owntracks' });
};

const tripsOf = (chain: readonly TripRecord[]) => chain.filter(({ trip }) => trip !== null);
/** What must not depend on who the user is. */
const shapeOf = (chain: readonly TripRecord[]) =>
  chain.map(({ chain_ts, start_ts, end_ts, trip }) => [chain_ts, start_ts, end_ts, trip?.distance ?? null]);

const store = useStore();
const chainFrom = async (entries: readonly Entry[]): Promise<TripRecord[]> =>
  chainAfter(store, await newUser(store), entries);

describe('each read of locations', () => {
  const start = 1_700_000_000;
  const phoneAt = (ts: number): Entry => ({
    metadata: { key: keys.filteredLocation, platform: 'android', write_ts: ts, type: 'sensor-data', time_zone: 'UTC' },
    data: { ts, latitude: 47, longitude: 8 + ts / 1e9, accuracy: 10 },
  });
  const otherAt = (ts: number, program: string): Entry =>
    locationEntry({ ts, latitude: 47, longitude: 8 + ts / 1e9, accuracy: 10 }, { program });
  const partsOf = async (userId: string, size: number): Promise<Location[][]> => {
    const parts: Location[][] = [];
    const callbacks = { zonesOf: async () => () => 'UTC', onPing: () => {} };
    const reader = { timeseries: store.timeseries, userId, key: keys.filteredLocation, ...callbacks };
    for (let from = 0; from < Number.POSITIVE_INFINITY; ) {
      const { locations, loadedUntil } = await readLocations(reader, { from, countFrom: from, size });
      expect(loadedUntil).toBeGreaterThan(from);
      parts.push(locations);
      from = loadedUntil;
    }
    return parts;
  };

  it('is bounded, even if another app fills every gap of the phone', async () => {
    const uuid = await newUser(store);
    const phone = Array.from({ length: 30 }, (_, i) => phoneAt(start + i * 4000));
    const other = Array.from({ length: 2000 }, (_, i) => otherAt(start + i * 60, 'gpx'));
    await putAndRun(store, uuid, [...phone, ...other]);
    const parts = await partsOf(uuid, 60);
    for (const part of parts) expect(part.length).toBeLessThan(4 * 60);
    expect(parts.flat().length).toBeGreaterThan(1500);
    expect(parts.flat()).toEqual((await partsOf(uuid, 100_000)).flat());
  });

  it('gives the same locations for any size', async () => {
    const at = fc.integer({ min: 0, max: 20_000 });
    const times = fc.uniqueArray(at, { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(times, times, times, fc.integer({ min: 1, max: 30 }), async (phone, one, two, size) => {
        const uuid = await newUser(store);
        const entries = [
          ...phone.map((second) => phoneAt(start + second)),
          ...one.map((second) => otherAt(start + second, 'gpx')),
          ...two.map((second) => otherAt(start + second + 0.5, 'owntracks')),
        ];
        await putAndRun(store, uuid, entries);
        expect((await partsOf(uuid, size)).flat()).toEqual((await partsOf(uuid, 100_000)).flat());
      }),
      { numRuns: 25 },
    );
  });
});

describe('sources that overlap', () => {
  it('the trips come from the phone only, and readers still see all entries of the other source', async () => {
    const uuid = await newUser(store);
    const other = seenBy('owntracks');
    const alone = tripsOf(await chainFrom(day));
    const both = tripsOf(await chainAfter(store, uuid, [...day, ...other]));
    expect(alone.length).toBeGreaterThan(2);
    expect(both).toHaveLength(alone.length);
    for (const [i, { trip }] of both.entries()) {
      expect(Math.abs(trip!.distance / alone[i]!.trip!.distance - 1)).toBeLessThan(0.02);
      expect(Math.abs(trip!.start_ts - alone[i]!.trip!.start_ts)).toBeLessThan(sourceReach);
    }
    const kept = await store.timeseries.find(uuid, { keys: ['background/location'], time: 'ts', limit: 100_000 });
    expect(kept.entries.filter(({ metadata }) => metadata.platform === 'other')).toHaveLength(other.length);
  });

  it('another app fills the gap while the phone was off', async () => {
    const alone = tripsOf(await chainFrom(day));
    const noon = alone[1]!.end_ts + 60;
    const morning = day.filter(({ metadata }) => metadata.write_ts < noon);
    const half = tripsOf(await chainFrom(morning));
    const others = [...seenBy('owntracks'), ...seenBy('overland', 33)];
    const filled = tripsOf(await chainFrom([...morning, ...others, nextMorning(others)]));
    expect(half.length).toBeLessThan(alone.length);
    const distance = (chain: readonly TripRecord[]) => chain.reduce((sum, { trip }) => sum + trip!.distance, 0);
    expect(filled).toHaveLength(alone.length);
    expect(Math.abs(distance(filled) / distance(alone) - 1)).toBeLessThan(0.05);
  });

  it('an app that sends filtered and unfiltered locations is read in order', async () => {
    const all = [...seenBy('owntracks'), nextMorning(seenBy('owntracks'))];
    const mixed = structuredClone(all);
    mixed.at(-1)!.metadata.key = keys.filteredLocation;
    expect(shapeOf(await chainFrom(mixed))).toEqual(shapeOf(await chainFrom(all)));
  });

  it('order of arrival, batches and runs in between do not matter', async () => {
    const holes = day.filter(({ data }) => Math.floor(Number(data.ts ?? 0) / 4000) % 3 !== 0);
    const all = [...holes, ...seenBy('owntracks'), ...seenBy('overland', 33)];
    const expected = shapeOf(await chainFrom(all));
    await fc.assert(
      fc.asyncProperty(fc.integer(), fc.integer({ min: 2, max: 5 }), async (seed, parts) => {
        const uuid = await newUser(store);
        const batchOf = (i: number): number => Math.abs(Math.imul(i + 1, 2_654_435_761) ^ seed) % parts;
        for (let part = 0; part < parts; part += 1) {
          const batch = all.filter((_, i) => batchOf(Math.floor(i / 40)) === part);
          await putAndRun(store, uuid, batch);
        }
        expect(shapeOf(await chainOf(store, uuid))).toEqual(expected);
      }),
      { numRuns: 6 },
    );
  });
});

it('all locations of the first source are taken, and locations of other sources far from sources with higher priority', () => {
  const fields = { latitude: 0, longitude: 0, altitude: null, accuracy: 5, speed: null, zone: 'UTC' };
  const at = (ts: number): Location => ({ ts, ...fields, sampling: 'distance', zoneGuessed: false });
  const times = fc
    .uniqueArray(fc.integer({ min: 0, max: 5000 }), { maxLength: 40 })
    .map((list) => list.sort((a, b) => a - b).map(at));
  fc.assert(
    fc.property(times, times, times, (android, ios, other) => {
      const chosen = chooseLocations(new Map(Object.entries({ 'other/gpx': other, ios, android })));
      const far = (one: Location, from: readonly Location[]) =>
        from.every(({ ts }) => Math.abs(ts - one.ts) > sourceReach);
      const expected = [
        ...android,
        ...ios.filter((one) => far(one, android)),
        ...other.filter((one) => far(one, [...android, ...ios])),
      ];
      expect(chosen).toEqual(expected.sort((a, b) => a.ts - b.ts));
      expect(new Set(chosen.map(({ ts }) => ts)).size).toBe(chosen.length);
    }),
  );
});
