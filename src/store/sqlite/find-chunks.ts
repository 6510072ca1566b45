// Entries in chunks by one of their two times, some rows at a time: what `find.ts` merges over keys.
import { type ChunkPlace, comparePoints, type OrderPoint, placesIn, type TimesAsked } from '../chunks/chunk.ts';
import { earliestBeside, latestBeside } from '../chunks/edit.ts';
import { chunkStart, type FileHead, headColumns, openChunk } from './chunks.ts';
import type { StoreFile } from './file.ts';

/** A chunk, and the least and the greatest time in it. */
interface Spread extends FileHead {
  low: number;
  high: number;
}

/**
 * The next `limit` entries of a key behind `bound`, in the order of the query, or all that are left. Chunks do not
 * overlap in `write_ts`; in `ts` they may, by as much as the widest of them spans.
 */
export function placesBehind(
  file: StoreFile,
  user: number,
  key: number,
  range: TimesAsked,
  bound: OrderPoint,
  limit: number,
): ChunkPlace<FileHead>[] {
  const sign = range.descending ? -1 : 1;
  const isSpread = range.time === 'ts' && range.descending;
  let found: ChunkPlace<FileHead>[] = [];
  for (const head of headsBehind(file, user, key, range, bound.time)) {
    // No chunk from here on has an entry before this time.
    const nearest = isSpread ? latestBeside(head.low) : head.low;
    if (found.length >= limit && sign * (found[limit - 1]!.time - nearest) < 0) break;
    const places = placesIn(openChunk(file, head), range, bound, limit);
    found = found.length === 0 ? places : joined(found, places, sign).slice(0, limit);
  }
  return found;
}

/** Both lists in order; most chunks lie behind one another. */
function joined<Point extends OrderPoint>(found: Point[], more: Point[], sign: number): Point[] {
  const [last, next] = [found.at(-1), more[0]];
  const both = [...found, ...more];
  if (last === undefined || next === undefined || sign * comparePoints(last, next) <= 0) return both;
  return both.sort((a, b) => sign * comparePoints(a, b));
}

const headsAtOnce = 16;

/** Chunks that may have entries behind a time, in the order of their least time; and some that have none. */
function* headsBehind(
  file: StoreFile,
  user: number,
  key: number,
  { time, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, descending }: TimesAsked,
  start: number,
): Generator<Spread, undefined> {
  const [low, high] = time === 'ts' ? (['first_ts', 'last_ts'] as const) : (['first', 'last'] as const);
  const columns = `SELECT ${headColumns}, ${low} AS low, ${high} AS high FROM chunks WHERE user = ? AND key = ?`;
  const statement = file.sql(
    descending
      ? `${columns} AND ${low} >= ? AND ${low} <= ? AND (${low}, id) < (?, ?) ORDER BY ${low} DESC, id DESC LIMIT ${headsAtOnce}`
      : `${columns} AND ${low} < ? AND ${low} >= ? AND (${low}, id) > (?, ?) ORDER BY ${low}, id LIMIT ${headsAtOnce}`,
  );
  const firstBeside = (at: number): number => (time === 'ts' ? earliestBeside(at) : chunkStart(file, user, key, at));
  const end = descending ? firstBeside(from) : to;
  let edge = descending ? start : firstBeside(start);
  for (let id = descending ? Number.MAX_SAFE_INTEGER : -1; ; ) {
    const heads = statement.all<Spread>(user, key, end, edge, edge, id);
    for (const head of heads) if (head.high >= (descending ? from : start)) yield head;
    const last = heads.at(-1);
    if (last === undefined || heads.length < headsAtOnce) return;
    [edge, id] = [last.low, last.id];
  }
}
