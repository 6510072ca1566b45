// Contract: rows are written about admitted users only, from their registration to their erasure.
import { expect, it } from 'vitest';
import type { Lease, Store } from '../../../src/store/store.ts';
import { collections } from '../../../src/store/store.ts';
import { battery, entry, fix, leaseOn, newId, newUser, put, putFailed, rejects, type Use } from './kit.ts';

const none = Object.fromEntries(collections.map((collection) => [collection, 0]));

/** Every method that writes rows about a user without a lease. */
const writes: Record<string, (store: Store, user: string) => Promise<unknown>> = {
  'usercache.put of entries': (store, user) => put(store, user, [fix(1)]),
  'usercache.put of something unusable': (store, user) =>
    store.usercache.put(user, { entries: [], unusable: [{ entry: 1, reason: 'r', message: 'm' }] }, 1),
  'usercache.put of what the timeseries had': (store, user) =>
    store.usercache.put(user, { entries: [fix(1)], unusable: [], kept: true }, 1),
  'profiles.merge': (store, user) => store.profiles.merge(user, { a: 1 }),
  'errors.takeBack': (store, user) => store.errors.takeBack(user, [{ id: 'x', entry: fix(1) }]),
  'errors.apply': (store, user) => store.errors.apply(user, { put: [], remove: ['x'] }),
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

  it('somebody who is admitted is written about before they are registered, and the registration keeps it', async () => {
    const { store } = use;
    const user = newId();
    await store.users.admit(user);
    await store.users.admit(user);
    expect(await put(store, user, [fix(1)])).toEqual(['inserted']);
    expect(await store.users.byUuid(user)).toBeNull();
    await store.users.register(`${user}@example.org`, { uuid: user, now: 1 });
    expect(await put(store, user, [fix(1)])).toEqual(['updated']);
  });

  it('of writes at the same moment as an erasure nothing is left, whether they were refused or not', async () => {
    const { store } = use;
    const other = await use.opened.reopen();
    // An erasure ends what runs in the process of the lease: here that is nothing.
    const idle = await use.opened.reopen();
    try {
      for (let round = 0; round < 2; round++) {
        const user = await newUser(store);
        const lease = await leaseOn(idle, user, 'a run');
        await putFailed(store, user, [fix(0)]);
        const [error] = await store.errors.list(user, { limit: 1 });
        const writing = Array.from({ length: 4 }, async (_, i) => {
          const from = i % 2 === 0 ? store : other;
          await put(
            from,
            user,
            Array.from({ length: 10 }, (_, n) => entry(battery, i * 10 + n)),
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
      await idle.close();
    }
  });

  it('rows of whoever is not registered are told, and nobody else is', async () => {
    const { store } = use;
    const [left, whole] = [newId(), await newUser(store)];
    await store.users.admit(left);
    expect((await store.unowned()).map((one) => one.user_id)).not.toContain(left); // nothing there yet
    await put(store, left, [fix(1), fix(2)]);
    await store.profiles.merge(left, { a: 1 });
    await put(store, whole, [fix(1)]);
    const told = await store.unowned();
    expect(told.find((one) => one.user_id === left)).toEqual({ user_id: left, rows: 3 });
    expect(told.map((one) => one.user_id)).not.toContain(whole);
    await store.erase(left);
    expect((await store.unowned()).map((one) => one.user_id)).not.toContain(left);
  });
}

async function underLease(store: Store, user: string, lease: Lease, i: number): Promise<void> {
  await store.timeseries.apply(user, { put: [fix(100 + i)], remove: [] }, lease);
  await store.documents.apply(user, { put: [{ key: `d${i}`, write_ts: 1, data: {} }], remove: [] }, lease);
}
