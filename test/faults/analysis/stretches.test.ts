// Reading and analysing a history in stretches of any size gives the same links as reading it whole. Recorded
// days are read where MOBILITY_TEST_DAYS names a folder of them, and some of those of MOBILITY_TEST_CASES, as in CI.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import { keys } from '../../../src/model/keys.ts';
import type { Carry } from '../../../src/model/trip.ts';
import { readStretch } from '../../../src/pipeline/read-stretch.ts';
import { chainProblems } from '../../support/chain.ts';
import { anyLife, lastOfEach, runs } from '../../support/lives.ts';
import { memoryTimeseries } from '../../support/memory-timeseries.ts';
import { t0 } from '../../support/phone.ts';
import { android, pushedFix, pushedMove, pushedRide } from '../../support/pushes.ts';
import { pushedIn, recordedIn } from '../../support/recorded.ts';
import { chainIn, chainOfWhole } from '../../support/stretches.ts';

describe('stretches', () => {
  it('of any sizes give the trip chain of a single stretch, which obeys the rules, for random histories', async () => {
    const anySizes = fc.oneof(fc.array(fc.integer({ min: 2, max: 90 }), { minLength: 1 }), fc.constant(null));
    await fc.assert(
      fc.asyncProperty(anyLife, anySizes, async (entries, sizes) => {
        const store = memoryTimeseries(entries);
        const expected = await chainOfWhole(store);
        expect(chainProblems(expected)).toEqual([]);
        if (sizes !== null) expect(JSON.stringify(await chainIn(store, sizes))).toBe(JSON.stringify(expected));
      }),
      runs(150),
    );
  });

  it('are read completely from a store that returns few entries per call', async () => {
    const entries = [...pushedRide(android, 0, 0), ...pushedRide(android, 20_000, 6000)];
    const expected = await chainOfWhole(memoryTimeseries(entries));
    expect(expected).toHaveLength(2);
    expect(await chainOfWhole(memoryTimeseries(entries, 3))).toEqual(expected);
  });
});

const { MOBILITY_TEST_DAYS, MOBILITY_TEST_CASES } = process.env;
const recorded = [...recordedIn(MOBILITY_TEST_DAYS), ...recordedIn(MOBILITY_TEST_CASES, 5)];

describe.skipIf(recorded.length === 0)('a recorded day', () => {
  it.each(recorded)('%s gives the same trip chain in small, large and mixed stretches', async (name, file) => {
    const pushed = pushedIn(file);
    const { filteredLocation, location, activity, motionActivity, transition } = keys;
    const read: string[] = [filteredLocation, location, activity, motionActivity, transition];
    const store = memoryTimeseries(lastOfEach(pushed.filter(({ metadata }) => read.includes(metadata.key))));
    const expected = await chainOfWhole(store);
    expect(expected.length > 0, 'a phone at rest has no link').toBe(!name.startsWith('still-'));
    expect(chainProblems(expected)).toEqual([]);
    for (const sizes of [[60], [700], [25, 400, 3]])
      expect(JSON.stringify(await chainIn(store, sizes)), `in stretches of ${sizes}`).toBe(JSON.stringify(expected));
  });
});

describe('one stretch', () => {
  const stretch = (entries: Entry[], carry: Carry | null, size: number) =>
    readStretch(memoryTimeseries(entries), 'u', keys.filteredLocation, carry, size);

  it('reads any number of unusable locations to find the usable ones', async () => {
    const unsure = Array.from({ length: 400 }, (_, i) => pushedFix(android, i, 0, 0, { accuracy: 900 }));
    const entries = [...unsure, ...pushedMove(android, { from: 400, to: 700 })];
    const { locations, loadedUntil } = await stretch(entries, null, 5);
    expect(locations.length).toBeGreaterThanOrEqual(5);
    expect(loadedUntil).toBeLessThan(t0 + 700);
  });

  it('at the end of the data is complete', async () => {
    const carry = { resume_ts: t0 + 240, started: false, raw_place: null, place: null };
    const { locations, loadedUntil } = await stretch(pushedMove(android, { from: 0, to: 300 }), carry, 100);
    expect(locations.map((l) => l.ts - t0)).toEqual([0, 30, 60, 90, 120, 150, 180, 210, 240, 270, 300]); // it looks back
    expect(loadedUntil).toBe(Number.POSITIVE_INFINITY);
  });

  it('gives an entry without a zone the zone of the entry nearest in write time (of two, the earlier), or else of its coordinate', async () => {
    const zoneOf = async (...near: [seconds: number, zone: string][]) => {
      const entries = [
        pushedFix({ platform: 'android', zone: null }, 100, 0),
        ...near.map(([s, zone]) => pushedFix({ platform: 'android', zone }, s, 0)),
      ];
      const { locations } = await stretch(entries, null, 100);
      const found = locations.find((l) => l.ts === t0 + 100)!;
      expect(found.zoneGuessed).toBe(true);
      return found.zone;
    };
    expect(await zoneOf([0, 'Asia/Tokyo'], [250, 'Europe/Paris'])).toBe('Asia/Tokyo');
    expect(await zoneOf([0, 'Asia/Tokyo'], [150, 'Europe/Paris'])).toBe('Europe/Paris');
    expect(await zoneOf([0, 'Asia/Tokyo'], [200, 'Europe/Paris'])).toBe('Asia/Tokyo');
    expect(await zoneOf([9000, 'Europe/Paris'])).toBe('Europe/Paris');
    expect(await zoneOf()).toBe('Europe/Berlin');
    expect(await zoneOf([90, 'Nowhere/Land'])).toBe('Europe/Berlin');
  });
});
