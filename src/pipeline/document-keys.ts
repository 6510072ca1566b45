// Finds the days whose documents the phone gets, and obsolete documents, for the pipeline and `mobility purge-keys`.
import { type ChainStore, correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { configKeys, dayKey } from '../model/keys.ts';
import { addDays, localDay } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';
import type { PipelineState, Store } from '../store/store.ts';

const windowDays = 7; // Days before the end of the last trip. Phones keep documents for as long.

export interface DocumentWindow {
  from: string;
  to: string;
}

/** The days with documents: the days of the last trip and of the week before it. null: the user has no trips. */
export function documentWindow(last: TripRecord | null): DocumentWindow | null {
  if (!last?.trip) return null;
  const { start_ts, end_ts, end_zone } = last.trip;
  // The window is the week before the trip's end. For a trip of over a week, it is the week before the trip's start,
  // because the document of a trip belongs to the day of its start.
  const window = windowUntil(end_ts, end_zone);
  return last.day >= window.from ? window : windowUntil(start_ts, end_zone);
}

/**
 * The window that ends a day after `ts`. The extra day: after a user travelled east over the date line, some trips
 * start on a local day that is later than the day at the user's present place.
 */
function windowUntil(ts: number, zone: string): DocumentWindow {
  const day = localDay(ts, zone);
  return { from: addDays(day, -windowDays), to: addDays(day, 1) };
}

export interface ObsoleteKey {
  key: string;
  why: string;
}

export function obsoleteKeys(present: readonly string[], daysWithTrips: readonly string[]): ObsoleteKey[] {
  const valid = new Set([...configKeys, ...daysWithTrips.map(dayKey)]);
  return present.filter((key) => !valid.has(key)).map((key) => ({ key, why: whyObsolete(key) }));
}

function whyObsolete(key: string): string {
  return key.startsWith(dayKey(''))
    ? 'phones no longer get this day, or it has no trips'
    : 'not in the list of valid keys';
}

export interface DocumentKeys {
  trips: Pick<TripRecord, 'chain_ts' | 'day'>[];
  days: string[]; // the days of `trips`, ascending
  present: string[]; // the keys of the stored documents
  valid: string[]; // the keys that documents may have
  obsolete: ObsoleteKey[];
}

/**
 * Finds the valid and the obsolete documents of a user. While no part of the diary is final (`complete_until` is null),
 * no document is obsolete, because its trips may not be derived yet. But if a part was final before (`complete_lost`),
 * the documents of days without trips are obsolete.
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
