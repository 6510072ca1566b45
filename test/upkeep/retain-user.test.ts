// Retention: which days stay, and that only a correction of their person changes them.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shippedSegmenter } from '../../src/analysis/segment.ts';
import { readDays } from '../../src/diary/read-days.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { Store } from '../../src/store/store.ts';
import { rebuild } from '../../src/upkeep/rebuild-user.ts';
import { retain } from '../../src/upkeep/retain-user.ts';
import { interposedStore } from '../faults/interposed-store.ts';
import { correction } from '../support/corrections.ts';
import { derived, memoryLog, pipeline, put, putAndRun } from '../support/diary.ts';
import { runs } from '../support/lives.ts';
import { t0 } from '../support/phone.ts';
import { android, pushedRide } from '../support/pushes.ts';
import { newStore, newUser } from '../support/store.ts';

const user = '0b2c6d1e-5a55-4c11-9f0e-3f4a5b6c7d8e'; // ids depend on it
const day = 86_400;
const now = t0 + 60 * day;

/** A phone that reports at rest for hours after its last ride, with a gap among the reports. */
function restAfter(ride: readonly Entry[]): Entry[] {
  const last = ride.findLast(({ metadata }) => metadata.key.endsWith('location'))!;
  const end = Math.max(...ride.map(({ data }) => (typeof data.ts === 'number' ? data.ts : 0)));
  return [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21, 22, 23, 24].map((i) => {
    const ts = end + i * 600;
    return { metadata: { ...last.metadata, write_ts: ts }, data: { ...last.data, ts } };
  });
}

const jsonDigest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex');
/** The ride of a day: there and back in turns. */
const rideOf = (i: number): Entry[] => pushedRide(android, i * day, (i % 2) * 6000, i % 2 ? -10 : 10);
const ridesOf = (days: number): Entry[][] => Array.from({ length: days }, (_, i) => rideOf(i));

async function storeWith(entries: Entry[]): Promise<Store> {
  const store = await newStore();
  await newUser(store, user);
  await put(store, user, entries);
  return store;
}

const options = { log: memoryLog(), now: () => now };
const removed = { ...options, before: t0 + 30 * day, what: 'raw' } as const;

/** Three days of a person, derived, whose raw data are gone. `shown`: the days and trips as people see them. */
async function retainedDays() {
  const rides = ridesOf(3);
  const store = await storeWith([...rides.flat(), ...restAfter(rides.at(-1)!)]);
  await pipeline(store, user);
  const shown = async () => {
    const days = await readDays(store, { uuid: user }, { from: '2023-11-14', to: '2023-11-18' }, now);
    return [days.map(({ observed }) => observed), (await derived(store, user)).chain];
  };
  const before = await shown();
  expect((await retain(store, user, removed)).entries).toBeGreaterThan(100);
  return { store, rides, shown, before };
}

it('no run, rebuild, new version, late entry or second call changes a day', async () => {
  const { store, rides, shown, before } = await retainedDays();
  expect(await shown()).toEqual(before);
  const late = rides[1]!.filter((_, i) => i % 3 > 0);
  for (const step of [
    () => rebuild(store, user, options),
    () => rebuild(store, user, { ...options, segmenter: { ...shippedSegmenter, version: 'another' } }),
    () => putAndRun(store, user, late),
    () => putAndRun(store, user, pushedRide(android, 1.4 * day, 6000, 10)),
    () => retain(store, user, removed),
    () => rebuild(store, user, options),
  ]) {
    await step();
    expect(await shown()).toEqual(before);
  }
});

it('a correction of the person changes a day, through every rebuild, until it is undone', async () => {
  const { store, shown, before } = await retainedDays();
  const trip = (await store.trips.byDay(user, { from: '1970-01-01', to: '9999-12-31' }))[1]!;
  await putAndRun(store, user, [correction(now, { kind: 'drop', ts: (trip.start_ts + trip.end_ts) / 2 })]);
  const corrected = await shown();
  expect(corrected).not.toEqual(before);
  await rebuild(store, user, { ...options, segmenter: { ...shippedSegmenter, version: 'another' } });
  expect(await shown()).toEqual(corrected);
  await putAndRun(store, user, [correction(now + 1, { kind: 'undo', of: now })]);
  expect(await shown()).toEqual(before);
});

it('a call that was killed at any write is completed by the next, with the same diary', async () => {
  const rides = ridesOf(8);
  const both = { ...options, before: t0 + 5 * day, what: 'both' } as const;
  const outcomes: string[] = [];
  for (let deadly = 0; ; deadly += 1) {
    const store = await storeWith(rides.flat());
    await pipeline(store, user);
    let writes = 0;
    const mortal = interposedStore(store, (call) => {
      if (/merge|apply|timeseries.remove/.test(call) && writes++ === deadly) throw new Error('killed');
    });
    let killed = false;
    await retain(mortal, user, both).catch(() => (killed = true));
    await retain(store, user, both);
    const state = await store.pipeline.get(user);
    outcomes.push(jsonDigest([await derived(store, user), state.retained]));
    if (!killed) break;
  }
  expect(outcomes.length).toBeGreaterThan(3);
  expect(new Set(outcomes).size).toBe(1);
});

it('later days are the same in any order of later entries, and as without the removal', async () => {
  const rides = ridesOf(9);
  const later = async (removes: boolean, order: readonly number[]): Promise<string> => {
    const store = await storeWith(rides.slice(0, 5).flat());
    if (removes) await retain(store, user, { ...options, before: t0 + 4 * day, what: 'both' });
    for (const i of order) await putAndRun(store, user, rides[i]!);
    const links = await store.trips.chain(user, { from: t0 + 4 * day, limit: 99 });
    return jsonDigest(links.map(({ trip, start_ts, end_ts, day: on }) => [start_ts, end_ts, on, trip?.sections]));
  };
  const expected = await later(false, [5, 6, 7, 8]);
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray([5, 6, 7, 8], { minLength: 4 }), async (order) => {
      expect(await later(true, order)).toBe(expected);
    }),
    runs(6),
  );
});

it('all data of a user without later data are removed, and a returning phone gives the same days as without removal', async () => {
  const rides = ridesOf(3);
  const back = [60, 61].flatMap(rideOf);
  const outcome = async (what: 'raw' | 'both' | null): Promise<string> => {
    const store = await storeWith(rides.flat());
    if (what !== null) {
      const report = await retain(store, user, { ...options, before: t0 + 40 * day, what });
      expect(report).toMatchObject({ raw_before: t0 + 40 * day, links: what === 'both' ? 3 : 0 });
      const keys = (await store.timeseries.summary(user)).map(({ key }) => key);
      expect(keys.filter((key) => /^(background|statemachine)/.test(key))).toEqual([]);
    }
    await putAndRun(store, user, back);
    const links = await store.trips.chain(user, { from: t0 + 40 * day, limit: 99 });
    expect(links.length).toBeGreaterThan(1);
    return jsonDigest(links.map(({ trip, start_ts, end_ts }) => [start_ts, end_ts, trip?.sections]));
  };
  const expected = await outcome(null);
  expect([await outcome('raw'), await outcome('both')]).toEqual([expected, expected]);
});
