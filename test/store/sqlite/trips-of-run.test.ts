// The trips of a run: what it has written it need not read, and answers as the store does.
import { join } from 'node:path';
import fc from 'fast-check';
import { it } from 'vitest';
import type { TripRecord } from '../../../src/model/trip.ts';
import type { Store } from '../../../src/store/store.ts';
import { leased, newUser, same } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();

function link(chain_ts: number, distance: number): TripRecord {
  return {
    id: `id-${chain_ts}`,
    kind: 'trip',
    chain_ts,
    start_ts: chain_ts,
    end_ts: chain_ts + 1,
    day: `2016-05-${10 + (chain_ts % 3)}`,
    settled_ts: chain_ts + 1,
    trip: { id: `trip-${chain_ts}`, distance } as unknown as TripRecord['trip'],
    untracked: null,
    carry: { resume_ts: chain_ts, started: false, raw_place: null, place: null },
  };
}

const everything = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

async function allOf({ trips }: Store, user: string): Promise<unknown> {
  return {
    chain: await trips.chain(user, { limit: 1_000 }),
    days: await trips.byDay(user, { from: '2016-05-10', to: '2016-05-11' }),
    next: await trips.next(user, 50),
    previous: await trips.previous(user, Number.POSITIVE_INFINITY),
    settled: await trips.lastSettledBefore(user, 60),
  };
}

const change = fc.record({
  byRun: fc.boolean(), // or by another run, which took the user over
  times: fc.uniqueArray(fc.integer({ min: 0, max: 99 }), { maxLength: 90 }),
  distance: fc.constantFrom(0, -0, 1.5),
});

it('are those of the store, whoever replaced them last', async () => {
  const store = await places.open(join(await places.folder(), 'store'));
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 6 }), async (changes) => {
      const user = await newUser(store);
      const view = store.forRun!(user);
      for (const { byRun, times, distance } of changes) {
        const { trips } = byRun ? view : store;
        const links = times.sort((a, b) => a - b).map((ts) => link(ts, distance));
        await leased(store, user, (lease) => trips.replace(user, everything, links, {}, lease));
        same(await allOf(view, user), await allOf(store, user));
      }
    }),
    { numRuns: 20 },
  );
});
