// Reads the content of an export part by part, with at most one part of the store in memory.
import { readTripsOfDays } from '../diary/build-trip-documents.ts';
import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { withLabels } from '../diary/labels/add-labels.ts';
import { dataTime, type Entry } from '../model/entry.ts';
import { addDays, isTimeZone, justAfter, localDay, maxTime, minTime } from '../model/time.ts';
import { type EntrySelection, type EntryStore, entryPages, everyEntry } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { toFlatGeoJson } from './trips-geojson.ts';

/** Local days, both ends included. A missing bound is open. */
export type Days = { from?: string; to?: string };

const pageSize = 4000;
const daysAtOnce = 31;

/** An entry as pushed. `received_ts`: when the service first received it, s since the epoch. */
export type ExportedEntry = Entry & { received_ts: number };

export async function* entryRows(...which: Parameters<typeof entryLists>): AsyncGenerator<ExportedEntry> {
  for await (const rows of entryLists(...which)) yield* rows;
}

/**
 * Reads entries as pushed, each identity once: first the entries of the timeseries by `write_ts`,
 * then the entries that were pending at the start. If a run moves a pending entry meanwhile, or a
 * phone pushes it again, the newest content is exported. Holds the identities of pending entries.
 */
export async function* entryLists(
  store: Store,
  userId: string,
  days: Days,
  only?: readonly string[],
): AsyncGenerator<ExportedEntry[]> {
  const query = { time: 'write_ts', limit: pageSize, ...(only && { keys: only }) } as const;
  const pending = await pendingIdentities(store, userId, query);
  const isUnbounded = days.from === undefined && days.to === undefined;
  const isAsked = (row: ExportedEntry): boolean => {
    if (isUnbounded) return true;
    const day = dayOf(row);
    return day !== null && isAmong(day, days);
  };
  const isPending = ({ metadata: { key, write_ts } }: Entry) => pending.get(key)?.has(write_ts) === true;
  for await (const rows of entriesOf(store.timeseries, userId, query))
    yield rows.filter((row) => !isPending(row) && isAsked(row));
  const isDue = ({ metadata: { key, write_ts } }: Entry) => pending.get(key)?.delete(write_ts) === true;
  for await (const rows of entriesOf(store.usercache, userId, query))
    yield rows.filter((row) => isDue(row) && isAsked(row));
  // The entries that remain were moved to the timeseries after the first loop had read it.
  for (const [key, left] of pending) {
    if (left.size === 0) continue;
    const times = Float64Array.from(left).sort();
    const moved = { ...query, keys: [key], from: times[0]!, to: justAfter(times.at(-1)!) };
    for await (const rows of entriesOf(store.timeseries, userId, moved))
      yield rows.filter((row) => isDue(row) && isAsked(row));
  }
}

async function pendingIdentities(
  { usercache }: Store,
  userId: string,
  query: EntrySelection,
): Promise<Map<string, Set<number>>> {
  const found = new Map<string, Set<number>>();
  for await (const { metadata } of everyEntry(usercache, userId, query)) {
    const times = found.get(metadata.key) ?? new Set();
    found.set(metadata.key, times.add(metadata.write_ts));
  }
  return found;
}

async function* entriesOf(store: EntryStore, userId: string, query: EntrySelection): AsyncGenerator<ExportedEntry[]> {
  for await (const { entries, received_ts } of entryPages(store, userId, query))
    yield entries.map(({ metadata, data }, i) => ({ metadata, data, received_ts: received_ts[i]! }));
}

/** The day in the phone's time zone, else in UTC; null: the time is outside the calendar. */
function dayOf({ metadata, data }: Entry): string | null {
  const ts = dataTime(data) ?? metadata.write_ts;
  if (!(ts >= minTime && ts <= maxTime)) return null;
  return localDay(ts, isTimeZone(metadata.time_zone) ? metadata.time_zone : 'UTC');
}

export const isAmong = (day: string, { from, to }: Days): boolean =>
  (from === undefined || day >= from) && (to === undefined || day <= to);

/** The text of a FeatureCollection. `count` gets the number of trips of each month that is read. */
export async function* tripsGeoJson(
  store: Store,
  userId: string,
  days: Days,
  count: (trips: number) => void,
): AsyncGenerator<string> {
  yield '{"type":"FeatureCollection","features":[';
  let separator = '\n';
  let lastPlaces = new Set<unknown>();
  for await (const window of dayWindows(store, userId, days)) {
    const found = await readTripsOfDays(store, userId, window, { drafts: true });
    const trips = await withLabels(store, userId, [...found.values()].flat());
    count(trips.length);
    const places = new Set<unknown>();
    for (const feature of toFlatGeoJson(trips).features) {
      const isPlace = feature.properties?.feature_type === 'place';
      if (isPlace) places.add(feature.id);
      if (isPlace && lastPlaces.has(feature.id)) continue; // the month before has this place already
      yield `${separator}${JSON.stringify(feature)}`;
      separator = ',\n';
    }
    if (trips.length > 0) lastPlaces = places;
  }
  yield '\n]}\n';
}

async function* dayWindows(store: Store, userId: string, days: Days): AsyncGenerator<{ from: string; to: string }> {
  const { start_ts, end_ts } = await correctedTrips(store).summary(userId);
  if (start_ts === null || end_ts === null) return;
  const all = { from: addDays(localDay(start_ts, 'UTC'), -1), to: addDays(localDay(end_ts, 'UTC'), 1) };
  const last = days.to !== undefined && days.to < all.to ? days.to : all.to;
  let from = days.from !== undefined && days.from > all.from ? days.from : all.from;
  while (from <= last) {
    const to = addDays(from, daysAtOnce - 1);
    yield { from, to: to < last ? to : last };
    from = addDays(from, daysAtOnce);
  }
}
