// Rebuild: trips derived anew, and what came out differently.
import { expect, it } from 'vitest';
import type { TripRecord } from '../../src/model/trip.ts';
import { rebuild } from '../../src/upkeep/rebuild.ts';
import { interposedStore } from '../faults/interposed-store.ts';
import { releaseLease } from '../faults/kit.ts';
import { chainAfter, chainOf, derived, memoryLog, pipeline } from '../support/diary.ts';
import { t0 } from '../support/phone.ts';
import { android, pushedRide } from '../support/pushes.ts';
import { leaseOn, newUser, useStore } from '../support/store.ts';

const store = useStore();

const options = { log: memoryLog(), now: () => 1_800_000_000 };
const day = 86_400;

async function userWithDays(): Promise<string> {
  const user = await newUser(store);
  await chainAfter(
    store,
    user,
    [0, 1, 2, 3].flatMap((d) => pushedRide(android, d * day, d * 6000)),
  );
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

it('reports nothing if nothing has changed', async () => {
  const user = await userWithDays();
  const report = await rebuild(store, user, options);
  expect(report).toMatchObject({ status: 'done', changes: [] });
});

it('names the trips that came, went and changed, and leaves the diary as if it had always been so', async () => {
  const user = await userWithDays();
  const expected = await derived(store, user);
  await tamper(user, ([first, second, third, ...rest]) => [
    { ...first!, trip: { ...first!.trip!, distance: 1 } },
    { ...second!, id: 'ghost', chain_ts: second!.chain_ts + 4000, start_ts: second!.start_ts + 4000 },
    third!,
    ...rest,
  ]);
  const { changes } = await rebuild(store, user, options);
  expect(changes.map(({ what, day }) => [what, day])).toEqual([
    ['changed', '2023-11-14'],
    ['added', '2023-11-15'],
    ['removed', '2023-11-15'],
  ]);
  expect(await derived(store, user)).toEqual(expected);
});

it('that died between two stretches is continued by the next run', async () => {
  const user = await userWithDays();
  const expected = await derived(store, user);
  await tamper(user, (chain) => chain.map((link) => ({ ...link, trip: { ...link.trip!, distance: 1 } })));
  let stretches = 0;
  const dying = interposedStore(store, (call) => {
    if (call === 'trips.replace') stretches += 1;
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
  const { changes } = await rebuild(store, user, { ...options, from: t0 + 2 * day });
  // That nothing follows the trip of the second day is known on the third.
  expect(changes.map(({ what, day }) => [what, day])).toEqual([
    ['changed', '2023-11-15'],
    ['changed', '2023-11-16'],
    ['changed', '2023-11-17'],
  ]);
  expect((await chainOf(store, user)).map((link) => link.trip!.distance === 1)).toEqual([true, false, false, false]);
});
