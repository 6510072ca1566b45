// Places that a run keeps: what a look at them reads, and that they follow late data, corrections and removal.
import { expect, it, vi } from 'vitest';
import { readPlaces } from '../../src/diary/places.ts';
import { putBatch } from '../../src/intake/put-batch.ts';
import { silentLog } from '../../src/log/log.ts';
import { simulateDays } from '../../src/simulate/simulate-day.ts';
import type { Store } from '../../src/store/store.ts';
import { retain } from '../../src/upkeep/retain-user.ts';
import { correction } from '../support/corrections.ts';
import { pipeline } from '../support/diary.ts';
import { newStore, newUser } from '../support/store.ts';

const early = Date.parse('2024-01-20') / 1000;
const now = (): number => Date.parse('2024-05-01') / 1000;

async function putDays(store: Store, userId: string, day: string, count: number): Promise<void> {
  const person = { platform: 'android', day, seed: 'kept', zone: 'Europe/Berlin' } as const;
  for (const entries of simulateDays(person, count)) await putBatch(userId, entries, { store, now });
}

const run = (store: Store, userId: string) => pipeline(store, userId, { now });

/** What pages show of places. */
const shown = async (store: Store, userId: string) =>
  (await readPlaces(store, userId)).all.map(({ at: _, ...place }) => place);

/** The same from all trips, as if none were kept. */
const shownFromAll = (store: Store, userId: string) =>
  shown({ ...store, trips: { ...store.trips, places: async () => null } }, userId);

/** The earliest trip that a look at the places reads. */
async function earliestRead(store: Store, userId: string): Promise<number> {
  const read = vi.spyOn(store.trips, 'briefs');
  await readPlaces(store, userId);
  const found = (await Promise.all(read.mock.results.map(({ value }) => value as ReturnType<typeof read>))).flat();
  read.mockRestore();
  return Math.min(...found.map(({ chain_ts }) => chain_ts));
}

it('reading the places reads trips of the last weeks only, also after late data and names', async () => {
  const store = await newStore();
  const user = await newUser(store);
  await putDays(store, user, '2024-01-10', 2);
  await putDays(store, user, '2024-04-10', 2);
  await run(store, user);
  const last = (await store.trips.previous(user, early))!.chain_ts;
  expect(await earliestRead(store, user)).toBe(last);
  expect(await shown(store, user)).toEqual(await shownFromAll(store, user));

  await putDays(store, user, '2024-01-13', 1);
  await run(store, user);
  expect(await earliestRead(store, user)).toBeGreaterThan(last);
  expect(await shown(store, user)).toEqual(await shownFromAll(store, user));

  for (const [i, ts] of [Date.parse('2024-01-11T02:00Z') / 1000, Date.parse('2024-04-11T02:00Z') / 1000].entries()) {
    const name = ['Nest', 'Den'][i]!;
    await putBatch(user, [correction(now() - 60 + i, { kind: 'place_name', ts, name })], { store, now });
    for (const _ of ['pending', 'moved']) {
      expect((await shown(store, user)).find((place) => place.name !== null)).toMatchObject({ letter: 'A', name });
      expect(await shown(store, user)).toEqual(await shownFromAll(store, user));
      await run(store, user);
    }
    expect(await earliestRead(store, user)).toBeGreaterThan(last);
  }

  const { start_ts, end_ts } = (await store.trips.next(user, early - 86_400 * 7))!;
  const mode = correction(now() - 30, { kind: 'mode', ts: (start_ts + end_ts) / 2, mode: 'ferry' });
  await putBatch(user, [mode], { store, now });
  expect(await earliestRead(store, user)).toBeGreaterThan(last);
  expect(await shown(store, user)).toEqual(await shownFromAll(store, user));
});

it('stored places are removed with their days', async () => {
  const store = await newStore();
  const user = await newUser(store);
  await putDays(store, user, '2024-01-10', 1);
  await putDays(store, user, '2024-04-10', 1);
  await run(store, user);
  expect(await store.trips.places(user)).toMatchObject({ places: expect.any(Array) });
  await retain(store, user, { before: early, what: 'both', now, log: silentLog, owner: 'test', leaseSeconds: 60 });
  expect(await store.trips.places(user)).toEqual({});
  expect(await shown(store, user)).toEqual(await shownFromAll(store, user));
});
