// Stage "documents": the trips of the last days -> one document a day, and no other. Ends the run: its write gives the
// lease back.
import { tripsOfDays } from '../diary/build-trip-documents.ts';
import type { TripFeatureCollection } from '../diary/trip-features.ts';
import { line } from '../log/messages.ts';
import type { JsonValue } from '../model/json.ts';
import { jsonText } from '../model/json-text.ts';
import { dayKey } from '../model/keys.ts';
import type { Document, Store } from '../store/store.ts';
import { type DocumentWindow, documentWindow } from './document-window.ts';
import { findObsoleteKeys } from './obsolete-keys.ts';
import { endOfRun, type RunContext, type Stage, type StageResult } from './stage.ts';

/**
 * Writes the documents of the window and removes those that are obsolete, in one transaction with the state. Only days
 * whose trips changed are built again. A document that would come out the same is left alone, so that `write_ts` tells
 * news. Documents alone go: entries that phones pushed under the same key stay.
 */
export const writeDocuments: Stage = {
  name: 'documents',
  async run(context): Promise<StageResult> {
    const { store, userId, log, state, lease } = context;
    const window = await documentWindow(store, userId);
    const { days, present, valid, obsolete } = await findObsoleteKeys(store, userId, state, window);
    const built = state.documents_due && window !== null ? await buildDays(context, window, days, present) : new Map();
    const counts = { days: days.length, written: 0, unchanged: days.length, removed: obsolete.length };
    if (built.size > 0) log.write('INFO', line.binned(userId, built.size, 0));
    const put: Document[] = [];
    for (const [day, trips] of built) {
      log.write('DEBUG', line.addingTrips(userId, trips.length, day));
      const document = await documentOf(context, dayKey(day), trips);
      if (document !== null) put.push(document);
    }
    counts.written = put.length;
    counts.unchanged -= put.length;
    const ended = {
      documents_due: false,
      complete_lost: false,
      ...endOfRun(context),
      last_error: null,
    };
    const { results } = await store.documents.apply(userId, { put, remove: obsolete.map(({ key }) => key) }, lease(), {
      state: ended,
      release: true,
    });
    log.write('DEBUG', line.keyLists(userId, present, valid));
    for (const [i, { key }] of put.entries()) log.write('INFO', line.documentUpdated(userId, key, results[i]!));
    if (obsolete.length > 0)
      log.write(
        'INFO',
        line.obsoleteKeys(
          userId,
          obsolete.map(({ key }) => key),
        ),
      );
    for (const { key } of obsolete) log.write('INFO', line.documentRemoved(userId, key, 'removed'));
    const idle = !state.documents_due && obsolete.length === 0;
    return { counts: idle ? {} : counts };
  },
};

/**
 * The days to build: all of the window, unless the run knows which trips changed. Then those of these trips, those of
 * the trips before them, which tell when the next trip begins, and those that have no document yet.
 */
async function buildDays(
  { store, userId, changedTrips }: RunContext,
  window: DocumentWindow,
  days: readonly string[],
  present: readonly string[],
): Promise<Map<string, TripFeatureCollection[]>> {
  // Without what waits: an incident pushed during this run may fail its conversion, or be replaced, and leave no trace
  // of that.
  const moved = { trips: store.trips, timeseries: store.timeseries };
  if (changedTrips === null) return tripsOfDays(moved, userId, window);
  const wanted = new Set(days.filter((day) => !present.includes(dayKey(day))));
  for (const { day } of changedTrips) wanted.add(day);
  for (const chainTs of await followers(store, userId, changedTrips)) {
    const before = await store.trips.previous(userId, chainTs);
    if (before !== null) wanted.add(before.day);
  }
  const built = new Map<string, TripFeatureCollection[]>();
  for (const day of days) {
    if (!wanted.has(day)) continue;
    for (const [one, trips] of await tripsOfDays(moved, userId, { from: day, to: day })) built.set(one, trips);
  }
  return built;
}

/** Those of the changed trips, by `chain_ts`, whose previous trip is not itself among them. */
async function followers(
  { trips }: Pick<Store, 'trips'>,
  userId: string,
  changed: readonly { chain_ts: number }[],
): Promise<number[]> {
  const times = [...new Set(changed.map(({ chain_ts }) => chain_ts))].sort((a, b) => a - b);
  const [first, last] = [times[0], times.at(-1)];
  if (first === undefined || last === undefined || first === last) return times;
  const there = (await trips.spans(userId, { from: first, to: last })).map(({ chain_ts }) => chain_ts);
  const known = new Set(times);
  let next = 0;
  return times.filter((chainTs) => {
    while (next < there.length && there[next]! < chainTs) next += 1;
    return next === 0 || !known.has(there[next - 1]!);
  });
}

/** The document of a day; null if it equals the stored one. */
async function documentOf(
  { store, userId, now }: RunContext,
  key: string,
  trips: readonly TripFeatureCollection[],
): Promise<Document | null> {
  const data = trips as unknown as JsonValue;
  const stored = await store.documents.get(userId, key);
  return stored !== null && jsonText(stored.data) === jsonText(data) ? null : { key, write_ts: now(), data };
}
