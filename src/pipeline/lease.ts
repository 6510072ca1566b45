// Work under a lease: takes it before, renews it meanwhile, releases it afterwards. Each lease has a higher fence.
//
//     s           0       20      40            100             120
//     process A   fence 1, renewed to 80, 100   (suspended)     writes: MOBILITY_LEASE_LOST
//     process B   busy    busy    busy          fence 2, works
import { randomUUID } from 'node:crypto';
import { isMobilityError, MobilityError } from '../model/mobility-error.ts';
import type { Lease, PipelineState, Store } from '../store/store.ts';

/** A lease that renews itself until it is ended. */
export interface HeldLease {
  /** The state of the pipeline when the lease was taken. */
  readonly state: PipelineState;
  /** The present lease. */
  current(): Lease;
  /** Stops renewing and releases the lease, unless a write has released it already (`released`). */
  end(how?: 'released'): Promise<void>;
}

/**
 * Takes the lease on a user and renews it three times per term until `end`. A renewal that finds the lease lost stops:
 * the store then refuses the next write. `heldBy`: the lease of another process.
 */
export async function holdLease(
  store: Store,
  userId: string,
  owner: string,
  seconds: number,
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

/** The owner of the lease, and how long it lasts without renewal. */
export interface LeaseOptions {
  /** The owner of the lease, shown to others; default: a random name. */
  owner?: string;
  /** Seconds; default 60. */
  leaseSeconds?: number;
}

/** Does `work` under the lease on a user. Throws `MOBILITY_LEASE_HELD` if another process has it. */
export async function withLease<T>(
  store: Store,
  userId: string,
  { owner = randomUUID(), leaseSeconds = 60 }: LeaseOptions,
  work: (held: HeldLease) => Promise<T>,
): Promise<T> {
  const taken = await holdLease(store, userId, owner, leaseSeconds);
  if ('heldBy' in taken) {
    throw new MobilityError(
      'MOBILITY_LEASE_HELD',
      `${taken.heldBy.owner} works on user ${userId}; try again when it is done`,
    );
  }
  try {
    return await work(taken.held);
  } finally {
    await taken.held.end();
  }
}
