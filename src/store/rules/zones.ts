// The time zones that entries name, and the entries that name none.

import { united } from '../../model/marks.ts';
import { compareTexts } from '../../model/text-order.ts';
import { type TimeRange, zoneNamed } from '../../model/time.ts';
import { chunkDay, type StoredEntries } from '../chunks/chunk.ts';
import type { Rows } from '../rows/rows.ts';
import { accounts, chunks } from '../rows/tables.ts';
import type { ZoneSighting } from '../store.ts';
import type { ChunkCache, ChunkHead } from './chunk-cache.ts';

type Side = 'before' | 'after';

/** See `Timeseries.zonesAround`. Nothing is looked for of a user whose entries never named a zone. */
export async function zonesAround(
  rows: Rows,
  cache: ChunkCache,
  user: string,
  writeTs: number,
): Promise<Record<Side, ZoneSighting | null>> {
  const [account] = await rows.find(accounts, { where: { user } }, ['zoned']);
  if (!account?.zoned) return { before: null, after: null };
  return {
    before: await nearest(rows, cache, user, writeTs, 'before'),
    after: await nearest(rows, cache, user, writeTs, 'after'),
  };
}

const headColumns = ['user', 'key', 'first', 'last', 'sum'] as const;
type Head = ChunkHead & { last: number };

/** Chunks looked at in one call: those of all keys of a day or two. */
const headsAtOnce = 32;

async function nearest(
  rows: Rows,
  cache: ChunkCache,
  user: string,
  writeTs: number,
  side: Side,
): Promise<ZoneSighting | null> {
  const isBefore = side === 'before';
  let best: Sighting | null = null;
  // A chunk ends with its UTC day, so that first times tell which chunks can hold a nearer entry.
  let edge = isBefore ? writeTs : dayStart(writeTs);
  for (let limit = headsAtOnce; ; limit *= 2) {
    const first = isBefore ? { lte: edge } : { gte: edge };
    const where = { user, zoned: { gt: 0 }, first, ...(!isBefore && { last: { gt: writeTs } }) };
    const order = [isBefore ? '-first' : 'first', 'key'] as ('first' | 'key')[];
    const heads: Head[] = await rows.find(chunks, { where, order, limit }, headColumns);
    for (const head of heads) {
      if (best !== null && (isBefore ? head.last < best.write_ts : head.first > best.write_ts)) continue;
      const [entries] = await cache.open(rows, [head]);
      const found = nearestIn(entries!, head.key, writeTs, isBefore);
      if (found !== null && isNearer(found, best, isBefore)) best = found;
    }
    if (heads.length < limit) break;
    edge = heads.at(-1)!.first;
    if (best !== null && (isBefore ? dayStart(edge) + chunkDay <= best.write_ts : edge > best.write_ts)) break;
  }
  return best && { write_ts: best.write_ts, zone: best.zone };
}

interface Sighting extends ZoneSighting {
  key: string;
}

const dayStart = (writeTs: number): number => Math.floor(writeTs / chunkDay) * chunkDay;

function nearestIn({ list }: StoredEntries, key: string, writeTs: number, isBefore: boolean): Sighting | null {
  let best: Sighting | null = null;
  for (const { write_ts, entry } of list) {
    if (isBefore ? write_ts > writeTs : write_ts <= writeTs || best !== null) continue;
    const zone = zoneNamed(entry);
    if (zone !== null) best = { write_ts, zone, key };
  }
  return best;
}

function isNearer(found: Sighting, best: Sighting | null, isBefore: boolean): boolean {
  if (best === null) return true;
  if (found.write_ts === best.write_ts) return compareTexts(found.key, best.key) < 0;
  return isBefore ? found.write_ts > best.write_ts : found.write_ts < best.write_ts;
}

/**
 * The span of data times around entries without a valid zone that affect trips, `write_ts` in `written`; null if none.
 */
export async function zonelessSpan(rows: Rows, user: string, written: TimeRange): Promise<TimeRange | null> {
  const first = { gte: dayStart(written.from), lte: written.to };
  const where = { user, zoneless: { gt: 0 }, first, last: { gte: written.from } };
  let span: TimeRange | null = null;
  for (const { first_ts, last_ts } of await rows.find(chunks, { where }, ['first_ts', 'last_ts'])) {
    if (first_ts !== null && last_ts !== null) span = united(span, { from: first_ts, to: last_ts });
  }
  return span;
}
