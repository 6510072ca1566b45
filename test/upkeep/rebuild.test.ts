// Rebuild: trips derived anew, and what came out differently.

import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shippedModels } from '../../src/analysis/models.ts';
import { segmenterWith, shippedSegmenter } from '../../src/analysis/segment.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { TripRecord } from '../../src/model/trip.ts';
import type { TripChange } from '../../src/pipeline/stage.ts';
import { simulateDay } from '../../src/simulate/simulate-day.ts';
import { onEngine } from '../../src/store/open.ts';
import type { Table } from '../../src/store/rows/rows.ts';
import { allTables } from '../../src/store/rows/tables.ts';
import type { Store } from '../../src/store/store.ts';
import type { DayChange } from '../../src/upkeep/rebuild-user.ts';
import { addUser, dayChanges, emptySummary, previewRebuild, rebuild } from '../../src/upkeep/rebuild-user.ts';
import { interposedStore } from '../faults/interposed-store.ts';
import { releaseLease } from '../faults/kit.ts';
import { chainOf, derived, memoryLog, pipeline, putAndRun } from '../support/diary.ts';
import { hourlySegmenter } from '../support/hourly-segmenter.ts';
import { anyLife, runs } from '../support/lives.ts';
import { t0 } from '../support/phone.ts';
import { android, pushedRide } from '../support/pushes.ts';
import { leaseOn, newUser, useStore } from '../support/store.ts';

const store = useStore();

const options = { log: memoryLog(), now: () => 1_800_000_000 };
const day = 86_400;
const textsOf = (changes: TripChange[]) => changes.map((change) => `${change.what} ${change.day}`);

async function userWithDays(): Promise<string> {
  const user = await newUser(store);
  const rides = [0, 1, 2, 3].flatMap((d) => pushedRide(android, d * day, d * 6000));
  await putAndRun(store, user, rides);
  return user;
}

/** Makes the stored chain what another analysis might have left. */
async function tamper(user: string, change: (chain: TripRecord[]) => TripRecord[]): Promise<void> {
  const lease = await leaseOn(store, user);
  const chain = await chainOf(store, user);
  const remove = chain.map(({ chain_ts }) => chain_ts);
  await store.trips.apply(user, { put: change(chain), remove }, {}, lease);
  await store.leases.release(lease);
}

it('names added, removed and changed trips, and gives the same diary as a first analysis', async () => {
  const user = await userWithDays();
  const expected = await derived(store, user);
  await tamper(user, ([first, second, third, ...rest]) => [
    { ...first!, trip: { ...first!.trip!, distance: 1 } },
    { ...second!, id: 'ghost', chain_ts: second!.chain_ts + 4000, start_ts: second!.start_ts + 4000 },
    third!,
    ...rest,
  ]);
  const { changes } = await rebuild(store, user, options);
  expect(textsOf(changes)).toEqual(['changed 2023-11-14', 'added 2023-11-15', 'removed 2023-11-15']);
  expect(await derived(store, user)).toEqual(expected);
});

it('that was killed between two stretches is continued by the next run', async () => {
  const user = await userWithDays();
  const expected = await derived(store, user);
  await tamper(user, (chain) => chain.map((link) => ({ ...link, trip: { ...link.trip!, distance: 1 } })));
  let stretches = 0;
  const dying = interposedStore(store, (call) => {
    if (call === 'trips.apply') stretches += 1;
    if (stretches > 1) throw new Error('it died');
  });
  await rebuild(dying, user, { ...options, stretchSize: 40 });
  expect((await chainOf(store, user)).filter((link) => link.trip!.distance !== 1)).not.toHaveLength(4);
  await releaseLease(store, user);
  await pipeline(store, user);
  expect(await derived(store, user)).toEqual(expected);
});

it('from a time on keeps the trips that were settled before it', async () => {
  const user = await userWithDays();
  await tamper(user, (chain) => chain.map((link) => ({ ...link, trip: { ...link.trip!, distance: 1 } })));
  const later = { ...options, from: t0 + 2 * day };
  const preview = await previewRebuild(store, user, later);
  const { changes } = await rebuild(store, user, later);
  expect(changes).toEqual(preview);
  // That nothing follows the trip of the second day is known on the third.
  expect(textsOf(changes)).toEqual(['changed 2023-11-15', 'changed 2023-11-16', 'changed 2023-11-17']);
  expect((await chainOf(store, user)).map((link) => link.trip!.distance === 1)).toEqual([true, false, false, false]);
});

it('a preview reports exactly what a rebuild with another version then does, and changes no row of the store', async () => {
  const versions = [shippedSegmenter, hourlySegmenter, segmenterWith({ full: shippedModels.sparse })];
  expect(new Set(versions.map(({ version }) => version)).size).toBe(3);
  const seen = { added: 0, removed: 0, changed: 0 };
  const lives = fc.array(fc.oneof(anyLife, days), { minLength: 1, maxLength: 3 });
  const pairs = fc.shuffledSubarray(versions, { minLength: 2, maxLength: 2 });
  const property = fc.asyncProperty(lives, pairs, async (all, [one, other]) => {
    const users: string[] = [];
    for (const entries of all) {
      const user = await newUser(store);
      users.push(user);
      await putAndRun(store, user, entries, { segmenter: one! });
    }
    const [before, trips] = [await digestOf(store), await tripsOf(users)];
    const with_ = { ...options, segmenter: other!, now: () => 4e9 };
    const preview = await summed(users, (user) => previewRebuild(store, user, with_));
    expect(await digestOf(store)).toBe(before);
    const done = await summed(users, async (user) => (await rebuild(store, user, with_)).changes);
    expect(preview).toEqual(done);
    const after = await tripsOf(users);
    expect(preview.summary).toMatchObject({
      added: [...after].filter(([id]) => !trips.has(id)).length,
      removed: [...trips].filter(([id]) => !after.has(id)).length,
      changed: [...after].filter(([id, text]) => trips.has(id) && trips.get(id) !== text).length,
    });
    for (const what of ['added', 'removed', 'changed'] as const) seen[what] += preview.summary[what];
    expect(await summed(users, (user) => previewRebuild(store, user, with_))).toMatchObject({ days: [] });
  });
  // The examples make sure that trips are added, removed and changed.
  const life = simulated({ seed: 1, platform: 'ios' });
  const examples = [1, 2].map((i): [Entry[][], typeof versions] => [[life], [versions[0]!, versions[i]!]]);
  await fc.assert(property, { ...runs(10), examples });
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});

/** Two simulated days: every mode, with the words of the phone. */
function simulated(of: { seed: number; platform: 'android' | 'ios' }): Entry[] {
  const phone = { ...of, home: [13.4, 52.5] as [number, number], zone: 'Europe/Berlin' };
  return ['2024-03-12', '2024-03-13'].flatMap((day) => simulateDay({ ...phone, day }));
}

const phones = fc.record({ seed: fc.nat(), platform: fc.constantFrom('android' as const, 'ios' as const) });
const days = phones.map(simulated);

/** What changes for these users, by day and in sum: trips, m and s by mode, and the days of which most changes. */
async function summed(users: readonly string[], changesOf: (user: string) => Promise<TripChange[]>) {
  const summary = emptySummary();
  const days: DayChange[] = [];
  for (const user of users) {
    const changed = dayChanges(user, await changesOf(user));
    addUser(summary, changed);
    days.push(...changed);
  }
  return { summary, days };
}

/** The trips of these users, by user and the start of their link. */
async function tripsOf(users: readonly string[]): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const user of users)
    for (const { chain_ts, trip } of await chainOf(store, user))
      if (trip !== null) found.set(`${user} ${chain_ts}`, JSON.stringify(trip));
  return found;
}

/** Of every row of every table. */
function digestOf({ address }: Store): Promise<string> {
  return onEngine(address, {}, async (engine) => {
    const hash = createHash('sha256');
    for (const table of allTables as unknown as readonly Table<object>[]) {
      const rows = await engine.read((of) => of.find(table, { where: {} }));
      for (const row of rows.map((one) => JSON.stringify(one)).sort()) hash.update(`${table.name} ${row}\n`);
    }
    return hash.digest('hex');
  });
}

it('sums changes by day and mode, and names the days with the most changes', () => {
  const car = { car: { distance_m: 4000, duration_s: 600 } };
  const bus = { bus: { distance_m: 4100, duration_s: 600 } };
  const change = { what: 'changed', day: '2024-03-12', start_ts: 0, end_ts: 600, before: car, after: bus } as const;
  const added = { ...change, what: 'added', day: '2024-03-13', before: null } as const;
  const removed = { ...change, what: 'removed', after: null } as const;
  const summary = emptySummary();
  addUser(summary, dayChanges('u', [added, change, removed]));
  addUser(summary, []);
  expect(summary).toMatchObject({ users: 2, users_changed: 1, days_changed: 2, added: 1, removed: 1, changed: 1 });
  expect([summary.before.car!.distance_m, summary.after.bus!.distance_m]).toEqual([8000, 8200]);
  expect(summary.worst.map((one) => one.day)).toEqual(['2024-03-12', '2024-03-13']);
});
