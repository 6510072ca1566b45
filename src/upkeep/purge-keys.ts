// Removes obsolete document keys outside a pipeline run, by the rule that the pipeline uses.

import { findObsoleteKeys, type ObsoleteKey } from '../pipeline/remove-obsolete-keys.ts';
import type { Store } from '../store/store.ts';

export interface PurgeReport {
  user_id: string;
  /** Removed, or in a dry run: would be. */
  obsolete: ObsoleteKey[];
}

/** Removes the user's obsolete documents, and only documents. */
export async function purgeKeys(
  store: Store,
  userId: string,
  options: { dryRun?: boolean } = {},
): Promise<PurgeReport> {
  const { obsolete } = await findObsoleteKeys(store, userId);
  if (!options.dryRun) for (const { key } of obsolete) await store.documents.remove(userId, key);
  return { user_id: userId, obsolete };
}
