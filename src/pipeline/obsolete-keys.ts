// Document keys present and days with trips -> the documents that are obsolete. One rule for the pipeline and for
// `purge-keys`.
import { type ChainStore, correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { configKeys, dayKey } from '../model/keys.ts';
import type { TripRecord } from '../model/trip.ts';
import type { PipelineState, Store } from '../store/store.ts';
import type { DocumentWindow } from './document-window.ts';

/** A document key that is no longer valid, with the reason. */
export interface ObsoleteKey {
  key: string;
  why: string;
}

/**
 * The rule, pure: valid are the days with trips in the window and the three configuration keys; every other document is
 * obsolete.
 */
export function obsoleteKeys(present: readonly string[], daysWithTrips: readonly string[]): ObsoleteKey[] {
  const valid = new Set([...configKeys, ...daysWithTrips.map(dayKey)]);
  return present.filter((key) => !valid.has(key)).map((key) => ({ key, why: whyObsolete(key) }));
}

function whyObsolete(key: string): string {
  return key.startsWith(dayKey('')) ? 'the day is out of the window or has no trips' : 'not in the list of valid keys';
}

/** The documents of a user as things stand. */
export interface DocumentKeys {
  /** The trips of the window, by `chain_ts`. */
  trips: Pick<TripRecord, 'chain_ts' | 'day'>[];
  /** Their days, ascending: they have documents, or will have. */
  days: string[];
  present: string[];
  valid: string[];
  obsolete: ObsoleteKey[];
}

/**
 * Which document keys of one user are valid and which are obsolete, by the moved entries of `store`. None is obsolete
 * without complete data: nothing is known of the user then; unless there was some, and all of it went.
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
