// Stage "documents": writes a document for each of the last days with trips, and removes other documents. The same
// transaction ends the run and releases the lease.
import { readTripsOfDays } from '../diary/build-trip-documents.ts';
import { correctedTrips, movedOnly } from '../diary/corrections/corrected-trips.ts';
import { readCorrections } from '../diary/corrections/read-corrections.ts';
import { line } from '../log/messages.ts';
import type { JsonValue } from '../model/json.ts';
import { dayKey } from '../model/keys.ts';
import type { Document } from '../store/store.ts';
import { type DocumentKeys, type DocumentWindow, documentWindow, findObsoleteKeys } from './document-keys.ts';
import { keepMonths } from './keep-months.ts';
import { keepPlaces } from './keep-places.ts';
import { endOfRun, type RunContext, type Stage, type StageResult } from './stage.ts';

/**
 * Builds documents only for days whose trips may have changed. A document with equal data is not written again, so
 * `write_ts` is the time of its last change. Entries that phones pushed under the key of a document are not removed.
 */
export const writeDocuments: Stage = {
  name: 'documents',
  async run(context): Promise<StageResult> {
    const { store, userId, log, state, lease } = context;
    const { documents } = store;
    const pipeline = { ...store.pipeline, get: async () => state };
    const corrections = context.corrections ?? (await readCorrections(movedOnly(store), userId));
    const moved = { ...movedOnly(store), pipeline, documents, corrections };
    const isCorrected = corrections.length > 0;
    const known = isCorrected ? undefined : context.lastTrip;
    const last = known ?? (await correctedTrips(moved).previous(userId, Number.POSITIVE_INFINITY));
    await keepPlaces(context, moved, last);
    await keepMonths(context, moved, last);
    const window = documentWindow(last);
    // If a correction added the only trip of a day and is undone, the document of the day is obsolete. `complete_lost`
    // lets the search find it even if no part of the diary is final.
    if (isCorrected) state.complete_lost ||= state.complete_until === null;
    const found = await findObsoleteKeys(moved, userId, state, window);
    const { days, present, valid, obsolete } = found;
    const changedTrips = isCorrected ? null : context.changedTrips;
    const wanted = state.documents_due && window !== null ? daysToBuild(changedTrips, window, found) : null;
    const built = wanted === null ? new Map() : await readTripsOfDays(moved, userId, wanted, { last });
    if (built.size > 0) log.write('INFO', line.binned(userId, built.size, 0));
    const put: Document[] = [];
    for (const [day, trips] of built) {
      log.write('DEBUG', line.addingTrips(userId, trips.length, day));
      put.push({ key: dayKey(day), write_ts: context.now(), data: trips as unknown as JsonValue });
    }
    const ended = { documents_due: false, complete_lost: false, ...endOfRun(context), last_error: null };
    const remove = obsolete.map(({ key }) => key);
    const end = { state: ended, release: true };
    const { results } = await store.documents.apply(userId, { put, remove }, lease(), end);
    log.write('DEBUG', line.keyLists(userId, present, valid));
    let written = 0;
    for (const [i, { key }] of put.entries()) {
      const result = results[i]!;
      if (result === 'unchanged') continue;
      written += 1;
      log.write('INFO', line.documentUpdated(userId, key, result));
    }
    if (remove.length > 0) log.write('INFO', line.obsoleteKeys(userId, remove));
    for (const key of remove) log.write('INFO', line.documentRemoved(userId, key, 'removed'));
    const idle = !state.documents_due && remove.length === 0;
    const counts = { days: days.length, written, unchanged: days.length - written, removed: remove.length };
    return { counts: idle ? {} : counts };
  },
};

/**
 * Returns the days to build; null: none. If the run does not know which trips changed, these are all days of the
 * window. Otherwise the days to build are all days from the first to the last of:
 * - the days of changed trips,
 * - the day of the trip before the first changed trip, because its document contains the start of the next trip,
 * - the days without a document.
 */
function daysToBuild(
  changedTrips: RunContext['changedTrips'],
  window: DocumentWindow,
  { trips, days, present }: DocumentKeys,
): DocumentWindow | null {
  if (changedTrips === null) return window;
  const wanted = [...days.filter((day) => !present.includes(dayKey(day))), ...changedTrips.map(({ day }) => day)];
  const first = changedTrips.reduce((least, { chain_ts }) => Math.min(least, chain_ts), Number.POSITIVE_INFINITY);
  const before = changedTrips.length === 0 ? undefined : trips.findLast(({ chain_ts }) => chain_ts < first);
  if (before !== undefined) wanted.push(before.day);
  const ordered = wanted.filter((day) => days.includes(day)).sort();
  const [from, to] = [ordered[0], ordered.at(-1)];
  return from === undefined || to === undefined ? null : { from, to };
}
