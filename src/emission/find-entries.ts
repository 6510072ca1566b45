import { present } from '../intake/converters/convert.ts';
import { dataTime, type Entry, type Identity } from '../model/entry.ts';
import { compareTexts } from '../model/text-order.ts';
import { justAfter } from '../model/time.ts';
import { type EntrySelection, entryPages, everyEntry } from '../store/paging.ts';
import type { EntryCursor, Store } from '../store/store.ts';
import { startSlices } from '../util/slices.ts';
import { selectDerivedKeys } from './derived-keys.ts';
import { type DerivedTime, derivedEntries, timeIn } from './read-derived.ts';

export interface Selection {
  keys?: readonly string[]; // default: all keys
  time: DerivedTime; // the time by which entries are found and ordered
  from: number; // bounds of this time, both included
  to: number;
  max: number; // the maximum number of entries to return
  keep: 'first' | 'last' | 'sample';
}

/** The last item is `truncated`: true if entries were left out. */
export type FoundEntry = { entry: Entry & { id?: string } } | { truncated: boolean };

export async function* findEntries(store: Store, userId: string, selection: Selection): AsyncGenerator<FoundEntry> {
  const { max, keep } = selection;
  let within = selection;
  if (keep === 'last') within = { ...selection, from: await startOfLast(store, userId, selection) };
  // Counts the entries first, so that memory does not grow with their number.
  const counted = async () => {
    let count = 0;
    for await (const _ of merged(store, userId, within)) count += 1;
    return count;
  };
  let count = keep === 'first' ? 0 : await counted();
  if (count <= max && within.from > selection.from) {
    within = selection; // entries were removed since `startOfLast`: search the whole range
    count = await counted();
  }
  const skip = keep === 'last' ? Math.max(0, count - max) : 0;
  const step = keep === 'sample' ? Math.max(1, Math.ceil(count / max)) : 1;
  let [index, given] = [0, 0];
  for await (const entry of merged(store, userId, within)) {
    index += 1;
    if (given === max) break;
    if (index <= skip || (index - skip - 1) % step !== 0) continue;
    given += 1;
    yield { entry };
  }
  yield { truncated: given < index };
}

/**
 * Returns a time after which the timeseries has more than `max` entries, so that the last entries
 * are found without reading the whole history. Returns `selection.from` if it finds no such time.
 */
async function startOfLast(store: Store, userId: string, selection: Selection): Promise<number> {
  const { keys, time, from, to, max } = selection;
  if (time !== 'write_ts' && time !== 'ts') return from;
  const query = {
    time,
    from,
    to: justAfter(to),
    ...(keys && { keys }),
    descending: true,
    limit: Math.min(max + 1, 500),
  };
  let [start, count] = [to, 0];
  for await (const entry of everyEntry(store.timeseries, userId, query)) {
    const ts = timeIn(present(entry), time);
    if (!(ts >= from && ts <= to)) continue;
    start = Math.min(start, ts, timeOf(entry, time));
    count += 1;
    if (count > max) return start;
  }
  return from;
}

async function* merged(store: Store, userId: string, selection: Selection): AsyncGenerator<Entry> {
  const { keys, time, from, to } = selection;
  const made = selectDerivedKeys(keys);
  const others = keys?.filter((key) => !made.some((derivedKey) => derivedKey.key === key));
  // The store searches by `write_ts` and `ts` only. For other times, all entries are read.
  const range = time === 'write_ts' || time === 'ts' ? { from, to: justAfter(to) } : {};
  const query: Query = { time: time === 'write_ts' ? time : 'ts', ...range, ...(others && { keys: others }) };
  const pushed = pushedEntries(store, userId, query);
  const fromTrips = derivedEntries(store, userId, made, { time, from, to }, true);
  const positionOf = (entry: Entry): number => {
    const place = timeIn(entry, time);
    return Number.isNaN(place) ? timeOf(entry, query.time) : place;
  };
  const slices = startSlices();
  let [a, b] = [await pushed.next(), await fromTrips.next()];
  while (!a.done || !b.done) {
    const isPushed = b.done || (!a.done && positionOf(a.value) <= positionOf(b.value));
    const entry: Entry = isPushed ? a.value! : b.value!;
    const ts = timeIn(entry, time);
    if (ts >= from && ts <= to) yield entry;
    if (slices.isOver()) await slices.next();
    if (isPushed) a = await pushed.next();
    else b = await fromTrips.next();
  }
}

type Query = Omit<EntrySelection, 'after'>;

/**
 * Yields the pushed entries in order of time, key and `write_ts`. A pending entry replaces a stored
 * entry of the same identity and time. A run may move entries during the call, so each part of the
 * usercache is read before the same part of the timeseries.
 */
async function* pushedEntries(store: Store, userId: string, query: Query): AsyncGenerator<Entry, undefined> {
  if (query.keys?.length === 0) return;
  let reached: EntryCursor | null = null;
  for await (const pending of entryPages(store.usercache, userId, query)) {
    const stored = storedWithin(store, userId, query, reached, pending.next);
    yield* inOrder(stored, pending.entries, query.time);
    reached = pending.next;
  }
}

/** Yields stored entries after `after`, up to and including `until`. A bound of null is ignored. */
async function* storedWithin(
  { timeseries }: Store,
  userId: string,
  query: Query,
  after: EntryCursor | null,
  until: EntryCursor | null,
): AsyncGenerator<Entry, undefined> {
  const range = { ...query, ...(after && { after }), ...(until && { to: justAfter(until.time) }) };
  for await (const entry of everyEntry(timeseries, userId, range)) {
    const isBeyond = until !== null && timeOf(entry, query.time) >= until.time;
    if (isBeyond && compareIdentities(entry.metadata, until) > 0) return;
    yield present(entry);
  }
}

/** Merges by time. If two entries have equal time, key and `write_ts`, yields the pending entry. */
async function* inOrder(
  stored: AsyncGenerator<Entry, undefined>,
  pending: readonly Entry[],
  time: Query['time'],
): AsyncGenerator<Entry, undefined> {
  let i = 0;
  for await (const old of stored) {
    while (i < pending.length && compare(pending[i]!, old, time) < 0) yield pending[i++]!;
    if (i === pending.length || compare(pending[i]!, old, time) > 0) yield old;
  }
  yield* pending.slice(i);
}

function compare(a: Entry, b: Entry, time: Query['time']): number {
  return timeOf(a, time) - timeOf(b, time) || compareIdentities(a.metadata, b.metadata);
}

function compareIdentities(a: Identity, b: Identity): number {
  return compareTexts(a.key, b.key) || a.write_ts - b.write_ts;
}

function timeOf({ metadata, data }: Entry, time: Query['time']): number {
  return time === 'write_ts' ? metadata.write_ts : (dataTime(data) ?? 0);
}
