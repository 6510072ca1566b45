// Erasing everything of one user, until nothing is left.
import { isMobilityError } from '../model/mobility-error.ts';
import { withLease } from '../pipeline/lease.ts';
import type { Collection, Erasure, Store } from '../store/store.ts';

/** All erasures have the same owner, so that the next one continues an erasure that was killed. */
const lease = { owner: 'erase', leaseSeconds: 300 } as const;

/**
 * Removes everything of a user; returns the rows removed from each collection. It continues an interrupted erasure at
 * once. Throws `MOBILITY_LEASE_HELD` if a run has the user. `how`: as in `Store.erase`.
 */
export async function eraseUser(store: Store, uuid: string, how: Erasure = {}): Promise<Record<Collection, number>> {
  try {
    return await withLease(store, uuid, lease, () => store.erase(uuid, how));
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
    // The store refuses every write about this user, so no lease is needed.
    return store.erase(uuid, how);
  }
}

/** Rows in all collections together. */
export function totalOf(counts: Record<Collection, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Overwrites what removed rows leave in the files of the store, also after an erasure that was killed. */
export async function wipeTraces(store: Store): Promise<void> {
  await store.erase('00000000-0000-0000-0000-000000000000'); // no user has it
}
