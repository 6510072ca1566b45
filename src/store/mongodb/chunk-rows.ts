// Chunks of the timeseries as rows of a collection: how they are found, read and rewritten.
import { type AnyBulkWriteOperation, Binary, type Document, ObjectId } from 'mongodb';
import { MobilityError } from '../../model/errors.ts';
import { escapeText } from '../../model/json-text.ts';
import { affectsOf } from '../../model/keys.ts';
import { justAfter } from '../../model/time.ts';
import { Chunk, firstPlace } from '../chunks/chunk.ts';
import {
  chunkRecord,
  type Edits,
  editedRows,
  evenPieces,
  isClosed,
  piecesInOrder,
  zonesNamed,
} from '../chunks/edit.ts';
import { BrokenChunk, type ChunkRow, type ChunkTimes, decodeContent, decodeTimes } from '../chunks/form.ts';
import { PartsMissingError, StaleReadError } from './failures.ts';
import { type RowIdentity, textOf } from './identities.ts';
import { inPieces } from './rows.ts';
import type { ChunkDocument, Tx, UserRows } from './user-rows.ts';

/** A chunk as it is read. Its texts are there only if they were asked for. */
export type RowChunk = Chunk<ChunkDocument>;

/** What is read of a chunk whose texts nobody needs. */
export const withoutTexts: Document = { entries: 0 };

/** Compressed texts above this take documents of their own: BSON ends at 16 MiB. */
const inlineLimit = 12 * 2 ** 20; // bytes

/** The chunks that documents hold, in their order, without those that are empty. */
export async function openChunks(from: UserRows, documents: readonly ChunkDocument[]): Promise<RowChunk[]> {
  const chunks: RowChunk[] = [];
  for (const document of documents) if (document.count > 0) chunks.push(await openChunk(from, document));
  return chunks;
}

const noTimes: ChunkTimes = {
  ...{ write_ts: new Float64Array(0), ts: new Float64Array(0), received_ts: new Float64Array(0) },
  ...{ zone: new Uint16Array(0), zones: [] },
};

/** The chunk that a document holds, which may be empty. */
export async function openChunk(from: UserRows, document: ChunkDocument): Promise<RowChunk> {
  if (document.count === 0) return new Chunk(document, noTimes, () => ({ columns: null, texts: () => [] }));
  const entries = document.in_parts ? await bytesOfParts(from, document) : document.entries;
  const times = decoded(document, () => decodeTimes(bytesOf(document.times), document.count));
  return new Chunk(document, times, () => {
    if (entries === undefined) throw new Error('a chunk was read without its texts'); // a mistake of this program
    const content = decoded(document, () => decodeContent(bytesOf(entries), times));
    return { ...content, texts: () => decoded(document, content.texts) };
  });
}

function bytesOf(bytes: Binary | Uint8Array | undefined): Uint8Array {
  if (bytes instanceof Binary) return bytes.value();
  return bytes ?? new Uint8Array(0);
}

function decoded<T>({ _id }: ChunkDocument, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    const found = error instanceof BrokenChunk ? error.message : 'bytes that cannot be unpacked';
    const advice = 'keep the database as it is and restore a backup into another one';
    throw new MobilityError('MOBILITY_STORE_DAMAGED', `chunks, document ${_id}: ${found}; ${advice}`, { cause: error });
  }
}

// ---------------------------------------------------------------- finding by write_ts

/** Times of one key, ascending. */
export type TimesByKey = ReadonlyMap<string, Float64Array>;

/** `write_ts` by key in the form of rows, ascending. */
export function timesByKey(identities: Iterable<{ key: string; write_ts: number }>): Map<string, Float64Array> {
  const lists = new Map<string, number[]>();
  for (const { key, write_ts } of identities) {
    const list = lists.get(key);
    if (list === undefined) lists.set(key, [write_ts]);
    else list.push(write_ts);
  }
  return new Map([...lists].map(([key, list]) => [key, Float64Array.from(list).sort()]));
}

const keysNamed = 20; // with more keys than this in one statement, it asks for all of them
const fewChunks = 64; // with more chunks than this between the first and the last time, it is asked which are needed
const chunksAtOnce = 100;

/** The chunks in whose stretch of `write_ts` any of the times lies, by key, each list ascending. */
async function chunksAround(
  from: UserRows,
  times: TimesByKey,
  projection?: Document,
): Promise<Map<string, ChunkDocument[]>> {
  const found = new Map<string, ChunkDocument[]>([...times.keys()].map((key) => [key, []]));
  if (times.size === 0) return found;
  const documents = await documentsAround(from, times, projection);
  for (const document of documents) found.get(document.key)!.push(document);
  for (const list of found.values()) list.sort((a, b) => a.from - b.from);
  return found;
}

async function documentsAround(from: UserRows, times: TimesByKey, projection?: Document): Promise<ChunkDocument[]> {
  const filter = filterAround(times);
  const chunks = from.rows('chunks');
  const options = { ...(projection && { projection }) };
  const hint = 'identity';
  const isNeeded = (one: Pick<ChunkDocument, 'key' | 'from' | 'until'>): boolean => {
    const own = times.get(one.key);
    if (own === undefined) return false;
    const next = own[firstPlace(own.length, (i) => own[i]! >= one.from)];
    return next !== undefined && next < one.until;
  };
  const few = await chunks.find(filter, { ...options, limit: fewChunks, hint }).toArray();
  if (few.length < fewChunks) return few.filter(isNeeded);
  const heads = await chunks.pick(filter, ['_id', 'key', 'from', 'until'], { hint }).toArray();
  const ids = heads.filter(isNeeded).map(({ _id }) => _id);
  const needed: ChunkDocument[] = [];
  for (const some of inPieces(ids, chunksAtOnce)) {
    needed.push(...(await chunks.find({ _id: { $in: some } }, options).toArray()));
  }
  return needed;
}

function filterAround(times: TimesByKey): Document {
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const own of times.values()) [first, last] = [Math.min(first, own[0]!), Math.max(last, own.at(-1)!)];
  const keys = [...times.keys()];
  const named = keys.length > keysNamed ? {} : { key: keys.length === 1 ? keys[0]! : { $in: keys } };
  return { ...named, until: { $gt: first }, from: { $lt: justAfter(last) } };
}

/** When those of `identities` were received first that are in the timeseries, by `textOf`. */
export async function receiptsInChunks(
  from: UserRows,
  identities: readonly RowIdentity[],
): Promise<Map<string, number>> {
  const times = timesByKey(identities);
  const found = new Map<string, number>();
  for (const [key, documents] of await chunksAround(from, times, withoutTexts)) {
    for (const chunk of await openChunks(from, documents)) {
      for (const write_ts of times.get(key)!) {
        const place = chunk.placeAt(write_ts);
        if (chunk.times.write_ts[place] !== write_ts) continue;
        found.set(textOf({ key, write_ts }), chunk.times.received_ts[place]!);
      }
    }
  }
  return found;
}

// ---------------------------------------------------------------- writing

/** Edits by key, the keys as they are. */
export type EditsByKey = ReadonlyMap<string, Edits>;

/** What a rewriting comes to. */
interface Rewriting {
  operations: AnyBulkWriteOperation<Document>[];
  /** Operations that replace or change a chunk as it was read. */
  changes: number;
  /** The newest chunk of each key that got another one. */
  newest: Map<string, ChunkDocument>;
  parts: Document[];
  /** Documents whose parts are no longer theirs. */
  replaced: ChunkDocument[];
  /** Keys of which a chunk became empty. */
  emptied: Set<string>;
}

/** What an edit of chunks changed. */
export type EditedChunks = Pick<Rewriting, 'newest' | 'emptied'>;

/** The chunks around the times that somebody has read and that are as they were; null where they are not known. */
export type KnownChunks = (times: TimesByKey) => ReadonlyMap<string, ChunkDocument[]> | null;

/** Edits entries: each chunk that has or gets one of them is written once. `known` saves reading them. */
export async function editChunks(tx: Tx, edits: EditsByKey, known: KnownChunks = () => null): Promise<EditedChunks> {
  const times = new Map([...edits].map(([key, own]) => [escapeText(key), own.times]));
  const around = known(times) ?? (await chunksAround(tx, times));
  const done: Rewriting = {
    ...{ operations: [], changes: 0, newest: new Map(), parts: [], replaced: [] },
    emptied: new Set(),
  };
  for (const [name, own] of edits) {
    const key = escapeText(name);
    await editKey(tx, { key, affectsTrips: affectsOf(name) === 'trips' }, around.get(key)!, own, done);
  }
  await write(tx, done);
  return done;
}

interface KeyOfChunks {
  key: string;
  affectsTrips: boolean;
}

/** `documents` have every time in the stretch of one of them, unless the key has no chunk yet. */
async function editKey(
  tx: Tx,
  key: KeyOfChunks,
  documents: readonly ChunkDocument[],
  edits: Edits,
  done: Rewriting,
): Promise<void> {
  if (documents.length === 0) {
    const rows = editedRows([], edits);
    const stretch = { from: Number.NEGATIVE_INFINITY, until: Number.POSITIVE_INFINITY };
    if (rows !== null) insertPieces(tx.userId, key, piecesInOrder(rows), stretch, done);
    return;
  }
  const { times } = edits;
  for (const document of documents) {
    const from = firstPlace(times.length, (i) => times[i]! >= document.from);
    const to = firstPlace(times.length, (i) => times[i]! >= document.until);
    await editChunk(tx, key, document, { edits, from, to }, done);
  }
}

async function editChunk(
  tx: Tx,
  key: KeyOfChunks,
  document: ChunkDocument,
  { edits, from, to }: { edits: Edits; from: number; to: number },
  done: Rewriting,
): Promise<void> {
  const isNewest = document.until === Number.POSITIVE_INFINITY;
  const writeTs = edits.times[from]!;
  const apart = isNewest && document.count > 0 && writeTs > document.last && isClosed(document, writeTs);
  const [chunk] = apart ? [] : await openChunks(tx, [document]);
  const rows = editedRows(chunk?.rows() ?? [], edits, from, to);
  if (rows === null) return;
  const pieces = isNewest ? piecesInOrder(rows) : evenPieces(rows);
  const filter = { user_id: tx.userId, _id: document._id, revision: document.revision };
  done.changes += 1;
  if (apart) {
    const start = rows[0]!.write_ts;
    done.operations.push({ updateOne: { filter, update: { $set: { until: start } } } });
    insertPieces(tx.userId, key, pieces, { from: start, until: document.until }, done);
    return;
  }
  if (document.in_parts) done.replaced.push(document);
  if (rows.length === 0) done.emptied.add(key.key);
  const [first = [], ...others] = pieces;
  const until = others[0]?.[0]?.write_ts ?? document.until;
  const replacement = rowOf(tx.userId, key, first, { from: document.from, until }, done.parts);
  done.operations.push({ replaceOne: { filter, replacement } });
  noteNewest({ ...replacement, _id: document._id } as ChunkDocument, done);
  insertPieces(tx.userId, key, others, { from: until, until: document.until }, done);
}

/** Inserts chunks that share a stretch of `write_ts` without a gap: each goes up to the first entry of the next. */
function insertPieces(
  userId: string,
  key: KeyOfChunks,
  pieces: readonly ChunkRow[][],
  { from, until }: { from: number; until: number },
  done: Rewriting,
): void {
  for (const [i, rows] of pieces.entries()) {
    const start = i === 0 ? from : rows[0]!.write_ts;
    const end = pieces[i + 1]?.[0]?.write_ts ?? until;
    const document = { _id: new ObjectId(), ...rowOf(userId, key, rows, { from: start, until: end }, done.parts) };
    done.operations.push({ insertOne: { document } });
    noteNewest(document as unknown as ChunkDocument, done);
  }
}

function noteNewest(document: ChunkDocument, { newest }: Rewriting): void {
  if (document.until === Number.POSITIVE_INFINITY) newest.set(document.key, document);
}

/** The document of a chunk; without rows one that keeps its stretch, so that every time has its chunk. */
function rowOf(
  userId: string,
  { key, affectsTrips }: KeyOfChunks,
  rows: readonly ChunkRow[],
  { from, until }: { from: number; until: number },
  parts: Document[],
): Document {
  const revision = new ObjectId();
  const own = { user_id: userId, key, from, until, revision };
  if (rows.length === 0) return { ...own, count: 0, size: 0, named: false, bare: false };
  const { times, entries, ...record } = chunkRecord(rows).record;
  const document: Document = {
    ...own,
    ...record,
    named: record.zones > zonesNamed.none,
    bare: affectsTrips && record.zones < zonesNamed.all,
    times: new Binary(times),
  };
  if (entries.length <= inlineLimit) return { ...document, entries: new Binary(entries) };
  let n = 0;
  for (let start = 0; start < entries.length; start += inlineLimit) {
    const bytes = new Binary(entries.subarray(start, start + inlineLimit));
    parts.push({ user_id: userId, row: revision, name: 'entries', n, bytes });
    n += 1;
  }
  return { ...document, in_parts: true, entries_parts: n };
}

async function bytesOfParts(from: UserRows, { revision, entries_parts = 0 }: ChunkDocument): Promise<Uint8Array> {
  const filter = { row: revision, name: 'entries' };
  const parts = await from
    .rows('parts')
    .pick(filter, ['bytes'], { sort: { n: 1 } })
    .toArray();
  if (parts.length !== entries_parts) {
    throw new PartsMissingError(entries_parts, parts.length, `entries of ${revision}`);
  }
  return Buffer.concat(parts.map(({ bytes }) => bytesOf(bytes)));
}

async function write(tx: Tx, { operations, changes, parts, replaced, emptied }: Rewriting): Promise<void> {
  if (operations.length === 0) return;
  const { matchedCount: matched } = await tx.rows('chunks').bulkWrite(operations);
  if (matched !== changes) throw new StaleReadError(changes, matched, 'chunks');
  if (replaced.length > 0)
    await tx.rows('parts').deleteMany({ row: { $in: replaced.map(({ revision }) => revision) } });
  // One by one: together they may be larger than a message may be.
  for (const part of parts) await tx.rows('parts').bulkWrite([{ insertOne: { document: part } }]);
  for (const key of emptied) {
    const left = await tx
      .rows('chunks')
      .pick({ key, count: { $gt: 0 } }, ['_id'], { limit: 1 })
      .toArray();
    if (left.length === 0) await tx.rows('chunks').deleteMany({ key });
  }
}
