// Stage "write documents": the trips of the last days -> one document a day, written only where it differs.
import { tripsOfDays } from '../diary/build-trip-documents.ts';
import { line } from '../log/format.ts';
import { dayKey } from '../model/keys.ts';
import { addDays, localDay } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';
import type { Store } from '../store/store.ts';
import type { Stage } from './stage.ts';

/** Days before the newest complete data that phones keep documents of. */
export const documentDays = 7;

/** The local days that have documents, both ends included. */
export interface DocumentWindow {
  from: string;
  to: string;
}

/**
 * Whole local days from seven days before the newest complete data; where these hold no trip, from seven days before the last
 * trip, so that who rests for a week keeps their diary. null: no complete data, and so no say about documents.
 */
export async function documentWindow(store: Store, userId: string): Promise<DocumentWindow | null> {
  const { complete_until } = await store.pipeline.get(userId);
  if (complete_until === null) return null;
  const last = await lastTrip(store, userId);
  if (!last?.trip) return null;
  const newest = windowUntil(complete_until, last.trip.end_zone);
  return last.day >= newest.from ? newest : windowUntil(last.trip.start_ts, last.trip.end_zone);
}

/** Ends a day late: who came west over the date line has begun trips on a day that is yet to come where they are. */
function windowUntil(ts: number, zone: string): DocumentWindow {
  const day = localDay(ts, zone);
  return { from: addDays(day, -documentDays), to: addDays(day, 1) };
}

/** The last trip; days are counted by the zone in which it ended. */
async function lastTrip(store: Store, userId: string): Promise<TripRecord | null> {
  const { end_ts } = await store.trips.summary(userId);
  if (end_ts === null) return null;
  const to = addDays(localDay(end_ts, 'UTC'), 2);
  // Nearly every trip began within days of its end.
  for (const reach of [4, 40, 400]) {
    const records = await store.trips.byDay(userId, { from: addDays(to, -reach), to });
    if (records.length > 0) return records.reduce((a, b) => (a.chain_ts > b.chain_ts ? a : b));
  }
  return null;
}

/** Writes the documents of the window. A document that would come out the same is left alone, so that `write_ts` tells news. */
export const writeDocuments: Stage = {
  name: 'write documents',
  async run({ store, userId, log, now }) {
    const { documents_due } = await store.pipeline.get(userId);
    const window = documents_due ? await documentWindow(store, userId) : null;
    if (!window) return { counts: {} };
    // Without what waits: an incident pushed during this run may fail its conversion, or be replaced, and leave no trace of that.
    const moved = { trips: store.trips, timeseries: store.timeseries };
    const days = await tripsOfDays(moved, userId, window);
    const counts = { days: days.size, written: 0, unchanged: 0 };
    log.write('INFO', line.binned(userId, days.size, 0));
    for (const [day, trips] of days) {
      const key = dayKey(day);
      log.write('DEBUG', line.addingTrips(userId, trips.length, day));
      const text = JSON.stringify(trips);
      const present = await store.documents.get(userId, key);
      if (present && JSON.stringify(present.data) === text) {
        counts.unchanged += 1;
        continue;
      }
      const result = await store.documents.put(userId, { key, write_ts: now(), data: JSON.parse(text) });
      counts.written += 1;
      log.write('INFO', line.documentUpdated(userId, key, result));
    }
    return { counts };
  },
};
