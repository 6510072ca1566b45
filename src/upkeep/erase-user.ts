// Erasing: everything of one user, or of everybody who has rows without being registered, until nothing is left.
import { isMobilityError, MobilityError } from '../model/errors.ts';
import { erasingLease, totalOf } from '../store/erasing.ts';
import { type Collection, collections, type Store, type Unowned } from '../store/store.ts';

/** A put that was under way may have written between two looks. */
const attempts = 5;

/**
 * Removes everything of a user; returns the rows removed from each collection. An erasure that was interrupted is taken
 * up at once: all erasures have one owner. Throws `MOBILITY_LEASE_HELD` when a run works on the user.
 */
export async function eraseUser(store: Store, uuid: string): Promise<Record<Collection, number>> {
  const { owner, seconds } = erasingLease;
  const taken = await store.leases.acquire(uuid, owner, seconds).catch((error: unknown) => {
    // Nobody may write about them any more, so that there is nobody to wait for.
    if (isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) return null;
    throw error;
  });
  if (taken !== null && 'heldBy' in taken) {
    throw new MobilityError(
      'MOBILITY_LEASE_HELD',
      `${taken.heldBy.owner} works on this user; try again when it is done`,
    );
  }
  const removed = Object.fromEntries(collections.map((name) => [name, 0])) as Record<Collection, number>;
  for (let i = 0; i < attempts; i++) {
    const gone = await store.erase(uuid);
    for (const name of collections) removed[name] += gone[name];
    if (totalOf(await store.counts(uuid)) === 0) break;
  }
  return removed;
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
