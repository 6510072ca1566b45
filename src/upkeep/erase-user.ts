// Erasing everything of a user, or of everybody who has rows without being registered.
import { isMobilityError } from '../model/errors.ts';
import { withLease } from '../pipeline/lease.ts';
import { erasingLease } from '../store/erasing.ts';
import type { Collection, Store, Unowned } from '../store/store.ts';

/**
 * Removes everything of a user; returns the rows removed from each collection. It continues an interrupted erasure at
 * once, since all erasures have the same owner. Throws `MOBILITY_LEASE_HELD` if a run has the user.
 */
export async function eraseUser(store: Store, uuid: string): Promise<Record<Collection, number>> {
  const { owner, seconds: leaseSeconds } = erasingLease;
  try {
    return await withLease(store, uuid, { owner, leaseSeconds }, () => store.erase(uuid));
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
    // The store refuses every write about this user, so no lease is needed.
    return store.erase(uuid);
  }
}

/** Rows whose owner is not registered, and what was done with them. */
export interface Purged extends Unowned {
  /** `busy`: another process, such as a migration, holds the lease. `found`: a dry run. */
  status: 'removed' | 'busy' | 'found';
  message?: string;
}

/** Removes the rows of everybody who is not registered; a dry run only lists them. */
export async function purgeUnowned(store: Store, { dryRun }: { dryRun: boolean }): Promise<Purged[]> {
  const purged: Purged[] = [];
  for (const one of await store.unowned()) {
    if (dryRun) {
      purged.push({ ...one, status: 'found' });
      continue;
    }
    try {
      await eraseUser(store, one.user_id);
      purged.push({ ...one, status: 'removed' });
    } catch (error) {
      if (!isMobilityError(error, 'MOBILITY_LEASE_HELD')) throw error;
      purged.push({ ...one, status: 'busy', message: error.message });
    }
  }
  return purged;
}
