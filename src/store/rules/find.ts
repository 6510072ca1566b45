// Finds entries by data time or `write_ts`, part by part. Opens chunks or batches in order of time,
// and only as many as a part needs.
import { compareTexts } from '../../model/text-order.ts';
import type { StoredEntries, StoredEntry } from '../chunks/chunk.ts';
import type { EntryCursor, EntryPage, EntryQuery } from '../store.ts';

/** A chunk or batch that a query may have to open. */
export interface PagePart {
  /** The smallest and largest time of the entries. */
  from: number;
  to: number;
  load(): Promise<StoredEntries>;
}

/** Characters of JSON. A page ends before its limit of entries if the parts read for it have more than this. */
const pageSize = 16 * 2 ** 20;

interface StoredPage {
  found: StoredEntry[];
  next: EntryCursor | null;
}

/** Returns the range of times that a query can still find, both ends included. */
export function rangeOf({ from, to, after, descending = false }: EntryQuery): { from: number; to: number } {
  const range = { from: from ?? Number.NEGATIVE_INFINITY, to: to ?? Number.POSITIVE_INFINITY };
  if (after === undefined) return range;
  if (descending) range.to = Math.min(range.to, after.time);
  else range.from = Math.max(range.from, after.time);
  return range;
}

/** The columns with the first and last time of a chunk or batch. */
export const spanColumns = { ts: ['first_ts', 'last_ts'], write_ts: ['first', 'last'] } as const;

/** Needs the parts in order of `from`, or for a descending query in descending order of `to`. */
export async function readPage(parts: AsyncIterable<PagePart>, query: EntryQuery): Promise<StoredPage> {
  const { descending = false } = query;
  const order = orderOf(query);
  const matches = matcherOf(query);
  const timeOf = query.time === 'ts' ? (one: StoredEntry) => one.ts! : (one: StoredEntry) => one.write_ts;
  const found: StoredEntry[] = [];
  let { limit } = query;
  let size = 0;
  for await (const part of parts) {
    const beyond = found[limit];
    if (beyond !== undefined && (descending ? part.to < timeOf(beyond) : part.from > timeOf(beyond))) break;
    const entries = await part.load();
    for (const one of entries.list) if (matches(one)) found.push(one);
    size += entries.size;
    if (size > pageSize) limit = Math.max(1, Math.min(limit, found.length));
    if (found.length > limit) found.sort(order).length = limit + 1;
  }
  if (found.length <= limit) return { found: found.sort(order), next: null };
  found.length = limit;
  const last = found.at(-1)!;
  return { found, next: { time: timeOf(last), key: last.entry.metadata.key, write_ts: last.write_ts } };
}

export function pageFor({ found, next }: StoredPage): EntryPage {
  return { entries: found.map(({ entry }) => entry), received_ts: found.map((one) => one.received_ts), next };
}

type Order = (a: StoredEntry, b: StoredEntry) => number;

function compare(one: StoredEntry, time: number, other: EntryCursor): number {
  return time - other.time || compareTexts(one.entry.metadata.key, other.key) || one.write_ts - other.write_ts;
}

function orderOf({ time, descending }: EntryQuery): Order {
  const order: Order = (a, b) =>
    a[time]! - b[time]! || compareTexts(a.entry.metadata.key, b.entry.metadata.key) || a.write_ts - b.write_ts;
  return descending ? (a, b) => order(b, a) : order;
}

function matcherOf(query: EntryQuery): (one: StoredEntry) => boolean {
  const { time, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, after, within, descending } = query;
  const keys = query.keys && new Set(query.keys);
  return (one) => {
    const at = one[time];
    if (at === null || at < from || at >= to) return false;
    if (keys !== undefined && !keys.has(one.entry.metadata.key)) return false;
    if (within !== undefined && !within.some((range) => at >= range.from && at < range.to)) return false;
    return after === undefined || (descending ? compare(one, at, after) < 0 : compare(one, at, after) > 0);
  };
}
