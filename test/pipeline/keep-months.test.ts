// Figures of months that a run stores: they equal what the entries give, whatever arrives later, and go with the days.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { fromKept, monthKey, readPersonMonth } from '../../src/figures/month-report.ts';
import { putBatch } from '../../src/intake/put-batch.ts';
import { silentLog } from '../../src/log/log.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { simulateDays } from '../../src/simulate/simulate-day.ts';
import type { Store } from '../../src/store/store.ts';
import { retain } from '../../src/upkeep/retain-user.ts';
import { correctionsOf } from '../support/corrections.ts';
import { pipeline } from '../support/diary.ts';
import { runs } from '../support/lives.ts';
import { newStore, newUser } from '../support/store.ts';

const now = (): number => 4_000_000_000;
const months = ['2023-12', '2024-01', '2024-02', '2024-03'];
const person = { platform: 'android', seed: 'kept', zone: 'Europe/Berlin' } as const;

/** Days around the ends of two months. */
const days = ['2024-01-30', '2024-02-11', '2024-02-28', '2024-03-13'].flatMap((day) => [
  ...simulateDays({ ...person, day }, 3),
]);

const put = (store: Store, userId: string, entries: readonly Entry[]) => putBatch(userId, [...entries], { store, now });

/** The months with stored figures. Fails if they differ from those that the entries give. */
async function storedMonths(store: Store, userId: string): Promise<string[]> {
  const found: string[] = [];
  for (const month of months) {
    const stored = (await store.users.months({ limit: 1000 }, month)).find(({ user_id }) => user_id === userId)!;
    const kept = stored.figures && fromKept(monthKey(null), stored.figures);
    if (kept === null) continue;
    expect([month, kept]).toEqual([month, await readPersonMonth(store, userId, month, 'mode')]);
    found.push(month);
  }
  return found;
}

const label = (write_ts: number, data: JsonObject): Entry => ({
  metadata: { key: 'manual/mode_confirm', platform: 'android', type: 'message', write_ts },
  data,
});

const aLabel = fc
  .record({
    day: fc.nat(days.length - 1),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    mode: fc.constantFrom('bike', 'bus'),
  })
  .map(({ day, share, mode }): Entry => {
    const times = days[day]!.map(({ metadata }) => metadata.write_ts);
    const start_ts = times[Math.floor(share * (times.length - 1))]!;
    return label(3_800_000_000 + start_ts / 1e3, { start_ts, end_ts: start_ts + 1800, label: mode });
  });

/** Pushes in any order, some of them followed by a run. */
const histories = fc
  .tuple(correctionsOf(days.flat()), fc.array(aLabel, { maxLength: 3 }))
  .chain(([corrections, labels]) => {
    const pushes = [...days, ...corrections.map((one) => [one]), ...labels.map((one) => [one])];
    const inOrder = pushes.map((entries, i) => ({ entries, at: i }));
    const delayed = fc.tuple(
      ...inOrder.map(() => fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(9) })),
    );
    return fc
      .tuple(delayed, fc.array(fc.boolean(), { minLength: pushes.length, maxLength: pushes.length }))
      .map(([delays, areFollowed]) =>
        inOrder
          .toSorted((a, b) => a.at + delays[a.at]! - b.at - delays[b.at]!)
          .map(({ entries }, i) => ({ entries, isFollowedByRun: areFollowed[i]! })),
      );
  });

it('stored figures equal the figures of the entries after any push and run', async () => {
  const store = await newStore();
  const property = fc.asyncProperty(histories, async (history) => {
    const user = await newUser(store);
    for (const { entries, isFollowedByRun } of [...history, { entries: [], isFollowedByRun: true }]) {
      await put(store, user, entries);
      await storedMonths(store, user);
      if (!isFollowedByRun) continue;
      await pipeline(store, user);
      await storedMonths(store, user);
    }
  });
  await fc.assert(property, runs(6));
});

it('a run stores the last two complete months, and later runs keep them until data in them change', async () => {
  const store = await newStore();
  const user = await newUser(store);
  for (const entries of days.slice(0, 6)) await put(store, user, entries);
  await pipeline(store, user);
  expect(await storedMonths(store, user)).toEqual(['2024-01']);
  const applied: unknown[] = [];
  const apply: Store['trips']['apply'] = async (...args) => {
    applied.push(...(args[1].months ?? []));
    return store.trips.apply(...args);
  };
  const watched: Store = { ...store, trips: { ...store.trips, apply } };
  for (const entries of days.slice(7, 9)) {
    await put(store, user, entries);
    expect(await storedMonths(store, user)).toEqual(['2024-01']);
    await pipeline(watched, user);
    expect(await storedMonths(store, user)).toEqual(['2024-01']);
  }
  expect(applied).toEqual([]);

  const { start_ts, end_ts } = (await store.trips.next(user, 0))!;
  await put(store, user, [label(3_900_000_000, { start_ts, end_ts, label: 'ferry' })]);
  expect(await storedMonths(store, user)).toEqual([]);
  await pipeline(watched, user);
  expect(await storedMonths(store, user)).toEqual(['2024-01']);
  await put(store, user, days[6]!);
  await pipeline(watched, user);
  for (const entries of days.slice(9)) await put(store, user, entries);
  await pipeline(watched, user);
  expect(await storedMonths(store, user)).toEqual(['2024-01', '2024-02']);
});

it('stored figures go with removed days', async () => {
  const store = await newStore();
  const user = await newUser(store);
  for (const entries of days) await put(store, user, entries);
  await pipeline(store, user);
  const before = Date.parse('2024-02-12') / 1000;

  await retain(store, user, { before, what: 'both', now, log: silentLog, owner: 'test', leaseSeconds: 60 });
  expect(await storedMonths(store, user)).toEqual([]);
  await pipeline(store, user);
  await storedMonths(store, user);
});
