// Contract: rows are written about admitted users only, from their registration to their erasure.
import { expect, it } from 'vitest';
import type { Lease, Store } from '../../../src/store/store.ts';
import { collections } from '../../../src/store/store.ts';
import {
  accept,
  battery,
  entry,
  errorsOf,
  fix,
  leaseOn,
  never,
  newId,
  newUser,
  numbers,
  put,
  putFailed,
  rejects,
  type Use,
} from './kit.ts';

const none = Object.fromEntries(collections.map((collection) => [collection, 0]));

/** Every method that writes rows about a user without a lease. */
const writes: Record<string, (store: Store, user: string) => Promise<unknown>> = {
  'usercache.put of entries': (store, user) => put(store, user, [fix(1)]),
  'usercache.put of something unusable': (store, user) =>
    store.usercache.put(user, { entries: [], unusable: [{ entry: 1, reason: 'r', message: 'm' }] }, 1),
  'usercache.put of a note': (store, user) =>
    store.usercache.put(user, { entries: [], unusable: [], note: { fields: { a: 1 }, onFailure: () => {} } }, 1),
  'profiles.merge': (store, user) => store.profiles.merge(user, { a: 1 }),
  'errors.takeBack': (store, user) => store.errors.takeBack(user, [{ id: 'x', entry: fix(1) }]),
  'errors.put': (store, user) => store.errors.put(user, []),
  'tokens.add': (store, user) => store.tokens.add({ hash: newId(), user_id: user, created_ts: 1, expires_ts: null }),
  'leases.acquire': (store, user) => store.leases.acquire(user, 'a', 60),
};

export function admissionTests(use: Use): void {
  it.each(Object.entries(writes))('%s is refused for somebody who was never registered', async (_, write) => {
    const user = newId();
    await rejects(write(use.store, user), 'MOBILITY_USER_UNKNOWN');
    expect(await use.store.counts(user)).toEqual(none);
  });

  it.each(Object.entries(writes))('%s is refused after an erasure, and leaves nothing', async (_, write) => {
    const user = await newUser(use.store);
    await write(use.store, user);
    await use.store.erase(user);
    await rejects(write(use.store, user), 'MOBILITY_USER_UNKNOWN');
    expect(await use.store.counts(user)).toEqual(none);
  });

  it('of writes at the same moment as an erasure nothing is left, whether they were refused or not', async () => {
    const { store } = use;
    const other = await use.opened.reopen();
    try {
      for (let round = 0; round < 2; round++) {
        const user = await newUser(store);
        await putFailed(store, user, [fix(0)]);
        const lease = await leaseOn(store, user, 'a run');
        const [error] = await errorsOf(store, user);
        const writing = Array.from({ length: 4 }, async (_, i) => {
          const from = i % 2 === 0 ? store : other;
          await put(
            from,
            user,
            numbers(0, 10).map((n) => entry(battery, i * 10 + n)),
          );
          await from.profiles.merge(user, { i });
          await from.errors.takeBack(user, [{ id: error!.id, entry: fix(0) }]);
          await underLease(from, user, lease, i);
        });
        const erased = (round % 2 === 0 ? store : other).erase(user);
        const ended = await Promise.allSettled([...writing, erased]);
        for (const one of ended) {
          if (one.status === 'fulfilled') continue;
          expect(one.reason).toMatchObject({ code: expect.stringMatching(/^MOBILITY_(USER_UNKNOWN|LEASE_LOST)$/) });
        }
        expect(ended.at(-1)!.status).toBe('fulfilled');
        expect(await store.counts(user)).toEqual(none);
      }
    } finally {
      await other.close();
    }
  });

  it('a user whose erasure ended is not unfinished, and nobody else is', async () => {
    const { store } = use;
    const user = await newUser(store);
    await put(store, user, [fix(1)]);
    await store.erase(user);
    expect(await store.unfinished()).toEqual([]);
  });
}

async function underLease(store: Store, user: string, lease: Lease, i: number): Promise<void> {
  await store.usercache.move(user, { at: never, limit: 9 }, lease, accept);
  await store.documents.apply(user, { put: [{ key: `d${i}`, write_ts: 1, data: {} }], remove: [] }, lease);
}
