// Stage "write documents": the trips of the last days -> one document a day, written only where it differs.
import { tripsOfDays } from '../diary/build-trip-documents.ts';
import type { TripFeatureCollection } from '../diary/trip-features.ts';
import { line } from '../log/messages.ts';
import { dayKey } from '../model/keys.ts';
import { documentWindows } from './document-windows.ts';
import type { Stage } from './stage.ts';

/** Writes the documents of the window. A document that would come out the same is left alone, so that `write_ts` tells news. */
export const writeDocuments: Stage = {
  name: 'write documents',
  async run({ store, userId, log, now }) {
    const { documents_due } = await store.pipeline.get(userId);
    const windows = documents_due ? await documentWindows(store, userId) : [];
    if (windows.length === 0) return { counts: {} };
    // Without what waits: an incident pushed during this run may fail its conversion, or be replaced, and leave no trace of that.
    const moved = { trips: store.trips, timeseries: store.timeseries };
    const days = new Map<string, TripFeatureCollection[]>();
    for (const window of windows)
      for (const [day, trips] of await tripsOfDays(moved, userId, window)) days.set(day, trips);
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
