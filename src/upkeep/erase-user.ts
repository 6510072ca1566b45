// Erases all data of one user.
import { isMobilityError } from '../model/mobility-error.ts';
import { withLease } from '../pipeline/lease.ts';
import type { Collection, Erasure, Store } from '../store/store.ts';

/** All erasures have the same owner, so that the next one can continue a killed one at once. */
const lease = { owner: 'erase', leaseSeconds: 300 } as const;

/**
 * Removes all data of a user. Returns how many rows were removed from each collection. Continues an interrupted erasure
 * at once. Throws `MOBILITY_LEASE_HELD` if a run holds the user. `how`: as in `Store.erase`.
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

/** Overwrites traces of removed rows in the files of the store, also after a killed erasure. */
export async function wipeTraces(store: Store): Promise<void> {
  await store.erase('00000000-0000-0000-0000-000000000000'); // no user has this UUID
}
