import { randomUUID } from 'node:crypto';
import { isMobilityError, MobilityError } from '../model/mobility-error.ts';
import type { Lease, PipelineState, Store } from '../store/store.ts';

export interface HeldLease {
  readonly state: PipelineState; // the state when the lease was acquired
  current(): Lease;
  /** Stops renewing and releases the lease. `released`: only stops, because a write has already released the lease. */
  end(how?: 'released'): Promise<void>;
}

export interface LeaseOptions {
  owner?: string; // names this process in messages of other processes; default: a random name
  leaseSeconds?: number; // the lease expires after this time unless it is renewed; default 60
}

/**
 * Acquires the lease on a user, and renews it every third of `leaseSeconds` until `end` is called. If the lease is
 * lost, the store refuses the next write. `heldBy`: the lease of another process.
 */
export async function holdLease(
  store: Store,
  userId: string,
  { owner = randomUUID(), leaseSeconds: seconds = 60 }: LeaseOptions,
): Promise<{ held: HeldLease } | { heldBy: Lease }> {
  const taken = await store.leases.acquire(userId, owner, seconds);
  if ('heldBy' in taken) return taken;
  let lease = taken.lease;
  let renewing: Promise<void> | null = null;
  const renew = async (): Promise<void> => {
    try {
      lease = await store.leases.renew(lease, seconds);
    } catch (error) {
      if (isMobilityError(error, 'MOBILITY_LEASE_LOST')) clearInterval(timer);
    }
    renewing = null;
  };
  const timer = setInterval(() => (renewing ??= renew()), (seconds * 1000) / 3).unref();
  return {
    held: {
      state: taken.state,
      current: () => lease,
      async end(how) {
        clearInterval(timer);
        await renewing;
        if (how === undefined) await store.leases.release(lease);
      },
    },
  };
}

/** Runs `work` under the lease on a user. Throws `MOBILITY_LEASE_HELD` if another process has it. */
export async function withLease<T>(
  store: Store,
  userId: string,
  options: LeaseOptions,
  work: (held: HeldLease) => Promise<T>,
): Promise<T> {
  const taken = await holdLease(store, userId, options);
  if ('heldBy' in taken) {
    throw new MobilityError(
      'MOBILITY_LEASE_HELD',
      `${taken.heldBy.owner} works on user ${userId}; try again when its lease has ended`,
    );
  }
  try {
    return await work(taken.held);
  } finally {
    await taken.held.end();
  }
}
