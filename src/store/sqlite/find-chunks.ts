// Entries in chunks by one of their two times, some rows at a time: what `find.ts` merges over keys.
import { comparePoints, type OrderPoint } from '../chunks/chunk.ts';
import { earliestBeside, latestBeside } from '../chunks/edit.ts';
import { type ChunkRun, countOf, firstOfRuns, mergedRuns, runsIn, type TimesAsked } from '../chunks/runs.ts';
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
export function runsBehind(
  file: StoreFile,
  user: number,
  key: number,
  range: TimesAsked,
  bound: OrderPoint,
  limit: number,
): ChunkRun<FileHead>[] {
  const sign = range.descending ? -1 : 1;
  const isSpread = range.time === 'ts' && range.descending;
  let found: ChunkRun<FileHead>[] = [];
  let count = 0;
  for (const head of headsBehind(file, user, key, range, bound.time)) {
    // No chunk from here on has an entry before this time.
    const nearest = isSpread ? latestBeside(head.low) : head.low;
    if (count >= limit && sign * (lastPoint(found).time - nearest) < 0) break;
    const runs = runsIn(openChunk(file, head), range, bound, limit);
    found = found.length === 0 ? runs : joined(found, runs, sign, limit);
    count = countOf(found);
  }
  return found;
}

/** The last entry of runs, of which there is one at least. */
export function lastPoint(runs: readonly ChunkRun<FileHead>[]): OrderPoint {
  const last = runs.at(-1)!;
  return last.pointAt(last.count - 1);
}

/** The first `limit` entries of both lists, in order; most chunks lie behind one another. */
function joined(
  found: ChunkRun<FileHead>[],
  more: ChunkRun<FileHead>[],
  sign: 1 | -1,
  limit: number,
): ChunkRun<FileHead>[] {
  const next = more[0];
  if (next === undefined) return found;
  if (sign * comparePoints(lastPoint(found), next.pointAt(0)) <= 0) return firstOfRuns([...found, ...more], limit);
  return mergedRuns(found, more, sign, limit);
}

const headsAtOnce = 16;

/** Statements by the time that is asked for and the order; made once, as all statements are found by their texts. */
const statements = { ts: statementsFor('first_ts', 'last_ts'), write_ts: statementsFor('first', 'last') };

function statementsFor(low: string, high: string): { ascending: string; descending: string } {
  const columns = `SELECT ${headColumns}, ${low} AS low, ${high} AS high FROM chunks WHERE user = ? AND key = ?`;
  return {
    ascending: `${columns} AND ${low} < ? AND ${low} >= ? AND (${low}, id) > (?, ?) ORDER BY ${low}, id LIMIT ${headsAtOnce}`,
    descending: `${columns} AND ${low} >= ? AND ${low} <= ? AND (${low}, id) < (?, ?) ORDER BY ${low} DESC, id DESC LIMIT ${headsAtOnce}`,
  };
}

/** Chunks that may have entries behind a time, in the order of their least time; and some that have none. */
function* headsBehind(
  file: StoreFile,
  user: number,
  key: number,
  { time, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY, descending }: TimesAsked,
  start: number,
): Generator<Spread, undefined> {
  const statement = file.sql(statements[time][descending ? 'descending' : 'ascending']);
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
