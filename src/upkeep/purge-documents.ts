import { correctedTrips, movedOnly } from '../diary/corrections/corrected-trips.ts';
import { documentWindow, findObsoleteKeys, type ObsoleteKey } from '../pipeline/document-keys.ts';
import { type LeaseOptions, withLease } from '../pipeline/lease.ts';
import type { Store } from '../store/store.ts';

/** `obsolete`: the documents that were removed; in a dry run, the documents to remove. */
export type PurgeReport = { user_id: string; obsolete: ObsoleteKey[] };

/** Throws `MOBILITY_LEASE_HELD` if another process holds the user's lease. */
export async function purgeKeys(
  store: Store,
  userId: string,
  options: LeaseOptions & { dryRun?: boolean } = {},
): Promise<PurgeReport> {
  const found = await obsoleteOf(store, userId);
  if (options.dryRun || found.length === 0) return { user_id: userId, obsolete: found };
  return withLease(store, userId, options, async (held) => {
    const obsolete = await obsoleteOf(store, userId);
    const remove = obsolete.map(({ key }) => key);
    await store.documents.apply(userId, { put: [], remove }, held.current());
    return { user_id: userId, obsolete };
  });
}

async function obsoleteOf(store: Store, userId: string): Promise<ObsoleteKey[]> {
  const state = await store.pipeline.get(userId);
  const moved = { ...movedOnly(store), documents: store.documents };
  const last = await correctedTrips(moved).previous(userId, Number.POSITIVE_INFINITY);
  return (await findObsoleteKeys(moved, userId, state, documentWindow(last))).obsolete;
}
