// Erasing everything of one user, until nothing is left.
import { isMobilityError } from '../model/errors.ts';
import { withLease } from '../pipeline/lease.ts';
import type { Collection, Store } from '../store/store.ts';

/** Every erasure has the same owner, so that one that was killed is taken up at once. */
const lease = { owner: 'erase', leaseSeconds: 300 } as const;

/**
 * Removes everything of a user; returns the rows removed from each collection. An erasure that was interrupted goes on.
 * Throws `MOBILITY_LEASE_HELD` when a run works on the user.
 */
export async function eraseUser(store: Store, uuid: string): Promise<Record<Collection, number>> {
  try {
    return await withLease(store, uuid, lease, () => store.erase(uuid));
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
    // Nobody may write about the user any more, so that there is nobody to wait for.
    return store.erase(uuid);
  }
}

/** Rows in all collections together. */
export function totalOf(counts: Record<Collection, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
