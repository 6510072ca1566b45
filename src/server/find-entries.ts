// Entries of one user in order of time, from the timeseries, the usercache and the trips together, presented page by
// page.
import { type DerivedKey, derivedKeysAsked } from '../composite/derived-keys.ts';
import { type DerivedTime, derivedEntries } from '../composite/read-derived.ts';
import { present } from '../converters/convert.ts';
import type { SuggestionSettings } from '../labels/suggest.ts';
import type { Entry } from '../model/entry.ts';
import { dataTime } from '../model/entry.ts';
import { everyEntry } from '../store/pages.ts';
import type { Store } from '../store/store.ts';
import { compareTexts } from '../store/text-order.ts';
import { startSlices } from '../turns.ts';

/** Which entries, in what order, and how many. */
export interface Selection {
  /** Without keys: all. */
  keys?: readonly string[];
  /** The time that orders them. */
  time: 'write_ts' | 'ts';
  /** Half-open range of that time; a missing bound is open. */
  from?: number;
  to?: number;
  /** The time by which entries that are made of the trips are found and ordered, both ends included. */
  derived: { time: DerivedTime; from: number; to: number };
  /** How labels are suggested in them. */
  suggestions: SuggestionSettings;
  /** What else must hold. */
  matches: (entry: Entry) => boolean;
  /** At most so many entries. */
  max: number;
  /** Which of too many: the first, the last, or every n-th. */
  keep: 'first' | 'last' | 'sample';
}

/** An entry, or the news that there were more than `max`. `id`: of an entry that is made when asked. */
export type FoundEntry = { entry: Entry & { id?: string } } | { truncated: boolean };

/** Yields the selected entries, and last whether some were left out. Memory is bounded by the page. */
export async function* findEntries(store: Store, userId: string, selection: Selection): AsyncGenerator<FoundEntry> {
  const { max, keep } = selection;
  // Which entries stay hangs on how many there are: count first, unless the first ones are asked for.
  const count = keep === 'first' ? 0 : await countAll(merged(store, userId, selection));
  const skip = keep === 'last' ? Math.max(0, count - max) : 0;
  const step = keep === 'sample' ? Math.max(1, Math.ceil(count / max)) : 1;
  let index = 0;
  let given = 0;
  let truncated = false;
  for await (const entry of merged(store, userId, selection)) {
    const wanted = index >= skip && (index - skip) % step === 0;
    index += 1;
    if (wanted && given < max) {
      given += 1;
      yield { entry };
    } else {
      truncated = true;
      if (given >= max) break;
    }
  }
  yield { truncated };
}

async function countAll(entries: AsyncIterable<Entry>): Promise<number> {
  let count = 0;
  for await (const _ of entries) count += 1;
  return count;
}

/** The selected entries: those that were pushed, and those that are made of the trips, in order of time. */
async function* merged(store: Store, userId: string, selection: Selection): AsyncGenerator<Entry> {
  const { derived, time } = selection;
  const made = derivedKeysAsked(selection.keys);
  const keys = selection.keys?.filter((key) => !made.some((one: DerivedKey) => one.key === key));
  const placeOf = (entry: Entry): number => {
    const own = derived.time === 'write_ts' ? entry.metadata.write_ts : entry.data[derived.time];
    return typeof own === 'number' ? own : timeOf(entry, time);
  };
  const pushed = recorded(store, userId, { ...selection, ...(keys && { keys }) });
  const derivedOnes = derivedEntries(store, userId, made, derived, selection.suggestions);
  const slices = startSlices();
  let one = await pushed.next();
  let other = await derivedOnes.next();
  while (!one.done || !other.done) {
    const first = other.done || (!one.done && placeOf(one.value) <= placeOf(other.value));
    const entry: Entry = first ? one.value! : other.value!;
    if (selection.matches(entry)) yield entry;
    if (slices.isOver()) await slices.next();
    if (first) one = await pushed.next();
    else other = await derivedOnes.next();
  }
}

/** The pushed entries by time, key and `write_ts`; of one identity at one time the waiting one, which is newer. */
async function* recorded(
  store: Store,
  userId: string,
  selection: Pick<Selection, 'keys' | 'time' | 'from' | 'to'>,
): AsyncGenerator<Entry, undefined> {
  const { keys, time, from, to } = selection;
  if (keys?.length === 0) return;
  const query = { time, ...(keys && { keys }), ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  const stored = presented(everyEntry(store.timeseries, userId, query));
  const waiting = everyEntry(store.usercache, userId, query);
  let old = await stored.next();
  let fresh = await waiting.next();
  while (!old.done || !fresh.done) {
    const order = old.done ? 1 : fresh.done ? -1 : compare(old.value, fresh.value, selection.time);
    const entry: Entry = order < 0 ? old.value! : fresh.value!;
    yield entry;
    if (order <= 0) old = await stored.next();
    if (order >= 0) fresh = await waiting.next();
  }
}

async function* presented(entries: AsyncIterable<Entry>): AsyncGenerator<Entry, undefined> {
  for await (const entry of entries) yield present(entry);
}

function compare(a: Entry, b: Entry, time: 'write_ts' | 'ts'): number {
  if (timeOf(a, time) !== timeOf(b, time)) return timeOf(a, time) - timeOf(b, time);
  return compareTexts(a.metadata.key, b.metadata.key) || a.metadata.write_ts - b.metadata.write_ts;
}

function timeOf({ metadata, data }: Entry, time: 'write_ts' | 'ts'): number {
  return time === 'write_ts' ? metadata.write_ts : (dataTime(data) ?? 0);
}
