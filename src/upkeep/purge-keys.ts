// Removes obsolete document keys outside a pipeline run, by the rule that the pipeline uses.
import { randomUUID } from 'node:crypto';
import { MobilityError } from '../model/errors.ts';
import { documentWindow } from '../pipeline/document-window.ts';
import { holdLease } from '../pipeline/lease.ts';
import { findObsoleteKeys, type ObsoleteKey } from '../pipeline/obsolete-keys.ts';
import type { Store } from '../store/store.ts';

/** What `purge-keys` did for a user. */
export interface PurgeReport {
  user_id: string;
  /** Removed, or in a dry run: would be. */
  obsolete: ObsoleteKey[];
}

/** How obsolete keys are purged. */
export interface PurgeOptions {
  /** Look only. */
  dryRun?: boolean;
  /** Who works, for others to see; default: a random name. */
  owner?: string;
  /** s; how long a killed purge keeps the user. Default 60. */
  leaseSeconds?: number;
}

/**
 * Removes the user's obsolete documents, and only documents. Throws `MOBILITY_LEASE_HELD` when somebody works on the
 * user.
 */
export async function purgeKeys(store: Store, userId: string, options: PurgeOptions = {}): Promise<PurgeReport> {
  const found = await obsoleteOf(store, userId);
  if (options.dryRun || found.length === 0) return { user_id: userId, obsolete: found };
  const taken = await holdLease(store, userId, options.owner ?? randomUUID(), options.leaseSeconds ?? 60);
  if ('heldBy' in taken) {
    throw new MobilityError(
      'MOBILITY_LEASE_HELD',
      `${taken.heldBy.owner} works on user ${userId}; try again when it is done`,
    );
  }
  try {
    const obsolete = await obsoleteOf(store, userId);
    const remove = obsolete.map(({ key }) => key);
    await store.documents.apply(userId, { put: [], remove }, taken.held.current());
    return { user_id: userId, obsolete };
  } finally {
    await taken.held.end();
  }
}

async function obsoleteOf(store: Store, userId: string): Promise<ObsoleteKey[]> {
  const state = await store.pipeline.get(userId);
  return (await findObsoleteKeys(store, userId, state, await documentWindow(store, userId))).obsolete;
}
