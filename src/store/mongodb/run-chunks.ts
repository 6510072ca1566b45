// The timeseries of a run of the pipeline: the newest chunk of each key, read once and kept as the run changes it, and
// the chunks of the last days.
import type { Entry } from '../../model/entry.ts';
import { unescapeText } from '../../model/json-text.ts';
import { affectsOf, keyTable } from '../../model/keys.ts';
import type { TimeRange } from '../../model/time.ts';
import { type Collector, PickedEntries, WholeEntries } from '../chunks/collect.ts';
import { earliestBeside } from '../chunks/edit.ts';
import { united } from '../marks.ts';
import type { EntryCursor, EntryQuery, PickQuery, Timeseries, ZoneSighting } from '../store.ts';
import { applyOn } from './apply.ts';
import { type EditedChunks, openChunk, openChunks, type RowChunk, type TimesByKey } from './chunk-rows.ts';
import type { Connection } from './connection.ts';
import { collectFrom } from './find-chunks.ts';
import { fold } from './fold.ts';
import { rowIdentity } from './identities.ts';
import { nearestZone } from './timeseries.ts';
import type { RunTransactions } from './under-lease.ts';
import type { ChunkDocument, UserRows } from './user-rows.ts';

/** Chunks kept at most of each kind: some days of a phone. What is more is read when it is asked for. */
const mostChunks = 64;

/** Characters of their texts: some keys may have entries of many MiB. */
const mostCharacters = 16 * 2 ** 20;

/** A query for fewer entries asks whether there are any, and is no reason to read days. */
const leastLimit = 100;

/** What runs read by data time. */
const keysOfRuns = keyTable.map(({ key }) => key).filter((key) => ['trips', 'documents'].includes(affectsOf(key)!));

/** All chunks that have entries of `keysOfRuns` from a data time on. */
interface Tail {
  from: number;
  chunks: RowChunk[];
}

/** The newest chunk of each key, by key in the form of rows. What was written before it begins lies in other chunks. */
type Newest = Map<string, RowChunk>;

/** The timeseries for one run. `base` does what is not answered from memory. */
export function timeseriesOfRun(
  connection: Connection,
  base: Timeseries,
  run: RunTransactions,
  userId: string,
): Timeseries {
  let newest: Newest | 'too many' | null = null;
  let tail: Tail | 'too long' | null = null;
  const forget = (): void => {
    newest = null;
    tail = null;
  };
  const newestChunks = async (): Promise<Newest | null> => {
    if (newest === null) {
      await fold(connection, userId);
      newest = await connection.reading(userId, readNewest);
    }
    return newest === 'too many' ? null : newest;
  };
  const loadTail = async (from: number): Promise<Tail | 'too long'> => {
    await fold(connection, userId);
    return connection.reading(userId, (rows) => readTail(rows, from));
  };
  /** Where the next page begins; null where the chunks in memory do not tell. */
  const collectPage = async (
    user: string,
    query: PickQuery,
    into: Collector,
  ): Promise<{ next: EntryCursor | null } | null> => {
    if (user !== userId || !isOfRuns(query)) return null;
    const whole = newest === null || newest === 'too many' ? null : allChunksOf(newest, query.keys!);
    if (whole !== null) return collectFrom(among(whole, query), query, null, into);
    const from = query.from ?? -Number.MAX_VALUE;
    if (tail === null && query.limit >= leastLimit) tail = await loadTail(from);
    if (tail === null || tail === 'too long' || from < tail.from) return null;
    return collectFrom(among(tail.chunks, query), query, null, into);
  };
  const apply = applyOn(connection, {
    underLease: run.underLease,
    known: (times) => (newest === null || newest === 'too many' ? null : chunksKnown(newest, times)),
    async changed(edited) {
      tail = null;
      if (newest === null || newest === 'too many') return;
      newest = await connection.reading(userId, (rows) => afterEdit(rows, newest as Newest, edited));
    },
  });
  return {
    ...base,
    async apply(user, change, lease) {
      if (user !== userId) return base.apply(user, change, lease);
      await newestChunks();
      await run.flushState();
      try {
        return await apply(user, change, lease);
      } catch (error) {
        forget(); // some of it may be stored
        throw error;
      }
    },
    async find(user, query) {
      const into = new WholeEntries();
      const page = await collectPage(user, query, into);
      if (page === null) return base.find(user, query);
      return { entries: into.entries, received_ts: into.received_ts, next: page.next };
    },
    async pick(user, query, fields, read) {
      const into = new PickedEntries(fields, read);
      const page = await collectPage(user, query, into);
      return page === null ? base.pick(user, query, fields, read) : { picked: into.picked, next: page.next };
    },
    async get(user, identity) {
      const { key, write_ts } = rowIdentity(identity);
      const known = user === userId ? await newestChunks() : null;
      const chunk = known?.get(key);
      if (known === null || (chunk !== undefined && write_ts < chunk.head.from)) return base.get(user, identity);
      const place = chunk?.placeAt(write_ts) ?? -1;
      return chunk?.times.write_ts[place] === write_ts ? (JSON.parse(chunk.texts[place]!) as Entry) : null;
    },
    async ahead(user, page) {
      const known = user === userId ? await newestChunks() : null;
      const none =
        known !== null && isComplete(known, page.at) && [...known.values()].every((one) => endOf(one) <= page.at);
      return none ? [] : base.ahead(user, page);
    },
    async zonesAround(user, writeTs) {
      const known = user === userId ? await newestChunks() : null;
      return (known && zonesKnown(known, writeTs)) ?? base.zonesAround(user, writeTs);
    },
    async zonelessSpan(user, written) {
      const known = user === userId ? await newestChunks() : null;
      const ofTrips = known && [...known].filter(([key]) => affectsOf(unescapeText(key)) === 'trips');
      if (ofTrips === null || !isComplete(new Map(ofTrips), written.from)) return base.zonelessSpan(user, written);
      return ofTrips.reduce<TimeRange | null>((span, [, chunk]) => united(span, chunk.zonelessIn(written)), null);
    },
  };
}

// ---------------------------------------------------------------- the newest chunks

async function readNewest(from: UserRows): Promise<Newest | 'too many'> {
  const chunks = from.rows('chunks');
  const keys = await chunks.distinct('key');
  if (keys.length > mostChunks) return 'too many';
  if (keys.length === 0) return new Map();
  const filter = { key: { $in: keys }, until: Number.POSITIVE_INFINITY };
  const documents = await readFew(chunks.find(filter, { hint: 'identity' }));
  return documents === null ? 'too many' : openEach(from, documents);
}

/** All that a cursor gives; null where that is more than is kept. */
async function readFew(found: AsyncIterable<ChunkDocument>): Promise<ChunkDocument[] | null> {
  const documents: ChunkDocument[] = [];
  let characters = 0;
  for await (const document of found) {
    characters += document.size;
    if (documents.push(document) > mostChunks || characters > mostCharacters) return null;
  }
  return documents;
}

/** Also those that are empty: they say from when on there is nothing. */
async function openEach(from: UserRows, documents: readonly ChunkDocument[]): Promise<Newest> {
  const newest: Newest = new Map();
  for (const document of documents) {
    newest.set(document.key, await openChunk(from, document));
  }
  return newest;
}

/** How they are after an edit; null where that is not known without reading. */
async function afterEdit(from: UserRows, newest: Newest, edited: EditedChunks): Promise<Newest | 'too many' | null> {
  if (edited.emptied.size > 0) return null;
  const heads = new Map([...newest].map(([key, { head }]) => [key, head]));
  for (const [key, head] of edited.newest) heads.set(key, head);
  const characters = [...heads.values()].reduce((sum, { size }) => sum + size, 0);
  if (heads.size > mostChunks || characters > mostCharacters) return 'too many';
  return new Map([...newest, ...(await openEach(from, [...edited.newest.values()]))]);
}

/** Whether whatever was written from `writeTs` on lies in them. */
function isComplete(newest: Newest, writeTs: number): boolean {
  return [...newest.values()].every(({ head }) => head.from <= writeTs);
}

function endOf({ head: { count, last } }: RowChunk): number {
  return count === 0 ? Number.NEGATIVE_INFINITY : last;
}

/** The chunks around the times, for who changes them; null if another one is among them. */
function chunksKnown(newest: Newest, times: TimesByKey): Map<string, ChunkDocument[]> | null {
  const found = new Map<string, ChunkDocument[]>();
  for (const [key, own] of times) {
    const chunk = newest.get(key);
    if (chunk !== undefined && own[0]! < chunk.head.from) return null;
    found.set(key, chunk === undefined ? [] : [chunk.head]);
  }
  return found;
}

/** See `zonesAround`; null where older chunks may have a nearer one. */
function zonesKnown(
  newest: Newest,
  writeTs: number,
): { before: ZoneSighting | null; after: ZoneSighting | null } | null {
  const chunks = [...newest.values()].filter(({ head }) => head.count > 0);
  const before = nearestZone(chunks, writeTs, -1);
  const isKnown = isComplete(newest, Math.min(writeTs, before?.write_ts ?? Number.NEGATIVE_INFINITY));
  return isKnown ? { before, after: nearestZone(chunks, writeTs, 1) } : null;
}

// ---------------------------------------------------------------- the last days

/** All chunks of these keys, where none has more than its newest; else null. */
function allChunksOf(newest: Newest, keys: readonly string[]): RowChunk[] | null {
  const chunks = [...new Set(keys)].flatMap((key) => newest.get(key) ?? []);
  return chunks.every(({ head }) => head.from === Number.NEGATIVE_INFINITY) ? chunks : null;
}

async function readTail(rows: UserRows, from: number): Promise<Tail | 'too long'> {
  const filter = { key: { $in: keysOfRuns }, first_ts: { $gte: earliestBeside(from) }, last_ts: { $gte: from } };
  const options = { sort: { first_ts: 1 }, limit: mostChunks + 1, hint: 'first_ts' } as const;
  const documents = await readFew(rows.rows('chunks').find(filter, options));
  return documents === null ? 'too long' : { from, chunks: await openChunks(rows, documents) };
}

function isOfRuns({ time, descending, keys, limit }: EntryQuery): boolean {
  return time === 'ts' && !descending && limit > 0 && keys?.every((key) => keysOfRuns.includes(key)) === true;
}

/** Those of the chunks that may have entries of the query. */
function among(chunks: readonly RowChunk[], query: EntryQuery): RowChunk[] {
  const { keys, from = -Number.MAX_VALUE, to = Number.MAX_VALUE } = query;
  const isAmong = ({ key, count, first_ts, last_ts }: ChunkDocument): boolean =>
    count > 0 && keys!.includes(key) && last_ts !== null && last_ts >= from && first_ts! <= to;
  return chunks.filter(({ head }) => isAmong(head));
}
