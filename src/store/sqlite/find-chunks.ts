// Entries in chunks by one of their two times, some rows at a time: what `find.ts` merges over keys.
import type { EntryQuery } from '../store.ts';
import { type Chunk, type ChunkHead, chunkStart, firstPlace, headColumns, openChunk, widestSpan } from './chunks.ts';
import type { StoreFile } from './file.ts';

/** A point in the order of a query within one key. */
export interface OrderPoint {
  time: number;
  write_ts: number;
}

/** An entry of a chunk, found but not read. */
export interface ChunkPlace extends OrderPoint {
  head: ChunkHead;
  place: number;
}

/** A chunk, and the least and the greatest time in it. */
interface Spread extends ChunkHead {
  low: number;
  high: number;
}

/** The text of an entry, and when it was received first. Inside the snapshot that found it only. */
export function readPlace(file: StoreFile, { head, place }: ChunkPlace): { text: string; received_ts: number } {
  const chunk = openChunk(file, head);
  return { text: chunk.texts[place]!, received_ts: chunk.times.received_ts[place]! };
}

/** Which times, in which order. */
type Range = Pick<EntryQuery, 'time' | 'from' | 'to' | 'descending'>;

/**
 * The next `limit` entries of a key behind `bound`, in the order of the query, or all that are left. Chunks do not
 * overlap in `write_ts`; in `ts` they may, by as much as the widest of them spans.
 */
export function placesBehind(
  file: StoreFile,
  user: number,
  key: number,
  range: Range,
  bound: OrderPoint,
  limit: number,
): ChunkPlace[] {
  const sign = range.descending ? -1 : 1;
  const reach = range.time === 'ts' && range.descending ? widestSpan : 0;
  let found: ChunkPlace[] = [];
  for (const head of headsBehind(file, user, key, range, bound.time)) {
    // No chunk from here on has an entry before this time.
    const nearest = head.low + reach;
    if (found.length >= limit && sign * (found[limit - 1]!.time - nearest) < 0) break;
    const places = placesIn(openChunk(file, head), range, bound, limit);
    found = [...found, ...places].sort((a, b) => sign * comparePoints(a, b)).slice(0, limit);
  }
  return found;
}

const headsAtOnce = 16;

/** Chunks that may have entries behind a time, in the order of their least time; and some that have none. */
function* headsBehind(
  file: StoreFile,
  user: number,
  key: number,
  { time, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, descending }: Range,
  start: number,
): Generator<Spread, undefined> {
  const [low, high] = time === 'ts' ? (['first_ts', 'last_ts'] as const) : (['first', 'last'] as const);
  const columns = `SELECT ${headColumns}, ${low} AS low, ${high} AS high FROM chunks WHERE user = ? AND key = ?`;
  const statement = file.sql(
    descending
      ? `${columns} AND ${low} >= ? AND ${low} <= ? AND (${low}, id) < (?, ?) ORDER BY ${low} DESC, id DESC LIMIT ${headsAtOnce}`
      : `${columns} AND ${low} < ? AND ${low} >= ? AND (${low}, id) > (?, ?) ORDER BY ${low}, id LIMIT ${headsAtOnce}`,
  );
  const reach = time === 'ts' ? widestSpan : 0;
  const end = descending ? (time === 'ts' ? from - reach : chunkStart(file, user, key, from)) : to;
  let edge = descending ? start : time === 'ts' ? start - reach : chunkStart(file, user, key, start);
  for (let id = descending ? Number.MAX_SAFE_INTEGER : -1; ; ) {
    const heads = statement.all<Spread>(user, key, end, edge, edge, id);
    for (const head of heads) if (head.high >= (descending ? from : start)) yield head;
    const last = heads.at(-1);
    if (last === undefined || heads.length < headsAtOnce) return;
    [edge, id] = [last.low, last.id];
  }
}

/** The next entries of one chunk. */
function placesIn(chunk: Chunk, { time, from, to, descending }: Range, bound: OrderPoint, limit: number): ChunkPlace[] {
  const { head, times } = chunk;
  const { write_ts } = times;
  const order = time === 'ts' ? chunk.byTs : null;
  const count = order?.length ?? write_ts.length;
  const pointAt = (i: number): ChunkPlace => {
    const place = order === null ? i : order[i]!;
    return { head, place, time: times[time][place]!, write_ts: write_ts[place]! };
  };
  const places: ChunkPlace[] = [];
  const step = descending ? -1 : 1;
  let i = descending
    ? firstPlace(count, (at) => comparePoints(pointAt(at), bound) >= 0) - 1
    : firstPlace(count, (at) => comparePoints(pointAt(at), bound) > 0);
  for (; i >= 0 && i < count && places.length < limit; i += step) {
    const point = pointAt(i);
    if (descending ? from !== undefined && point.time < from : to !== undefined && point.time >= to) break;
    places.push(point);
  }
  return places;
}

/** Negative when `a` comes first, ascending. */
export function comparePoints(a: OrderPoint, b: OrderPoint): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  return a.write_ts === b.write_ts ? 0 : a.write_ts < b.write_ts ? -1 : 1;
}
