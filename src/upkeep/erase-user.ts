import { isMobilityError } from '../model/mobility-error.ts';
import { withLease } from '../pipeline/lease.ts';
import type { Collection, Erasure, Store } from '../store/store.ts';

/** All erasures have the same owner. So an erasure can take the lease of a killed erasure, and continues it at once. */
const lease = { owner: 'erase', leaseSeconds: 300 } as const;

/**
 * Removes all data of a user, or continues an interrupted erasure. Returns how many rows were removed from each
 * collection. Throws `MOBILITY_LEASE_HELD` if a run holds the user. `how`: see `Store.erase`.
 */
export async function eraseUser(store: Store, uuid: string, how: Erasure = {}): Promise<Record<Collection, number>> {
  try {
    return await withLease(store, uuid, lease, () => store.erase(uuid, how));
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
    // No account: the store refuses every write about this user, so no lease is needed to remove the remaining rows.
    return store.erase(uuid, how);
  }
}

/** The sum of the counts of all collections. */
export function totalOf(counts: Record<Collection, number>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Overwrites traces of removed rows in the files of the store, also after a killed erasure. */
export async function wipeTraces(store: Store): Promise<void> {
  await store.erase('00000000-0000-0000-0000-000000000000'); // no user has this UUID
}
