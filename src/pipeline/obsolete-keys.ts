// Decides which documents of a user are obsolete, from their keys and the days with trips. Used by the pipeline and by
// `mobility purge-keys`.
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

/** Returns the keys that are neither of a day with trips nor one of the three configuration keys. */
export function obsoleteKeys(present: readonly string[], daysWithTrips: readonly string[]): ObsoleteKey[] {
  const valid = new Set([...configKeys, ...daysWithTrips.map(dayKey)]);
  return present.filter((key) => !valid.has(key)).map((key) => ({ key, why: whyObsolete(key) }));
}

function whyObsolete(key: string): string {
  return key.startsWith(dayKey('')) ? 'the day is out of the window or has no trips' : 'not in the list of valid keys';
}

export interface DocumentKeys {
  trips: Pick<TripRecord, 'chain_ts' | 'day'>[];
  /** The days of `trips`, ascending. Each has a document or will get one. */
  days: string[];
  present: string[]; // the keys of the stored documents
  valid: string[]; // the keys that documents may have
  obsolete: ObsoleteKey[];
}

/**
 * Finds the valid and the obsolete documents of a user. As long as no part of the diary is final (`complete_until` is
 * null), no document is obsolete: it may be of trips that are not derived yet. But if a part was final before and is
 * gone (`complete_lost`), the documents of its trips are obsolete.
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
