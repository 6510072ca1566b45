// Contract: the right to work on a user.
import { expect, it } from 'vitest';
import type { Lease, Store } from '../../../src/store/store.ts';
import { until } from '../../support/until.ts';
import { fix, newId, newPerson, type Person, rejects, type Use } from './kit.ts';

const moment = 0.05; // s

/** Acquires as soon as the lease that is there has ended. */
async function acquireLater(store: Store, user: Person, owner: string): Promise<Lease> {
  await until(async () => (await store.leases.get(user.id)) === null);
  return user.lease(owner);
}

export function leaseTests(use: Use): void {
  use.it('one owner gets the lease, and the other gets the name of the holder', async (user) => {
    const lease = await user.lease('a');
    expect(lease).toMatchObject({ user_id: user.id, owner: 'a' });
    expect(await use.store.leases.acquire(user.id, 'b', 600)).toEqual({ heldBy: lease });
    expect(await use.store.leases.get(user.id)).toEqual(lease);
    expect(await use.store.leases.get(newId())).toBeNull();
  });

  use.it('the expiry is the given number of seconds ahead, and renewing extends it', async (user) => {
    const lease = await user.lease();
    const renewed = await use.store.leases.renew(lease, 1_200);
    expect(renewed).toMatchObject({ user_id: user.id, owner: 'test', fence: lease.fence });
    expect(renewed.expires_ts - lease.expires_ts).toBeGreaterThan(590);
    expect(renewed.expires_ts - lease.expires_ts).toBeLessThan(660);
    expect(await use.store.leases.get(user.id)).toEqual(renewed);
  });

  use.it('a released lease is free, and its fence is never used again', async (user) => {
    let fence = Number.NEGATIVE_INFINITY;
    for (let i = 0; i < 5; i++) {
      const lease = await user.lease();
      expect(lease.fence).toBeGreaterThan(fence);
      fence = lease.fence;
      await use.store.leases.release(lease);
      await use.store.leases.release(lease);
      expect(await use.store.leases.get(user.id)).toBeNull();
    }
  });

  use.it('of simultaneous attempts, one gets the lease', async (user) => {
    const results = await use.atOnce(16, (store, i) => store.leases.acquire(user.id, `owner-${i}`, 600));
    const won = results.filter((result) => 'lease' in result);
    expect(won).toHaveLength(1);
    for (const result of results) if ('heldBy' in result) expect(result.heldBy).toEqual(won[0]!.lease);
  });

  use.it('the same owner may acquire its lease again, and then only the new lease is valid', async (user) => {
    const first = await user.lease('a');
    const second = await user.lease('a');
    expect(second.fence).toBeGreaterThan(first.fence);
    await rejects(use.store.leases.renew(first, 600), 'MOBILITY_LEASE_LOST');
    await use.store.leases.release(first);
    expect(await use.store.leases.get(user.id)).toEqual(second);
  });

  use.it('another owner gets a lease only after it has expired', async (user) => {
    const first = await user.lease('a', 3);
    expect(await use.store.leases.acquire(user.id, 'b', 600)).toEqual({ heldBy: first });
    const brief = await use.store.leases.renew(first, moment);
    const second = await acquireLater(use.store, user, 'b');
    expect(second.fence).toBeGreaterThan(first.fence);
    await rejects(use.store.leases.renew(brief, 600), 'MOBILITY_LEASE_LOST');
    await use.store.leases.release(first);
    expect(await use.store.leases.get(user.id)).toEqual(second);
  });

  use.it('an expired lease is not shown, and its owner can continue until another owner gets it', async (user) => {
    const lease = await user.lease('a', moment);
    await until(async () => (await use.store.leases.get(user.id)) === null);
    await user.put([fix(1)]);
    await user.move(lease);
    const renewed = await use.store.leases.renew(lease, 600);
    expect(await use.store.leases.get(user.id)).toEqual(renewed);
  });

  const losses: Record<string, (store: Store, user: Person) => Promise<Lease>> = {
    'was taken over': async (store, user) => {
      const lease = await user.lease('a', moment);
      await acquireLater(store, user, 'b');
      return lease;
    },
    'was released and taken by the same owner': async (store, user) => {
      const lease = await user.lease();
      await store.leases.release(lease);
      await user.lease();
      return lease;
    },
    'never was': async (_, user) => ({ user_id: user.id, owner: 'a', fence: 1, expires_ts: 4e9, seconds: 600 }),
    'is of another user': async (_store) => (await newPerson(use.store)).lease(),
  };

  it.each(Object.entries(losses))('a write under a lease that %s is refused', async (_, lose) => {
    const { store } = use;
    const user = await newPerson(use.store);
    const lease = await lose(store, user);
    await user.put([fix(1)]);
    const before = { counts: await store.counts(user.id), state: await store.pipeline.get(user.id) };
    const record = { id: 'x', kind: 'dropped', chain_ts: 5, start_ts: 5, end_ts: 6, day: '2016-05-17' } as never;
    await rejects(user.move(lease), 'MOBILITY_LEASE_LOST');
    const [change, state] = [{ put: [record], remove: [] }, { documents_due: true }];
    await rejects(store.trips.apply(user.id, change, state, lease), 'MOBILITY_LEASE_LOST');
    const document = { key: 'diary/trips-2016-05-17', write_ts: 1, data: {} };
    const end = { state: { documents_due: true }, release: true };
    await rejects(store.documents.apply(user.id, { put: [document], remove: [] }, lease, end), 'MOBILITY_LEASE_LOST');
    await rejects(store.documents.apply(user.id, { put: [], remove: [] }, lease), 'MOBILITY_LEASE_LOST');
    await rejects(store.pipeline.merge(user.id, { documents_due: true }, lease), 'MOBILITY_LEASE_LOST');
    expect({ counts: await store.counts(user.id), state: await store.pipeline.get(user.id) }).toEqual(before);
  });
}
