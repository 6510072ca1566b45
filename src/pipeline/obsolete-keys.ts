// Decides which documents of a user are obsolete, from their keys and the days with trips. The pipeline and
// `purge-keys` both use this rule.
import { type ChainStore, correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { configKeys, dayKey } from '../model/keys.ts';
import type { TripRecord } from '../model/trip.ts';
import type { PipelineState, Store } from '../store/store.ts';
import type { DocumentWindow } from './document-window.ts';

/** The key of a document that must be removed, with the reason. */
export interface ObsoleteKey {
  key: string;
  why: string;
}

/** The obsolete keys. Valid are the days of the window that have trips, and the three configuration keys. Pure. */
export function obsoleteKeys(present: readonly string[], daysWithTrips: readonly string[]): ObsoleteKey[] {
  const valid = new Set([...configKeys, ...daysWithTrips.map(dayKey)]);
  return present.filter((key) => !valid.has(key)).map((key) => ({ key, why: whyObsolete(key) }));
}

function whyObsolete(key: string): string {
  return key.startsWith(dayKey('')) ? 'the day is out of the window or has no trips' : 'not in the list of valid keys';
}

/** The documents that a user has, and those that are valid. */
export interface DocumentKeys {
  /** The trips of the window, by `chain_ts`. */
  trips: Pick<TripRecord, 'chain_ts' | 'day'>[];
  /** The days with such trips, ascending. They have documents, or will get them. */
  days: string[];
  present: string[];
  valid: string[];
  obsolete: ObsoleteKey[];
}

/**
 * Which documents of a user are valid and which are obsolete, judged by the moved entries of `store`. Without complete
 * data none is obsolete, since nothing is known about the user; except if there were complete data before and all of
 * them are gone.
 */
export async function findObsoleteKeys(
  store: ChainStore & Pick<Store, 'documents'>,
  userId: string,
  { complete_until, complete_lost }: PipelineState,
  window: DocumentWindow | null,
): Promise<DocumentKeys> {
  const present = await store.documents.keys(userId);
  const trips = window === null ? [] : await correctedTrips(store).starts(userId, window);
  const days = [...new Set(trips.map(({ day }) => day))].sort();
  if (complete_until === null && !complete_lost) return { trips, days, present, valid: present, obsolete: [] };
  const valid = [...days.map(dayKey), ...configKeys];
  return { trips, days, present, valid, obsolete: obsoleteKeys(present, days) };
}
