// After the raw data of a person who left are gone, only a correction of that person changes their days.
import { expect, it } from 'vitest';
import { shippedSegmenter } from '../../src/analysis/segment.ts';
import { readDays } from '../../src/diary/read-days.ts';
import type { Entry } from '../../src/model/entry.ts';
import { rebuild } from '../../src/upkeep/rebuild-user.ts';
import { retain } from '../../src/upkeep/retain-user.ts';
import { correction } from '../support/corrections.ts';
import { derived, memoryLog, pipeline, put } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, pushedRide } from '../support/pushes.ts';
import { newStore } from '../support/store.ts';

const user = '0b2c6d1e-5a55-4c11-9f0e-3f4a5b6c7d8e';
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

const options = { log: memoryLog(), now: () => now };
const removed = { ...options, before: t0 + 30 * day, what: 'raw' } as const;

/** Three days of a person, derived, whose raw data are gone. `shown`: the days and trips as people see them. */
async function retainedDays() {
  const store = await newStore();
  await store.users.register('ada', { uuid: user, now: 1 });
  const rides = Array.from({ length: 3 }, (_, i) => pushedRide(android, i * day, (i % 2) * 6000, i % 2 ? -10 : 10));
  await put(store, user, [...rides.flat(), ...restAfter(rides.at(-1)!)]);
  await pipeline(store, user);
  const shown = async () => {
    const from = new Date(t0 * 1000).toISOString().slice(0, 10);
    const to = new Date((t0 + 4 * day) * 1000).toISOString().slice(0, 10);
    const days = await readDays(store, { uuid: user }, { from, to }, now);
    return [days.map(({ observed }) => observed), (await derived(store, user)).chain];
  };
  const before = await shown();
  expect((await retain(store, user, removed)).entries).toBeGreaterThan(100);
  return { store, rides, shown, before };
}

it('no run, rebuild, new version, late entry or second call changes a day', async () => {
  const { store, rides, shown, before } = await retainedDays();
  const expectSame = async (): Promise<void> => expect(await shown()).toEqual(before);
  await expectSame();
  await rebuild(store, user, options);
  await expectSame();
  await rebuild(store, user, { ...options, segmenter: { ...shippedSegmenter, version: 'another' } });
  await expectSame();
  await put(
    store,
    user,
    rides[1]!.filter((_, i) => i % 3 > 0),
  );
  await pipeline(store, user);
  await expectSame();
  await put(store, user, pushedRide(android, 1.4 * day, 6000, 10));
  await pipeline(store, user);
  await retain(store, user, removed);
  await rebuild(store, user, options);
  await expectSame();
});

it('a correction of the person changes a day, through every rebuild, until it is undone', async () => {
  const { store, shown, before } = await retainedDays();
  const trip = (await store.trips.byDay(user, { from: '1970-01-01', to: '9999-12-31' }))[1]!;
  await put(store, user, [correction(now, { kind: 'drop', ts: (trip.start_ts + trip.end_ts) / 2 })]);
  await pipeline(store, user);
  const corrected = await shown();
  expect(corrected).not.toEqual(before);
  await rebuild(store, user, { ...options, segmenter: { ...shippedSegmenter, version: 'another' } });
  expect(await shown()).toEqual(corrected);
  await put(store, user, [correction(now + 1, { kind: 'undo', of: now })]);
  await pipeline(store, user);
  expect(await shown()).toEqual(before);
});
