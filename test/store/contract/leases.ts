// Contract: the right to work on a user.
import { expect, it } from 'vitest';
import type { Lease, Store } from '../../../src/store/store.ts';
import { until } from '../../support/until.ts';
import { accept, fix, leaseOn, never, newId, newUser, put, rejects, type Use } from './kit.ts';

/** A lease that ends almost at once. */
async function briefLease(store: Store, user: string, owner: string, seconds = 0.05): Promise<Lease> {
  const result = await store.leases.acquire(user, owner, seconds);
  if (!('lease' in result)) throw new Error('expected a free user');
  return result.lease;
}

/** Acquires as soon as the lease that is there has ended. */
async function acquireLater(store: Store, user: string, owner: string): Promise<Lease> {
  await until(async () => (await store.leases.get(user)) === null);
  return leaseOn(store, user, owner);
}

export function leaseTests(use: Use): void {
  it('one owner gets the lease, and the other learns who has it', async () => {
    const user = await newUser(use.store);
    const lease = await leaseOn(use.store, user, 'a');
    expect(lease).toMatchObject({ user_id: user, owner: 'a' });
    expect(await use.store.leases.acquire(user, 'b', 600)).toEqual({ heldBy: lease });
    expect(await use.store.leases.get(user)).toEqual(lease);
    expect(await use.store.leases.get(newId())).toBeNull();
  });

  it('the expiry is that many seconds ahead, and renewing moves it', async () => {
    const user = await newUser(use.store);
    const lease = await leaseOn(use.store, user);
    const renewed = await use.store.leases.renew(lease, 1_200);
    expect(renewed).toMatchObject({ user_id: user, owner: 'test', fence: lease.fence });
    expect(renewed.expires_ts - lease.expires_ts).toBeGreaterThan(590);
    expect(renewed.expires_ts - lease.expires_ts).toBeLessThan(660);
    expect(await use.store.leases.get(user)).toEqual(renewed);
  });

  it('a released lease is free, and its fence is never used again', async () => {
    const user = await newUser(use.store);
    let fence = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < 5; i++) {
      const lease = await leaseOn(use.store, user);
      expect(lease.fence).toBeGreaterThan(fence);
      fence = lease.fence;
      await use.store.leases.release(lease);
      await use.store.leases.release(lease);
      expect(await use.store.leases.get(user)).toBeNull();
    }
  });

  it('many at once: one gets it', async () => {
    const user = await newUser(use.store);
    const other = await use.opened.reopen();
    try {
      const results = await Promise.all(
        Array.from({ length: 16 }, (_, i) => (i % 2 === 0 ? use.store : other).leases.acquire(user, `owner-${i}`, 600)),
      );
      const won = results.filter((result) => 'lease' in result);
      expect(won).toHaveLength(1);
      for (const result of results) if ('heldBy' in result) expect(result.heldBy).toEqual(won[0]!.lease);
    } finally {
      await other.close();
    }
  });

  it('the same owner may take its user again, and then only the new lease is good', async () => {
    const user = await newUser(use.store);
    const first = await leaseOn(use.store, user, 'a');
    const second = await leaseOn(use.store, user, 'a');
    expect(second.fence).toBeGreaterThan(first.fence);
    await rejects(use.store.leases.renew(first, 600), 'MOBILITY_LEASE_LOST');
    await use.store.leases.release(first);
    expect(await use.store.leases.get(user)).toEqual(second);
  });

  it('a lease that ended can be taken over, and not before', async () => {
    const user = await newUser(use.store);
    const first = await briefLease(use.store, user, 'a', 3);
    expect(await use.store.leases.acquire(user, 'b', 600)).toEqual({ heldBy: first });
    const brief = await use.store.leases.renew(first, 0.05);
    const second = await acquireLater(use.store, user, 'b');
    expect(second.fence).toBeGreaterThan(first.fence);
    await rejects(use.store.leases.renew(brief, 600), 'MOBILITY_LEASE_LOST');
    await use.store.leases.release(first);
    expect(await use.store.leases.get(user)).toEqual(second);
  });

  it('an expired lease is not shown; until another owner takes over, its owner can go on', async () => {
    const user = await newUser(use.store);
    const lease = await briefLease(use.store, user, 'a');
    await until(async () => (await use.store.leases.get(user)) === null);
    await put(use.store, user, [fix(1)]);
    await use.store.usercache.move(user, { at: never, limit: 9 }, lease, accept);
    const renewed = await use.store.leases.renew(lease, 600);
    expect(await use.store.leases.get(user)).toEqual(renewed);
  });

  const losses: Record<string, (store: Store, user: string) => Promise<Lease>> = {
    'was taken over': async (store, user) => {
      const lease = await briefLease(store, user, 'a');
      await acquireLater(store, user, 'b');
      return lease;
    },
    'was released': async (store, user) => {
      const lease = await leaseOn(store, user);
      await store.leases.release(lease);
      return lease;
    },
    'was released and taken by the same owner': async (store, user) => {
      const lease = await leaseOn(store, user);
      await store.leases.release(lease);
      await leaseOn(store, user);
      return lease;
    },
    'never was': async (_, user) => ({ user_id: user, owner: 'a', fence: 1, expires_ts: 4e9, seconds: 600 }),
    'is of another user': async (store) => leaseOn(store, await newUser(use.store)),
  };

  it.each(Object.entries(losses))('with a lease that %s nothing is written', async (_, lose) => {
    const { store } = use;
    const user = await newUser(use.store);
    const lease = await lose(store, user);
    await put(store, user, [fix(1)]);
    const before = { counts: await store.counts(user), state: await store.pipeline.get(user) };
    const range = { from: 0, to: 100 };
    const record = { id: 'x', kind: 'dropped', chain_ts: 5, start_ts: 5, end_ts: 6, day: '2016-05-17' } as never;
    await rejects(store.usercache.move(user, { at: never, limit: 9 }, lease, accept), 'MOBILITY_LEASE_LOST');
    await rejects(store.trips.replace(user, range, [record], { documents_due: true }, lease), 'MOBILITY_LEASE_LOST');
    const document = { key: 'diary/trips-2016-05-17', write_ts: 1, data: {} };
    const end = { state: { documents_due: true }, release: true };
    await rejects(store.documents.apply(user, { put: [document], remove: [] }, lease, end), 'MOBILITY_LEASE_LOST');
    await rejects(store.documents.apply(user, { put: [], remove: [] }, lease), 'MOBILITY_LEASE_LOST');
    await rejects(store.pipeline.merge(user, { documents_due: true }, lease), 'MOBILITY_LEASE_LOST');
    expect({ counts: await store.counts(user), state: await store.pipeline.get(user) }).toEqual(before);
  });
}
