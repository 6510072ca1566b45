// Erasing: everything of one user, or of everybody who has rows without being registered, until nothing is left.
import { isMobilityError } from '../model/errors.ts';
import { withLease } from '../pipeline/lease.ts';
import { erasingLease } from '../store/erasing.ts';
import type { Collection, Store, Unowned } from '../store/store.ts';

/**
 * Removes everything of a user; returns the rows removed from each collection. An erasure that was interrupted is taken
 * up at once: all erasures have one owner. Throws `MOBILITY_LEASE_HELD` when a run works on the user.
 */
export async function eraseUser(store: Store, uuid: string): Promise<Record<Collection, number>> {
  const { owner, seconds: leaseSeconds } = erasingLease;
  try {
    return await withLease(store, uuid, { owner, leaseSeconds }, () => store.erase(uuid));
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
    // Nobody may write about them any more, so that there is nobody to wait for.
    return store.erase(uuid);
  }
}

/** What became of rows whose owner is not registered. */
export interface Purged extends Unowned {
  /** `removed`: gone. `busy`: somebody works on them, such as a migration. `found`: a dry run. */
  status: 'removed' | 'busy' | 'found';
  message?: string;
}

/** Removes the rows of everybody who is not registered; in a dry run it names them only. */
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
