import { unionOf } from '../../model/dirty-range.ts';
import { compareTexts } from '../../model/text-order.ts';
import { justAfter, type TimeRange, zoneNamed } from '../../model/time.ts';
import type { ZoneSighting } from '../../model/trip.ts';
import { addToList } from '../../util/add-to-list.ts';
import { chunkDay, chunkSpan, type StoredEntries } from '../chunks/chunk.ts';
import { splitFacts } from '../chunks/chunk-facts.ts';
import { spanOf } from '../chunks/pack.ts';
import type { Engine, Query, Rows, Where } from '../rows/rows.ts';
import { readColumn } from '../rows/sums.ts';
import { accounts, type ChunkRow, chunks } from '../rows/tables.ts';
import type { ChunkFacts, EntryQuery, Timeseries } from '../store.ts';
import { underLease } from './accounts.ts';
import { type ChunkCache, type Head, headColumns, type UserRows } from './chunk-cache.ts';
import { removeOld } from './edit-chunks.ts';
import { type PagePart, pageFor, rangeOf, readPage, spanColumns } from './find.ts';

export function timeseries(engine: Engine, cache: ChunkCache): Timeseries {
  return {
    find: async (userId, query) =>
      pageFor(await engine.read((rows) => readPage(chunkParts({ rows, cache, user: userId }, query), query))),
    facts: (userId, query) => engine.read((rows) => readFacts(rows, userId, query)),
    summary: (userId) =>
      engine.read(async (rows) => {
        const columns = ['key', 'count', 'first_ts', 'last_ts'] as const;
        const found = await rows.find(chunks, { where: { user: userId } }, columns);
        const byKey = new Map<string, typeof found>();
        for (const head of found) addToList(byKey, head.key, head);
        return [...byKey.keys()].sort(compareTexts).map((key) => {
          const heads = byKey.get(key)!;
          const count = heads.reduce((sum, head) => sum + head.count, 0);
          return { key, count, ...spanOf(heads.flatMap(({ first_ts, last_ts }) => [first_ts, last_ts])) };
        });
      }),
    zonesAround: (userId, writeTs) => engine.read((rows) => zonesAround({ rows, cache, user: userId }, writeTs)),
    remove: async (userId, old, lease) => {
      let removed = 0;
      for (let part = -1; part !== 0; removed += part) {
        part = await engine.write(userId, async (rows) => {
          await underLease(rows, userId, lease);
          return removeOld({ rows, cache, user: userId }, old);
        });
      }
      cache.forget(userId);
      return removed;
    },
  };
}

/** A query opens a chunk for each 500 entries of its limit in one call, at most 8 chunks. */
const entriesAhead = 500;
const mostAhead = 8;

async function* chunkParts(own: UserRows, query: EntryQuery, which?: Where<ChunkRow>): AsyncGenerator<PagePart> {
  const { rows, cache, user } = own;
  const [low, high] = spanColumns[query.time];
  const ahead = Math.min(mostAhead, Math.ceil(query.limit / entriesAhead));
  const { within } = query;
  // A query without bounds reads a history once. Caching it would drop chunks that phones need.
  const isBulk = query.from === undefined && query.to === undefined;
  for await (const heads of headPages(rows, user, query, which)) {
    const isWanted = (head: Head): boolean =>
      within === undefined || within.some(({ from, to }) => head[high]! >= from && head[low]! < to);
    const wanted = heads.filter(isWanted);
    for (let i = 0; i < wanted.length; i += ahead) {
      const group = wanted.slice(i, i + ahead);
      let opened: Promise<StoredEntries[]> | null = null;
      for (const [n, head] of group.entries()) {
        const load = async (): Promise<StoredEntries> => {
          opened ??= cache.open(rows, group, query.fields, isBulk);
          return (await opened)[n]!;
        };
        yield { from: head[low]!, to: head[high]!, load };
      }
    }
  }
}

type FactsQuery = Parameters<Timeseries['facts']>[1];

/** If a range has so many chunks, `facts` returns null. A month of locations has about 70. */
const mostFactual = 512;

async function readFacts(rows: Rows, user: string, query: FactsQuery): Promise<ChunkFacts[] | null> {
  const { time, keys, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = query;
  const [low, high] = spanColumns[time];
  const key = keys && { in: keys };
  const where = { user, key, [low]: { gte: from - longest(time, from), lte: to }, [high]: { gte: from } };
  const found = await rows.find(chunks, { where, order: [low], limit: mostFactual });
  if (found.length === mostFactual) return null;
  const facts = found.map((row) => readColumn(chunks, row, 'entries', () => splitFacts(row.entries).facts()));
  return facts.every((one) => one !== null) ? facts : null;
}

const headsAtOnce = 200; // heads of chunks that one statement reads
const headsOfShortPage = 64; // heads that the first statement reads for a small `limit`: two months of one key

/**
 * Yields heads of chunks in the range of the query, in ascending order of their first time, or in
 * descending order of their last time. One index serves both, as a chunk spans a limited time.
 */
async function* headPages(rows: Rows, user: string, query: EntryQuery, which = {}): AsyncGenerator<Head[]> {
  const { time, keys, descending = false } = query;
  const [low, high] = spanColumns[time];
  const { from, to } = rangeOf(query);
  const ofKeys = keys && { key: { in: [...new Set(keys)] } };
  const bound = { from: from - longest(time, from), to };
  const pending: Head[] = [];
  for (let limit = query.limit < entriesAhead ? headsOfShortPage : headsAtOnce; ; ) {
    const where = { user, ...ofKeys, ...which, [low]: { gte: bound.from, lte: bound.to }, [high]: { gte: from } };
    const order = [descending ? `-${low}` : low] as Query<ChunkRow>['order'];
    const heads = await rows.find(chunks, { where, order: order!, limit }, headColumns);
    const edge = heads.at(-1)?.[low];
    const isLast = heads.length < limit;
    // More chunks may begin at the time of the last head. The next statement reads all of them.
    const complete = isLast ? heads : heads.filter((head) => head[low] !== edge);
    if (complete.length === 0 && !isLast) {
      limit *= 2;
      continue;
    }
    if (!descending) yield complete;
    else {
      pending.push(...complete);
      pending.sort((a, b) => b[high]! - a[high]!);
      const until = isLast ? Number.NEGATIVE_INFINITY : edge! + longest(time, edge!);
      const ready = pending.findIndex((head) => head[high]! < until);
      yield pending.splice(0, ready < 0 ? pending.length : ready);
    }
    if (isLast) return;
    limit = Math.max(limit, headsAtOnce);
    if (descending) bound.to = edge!;
    else bound.from = edge!;
  }
}

/** s; the longest time that a chunk spans, plus the rounding error of doubles near `at`. */
function longest(time: EntryQuery['time'], at: number): number {
  return (time === 'ts' ? chunkSpan : chunkDay) + (Number.isFinite(at) ? Math.abs(at) * 2 ** -48 : 0);
}

/** See `Timeseries.zonesAround`. Reads no chunk if no entry of the user ever named a zone. */
export async function zonesAround(own: UserRows, writeTs: number): ReturnType<Timeseries['zonesAround']> {
  const [account] = await own.rows.find(accounts, { where: { user: own.user } }, ['zoned']);
  if (!account?.zoned) return { before: null, after: null };
  const beyond = justAfter(writeTs);
  const before = await firstZone(own, { to: beyond, descending: true });
  return { before, after: await firstZone(own, { from: beyond }) };
}

/** Finds the first zone named in a range (descending: the last). Of several at one time, the first key counts. */
async function firstZone(own: UserRows, range: Partial<EntryQuery>): Promise<ZoneSighting | null> {
  let best: ZoneSighting | null = null;
  const query: EntryQuery = { time: 'write_ts', limit: 1, ...range };
  for (; ; query.limit = entriesAhead) {
    const page = await readPage(chunkParts(own, query, { zoned: { gt: 0 } }), query);
    for (const { entry, write_ts } of page.found) {
      if (best !== null && write_ts !== best.write_ts) return best;
      const zone = zoneNamed(entry);
      if (zone !== null && (best === null || range.descending)) best = { write_ts, zone };
    }
    if (page.next === null) return best;
    query.after = page.next;
  }
}

/** Returns the span of data times of all chunks with `zoneless` entries written in the range. */
export async function zonelessSpan({ rows, user }: UserRows, written: TimeRange): Promise<TimeRange | null> {
  const first = { gte: Math.floor(written.from / chunkDay) * chunkDay, lte: written.to };
  const where = { user, zoneless: { gt: 0 }, first, last: { gte: written.from } };
  let span: TimeRange | null = null;
  for (const { first_ts, last_ts } of await rows.find(chunks, { where }, ['first_ts', 'last_ts'])) {
    if (first_ts !== null && last_ts !== null) span = unionOf(span, { from: first_ts, to: last_ts });
  }
  return span;
}
