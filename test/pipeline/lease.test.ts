// A lease is renewed while its owner works, and given back.
import { expect, it, onTestFinished, vi } from 'vitest';
import { MobilityError } from '../../src/model/mobility-error.ts';
import { holdLease, withLease } from '../../src/pipeline/lease.ts';
import type { Store } from '../../src/store/store.ts';
import { newUser, useStore } from '../support/store.ts';

const store = useStore();

/** Holds a lease of 60 s of a store that only counts renewals, by a clock that the test moves. */
async function holdWithFakeClock(renewal: (lease: object) => Promise<object>) {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const lease = { user_id: 'u', owner: 'worker', fence: 1, expires_ts: 60, seconds: 60 };
  const [renew, release] = [vi.fn(renewal), vi.fn(async () => {})];
  const leases = { acquire: async () => ({ lease }), renew, release };
  const taken = await holdLease({ leases } as unknown as Store, 'u', { owner: 'worker' });
  if (!('held' in taken)) throw new Error('expected the lease');
  return { held: taken.held, renew, release };
}

it('a lease is renewed three times in its term, until its end', async () => {
  let expires_ts = 60;
  const { held, renew, release } = await holdWithFakeClock(async (lease) => {
    expires_ts += 20;
    return { ...lease, expires_ts };
  });
  for (const count of [1, 2, 3]) {
    await vi.advanceTimersByTimeAsync(20_000);
    expect(renew).toHaveBeenCalledTimes(count);
    expect(held.current()).toMatchObject({ owner: 'worker', expires_ts: 60 + 20 * count });
  }
  await held.end();
  expect(release).toHaveBeenCalledWith(held.current());
  await vi.advanceTimersByTimeAsync(60_000);
  expect(renew).toHaveBeenCalledTimes(3);
});

it('a renewal that finds the lease lost is the last, and one that fails otherwise is not', async () => {
  const failures = [new Error('the network'), new MobilityError('MOBILITY_LEASE_LOST', 'another owner')];
  const { renew } = await holdWithFakeClock(async () => Promise.reject(failures.shift()));
  for (let i = 0; i < 5; i++) await vi.advanceTimersByTimeAsync(20_000);
  expect(renew).toHaveBeenCalledTimes(2);
});

it('work under a lease begins only if no other owner has it, and releases it at any end', async () => {
  const user = await newUser(store);
  const options = { owner: 'first', leaseSeconds: 60 };
  const failing = withLease(store, user, options, async (held) => {
    expect(held.current()).toMatchObject({ owner: 'first' });
    const second = withLease(store, user, { owner: 'second' }, () => Promise.reject(new Error('it began')));
    await expect(second).rejects.toMatchObject({
      code: 'MOBILITY_LEASE_HELD',
      message: expect.stringMatching(/^first works on user/),
    });
    throw new Error('the work failed');
  });
  await expect(failing).rejects.toThrow('the work failed');
  expect(await store.leases.get(user)).toBeNull();
});
