// The table of chunks: which entries are stored together, and how a chunk is found, read and rewritten.
import { Chunk, type ChunkHead, firstPlace } from '../chunks/chunk.ts';
import {
  chunkRecord,
  countToJoin,
  type Edits,
  editedRows,
  evenPieces,
  piecesInOrder,
  type TimedHead,
} from '../chunks/edit.ts';
import { BrokenChunk, type ChunkRow, decodeContent, decodeTimes, olderForm } from '../chunks/form.ts';
import { damagedRow } from './damaged.ts';
import type { StoreFile } from './file.ts';

/** The description of a chunk without its content. */
export interface FileHead extends ChunkHead {
  id: number;
}

/** The columns of a head, to select. */
export const headColumns = 'id, first, last, count, size';

/** A chunk as it is read. Its texts can be read inside the snapshot or transaction that found it only. */
export type FileChunk = Chunk<FileHead>;

function decoded<T>(file: StoreFile, { id }: FileHead, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    const found = error instanceof BrokenChunk ? error.message : 'bytes that cannot be unpacked';
    const owner = file.sql('SELECT user FROM chunks WHERE id = ?').get<{ user: number }>(id);
    throw damagedRow(file, { table: 'chunks', user: owner?.user ?? null, place: `chunk ${id}` }, found, error);
  }
}

// ---------------------------------------------------------------- reading

const keptCharacters = 8 * 1024 * 1024; // of the chunks that a connection read last; of those it wrote half

/** Some of the chunks that were read or written last. */
interface Generation {
  chunks: Map<number, FileChunk>;
  size: number;
}

/**
 * The chunks that were read last, in two generations: the older one goes as a whole when the newer one is half of what
 * is kept. So nothing is deleted from a map: what a map deletes may stay in memory (server/live-set.ts). What was
 * written is read by the run that wrote it, and goes with the next user: to keep it longer is work for the collector
 * of garbage.
 */
interface Kept {
  newer: Generation;
  older: Generation;
  written: Generation;
  writtenOf: string | null;
  last: FileChunk | null;
}

/** Chunks of committed transactions only: these never change, and a rewritten one gets another number. */
const keptChunks = new WeakMap<StoreFile, Kept>();

/** What the columns of a chunk take in memory beside its texts, counted in characters. */
const columnSize = 32;

function sizeOf({ count, size }: ChunkHead): number {
  return size + columnSize * count;
}

const noChunks = (): Generation => ({ chunks: new Map(), size: 0 });

function keptIn(file: StoreFile): Kept {
  let kept = keptChunks.get(file);
  if (kept === undefined) {
    kept = { newer: noChunks(), older: noChunks(), written: noChunks(), writtenOf: null, last: null };
    keptChunks.set(file, kept);
  }
  return kept;
}

const keptChunk = ({ newer, older, written }: Kept, id: number): FileChunk | undefined =>
  written.chunks.get(id) ?? newer.chunks.get(id) ?? older.chunks.get(id);

/** The chunk of a head. Inside `read` only: what a transaction wrote may be undone, and its numbers be given again. */
export function openChunk(file: StoreFile, head: FileHead): FileChunk {
  const kept = keptIn(file);
  if (kept.last?.head.id === head.id) return kept.last;
  const chunk = keptChunk(kept, head.id) ?? readChunk(file, head);
  if (kept.written.chunks.has(head.id)) kept.last = chunk;
  else keep(kept, chunk);
  return chunk;
}

/** Keeps chunks of a user that a transaction wrote, so that the run need not read them. After its commit only. */
export function keepWritten(file: StoreFile, userId: string, written: readonly FileChunk[]): void {
  const kept = keptIn(file);
  for (const chunk of written) {
    if (kept.writtenOf !== userId || kept.written.size > keptCharacters / 2) {
      kept.written = noChunks();
      kept.writtenOf = userId;
    }
    kept.written.chunks.set(chunk.head.id, chunk);
    kept.written.size += sizeOf(chunk.head);
  }
}

function keep(kept: Kept, chunk: FileChunk): void {
  const { id } = chunk.head;
  const isKept = kept.newer.chunks.has(id);
  kept.newer.chunks.set(id, chunk);
  kept.last = chunk;
  if (isKept) return;
  kept.newer.size += sizeOf(chunk.head);
  if (kept.newer.size > keptCharacters / 2) {
    kept.older = kept.newer;
    kept.newer = noChunks();
  }
}

/** The chunk of a head, inside `write` too: a number that this transaction gave is not among those that are kept. */
function chunkToEdit(file: StoreFile, head: FileHead): FileChunk {
  return keptChunk(keptIn(file), head.id) ?? readChunk(file, head);
}

function readChunk(file: StoreFile, head: FileHead): FileChunk {
  const { id, count } = head;
  const { times } = file.sql('SELECT times FROM chunks WHERE id = ?').get<{ times: Uint8Array }>(id)!;
  const columns = decoded(file, head, () => decodeTimes(times, count));
  return new Chunk(head, columns, () => {
    const { entries } = file.sql('SELECT entries FROM chunks WHERE id = ?').get<{ entries: Uint8Array }>(id)!;
    const content = decoded(file, head, () => decodeContent(entries, columns));
    return { ...content, texts: () => decoded(file, head, content.texts) };
  });
}

// The texts of statements are made once, as all statements are found by them.
const headBefore = `SELECT ${headColumns} FROM chunks WHERE user = ? AND key = ? AND first <= ? ORDER BY first DESC LIMIT 1`;
const headBehind = `SELECT ${headColumns} FROM chunks WHERE user = ? AND key = ? AND first > ? ORDER BY first LIMIT 1`;

/** The chunk that has, or would have, the entry of this `write_ts`; the first one where it lies before all. */
function headFor(file: StoreFile, user: number, key: number, writeTs: number): FileHead | undefined {
  return file.sql(headBefore).get<FileHead>(user, key, writeTs) ?? headAfter(file, user, key, writeTs);
}

function headAfter(file: StoreFile, user: number, key: number, writeTs: number): FileHead | undefined {
  return file.sql(headBehind).get<FileHead>(user, key, writeTs);
}

/** The start of the chunk around a `write_ts`; the time itself if there is no such chunk. */
export function chunkStart(file: StoreFile, user: number, key: number, writeTs: number): number {
  const sql = 'SELECT first FROM chunks WHERE user = ? AND key = ? AND first <= ? ORDER BY first DESC LIMIT 1';
  return file.sql(sql).get<{ first: number }>(user, key, writeTs)?.first ?? writeTs;
}

/** The newest `write_ts` of a key; minus infinity without entries. */
export function newestWritten(file: StoreFile, user: number, key: number): number {
  const sql = 'SELECT last FROM chunks WHERE user = ? AND key = ? ORDER BY first DESC LIMIT 1';
  return file.sql(sql).get<{ last: number }>(user, key)?.last ?? Number.NEGATIVE_INFINITY;
}

/** The chunk and the place in it of an identity; null without one. Inside `read` only. */
export function findIdentity(
  file: StoreFile,
  user: number | null,
  key: number | null,
  writeTs: number,
): { chunk: FileChunk; place: number } | null {
  if (user === null || key === null) return null;
  const head = headFor(file, user, key, writeTs);
  if (head === undefined || writeTs < head.first || writeTs > head.last) return null;
  const chunk = openChunk(file, head);
  const place = chunk.placeAt(writeTs);
  return chunk.times.write_ts[place] === writeTs ? { chunk, place } : null;
}

// ---------------------------------------------------------------- writing

/**
 * Edits entries of one key, by `write_ts`: each chunk that has or gets one of them is written once. Inside `write`
 * only. Returns the new chunks, for `keepWritten`.
 */
export function editChunks(file: StoreFile, user: number, key: number, edits: Edits): FileChunk[] {
  const written: FileChunk[] = [];
  const { times } = edits;
  for (let start = 0; start < times.length; ) {
    const head = headFor(file, user, key, times[start]!);
    const next = head && headAfter(file, user, key, head.first);
    if (next === undefined && !(head !== undefined && times[start]! <= head.last)) {
      written.push(...addBehind(file, { user, key }, edits, start));
      break;
    }
    const end = next === undefined ? times.length : firstPlace(times.length, (i) => times[i]! >= next.first);
    const rows = editedRows(chunkToEdit(file, head!).rows(), edits, start, end);
    if (rows !== null) {
      const pieces = next === undefined ? piecesInOrder(rows) : evenPieces(rows);
      written.push(...replaceChunk(file, { user, key }, head!, pieces));
    }
    start = end;
  }
  return written;
}

function replaceChunk(file: StoreFile, owner: Owner, head: FileHead, pieces: readonly ChunkRow[][]): FileChunk[] {
  removeChunk(file, head);
  return pieces.map((piece) => insertChunk(file, owner, piece));
}

const mostJoined = 32; // chunks

const newestHeads = `
  SELECT ${headColumns}, first_ts, last_ts FROM chunks WHERE user = ? AND key = ? ORDER BY first DESC LIMIT ${mostJoined}`;

/** Edits behind all chunks of a key: what they add becomes a chunk, with small ones before it. */
function addBehind(file: StoreFile, owner: Owner, edits: Edits, start: number): FileChunk[] {
  const added = editedRows([], edits, start);
  if (added === null) return [];
  const newest = file.sql(newestHeads).all<FileHead & TimedHead>(owner.user, owner.key);
  const joined = newest.slice(0, countToJoin(newest, added.length, added[0]!.write_ts)).reverse();
  const rows = joined.flatMap((head) => chunkToEdit(file, head).rows());
  for (const head of joined) removeChunk(file, head);
  return piecesInOrder([...rows, ...added]).map((piece) => insertChunk(file, owner, piece));
}

/** The user and key of a chunk. */
interface Owner {
  user: number;
  key: number;
}

function removeChunk(file: StoreFile, { id }: FileHead): void {
  file.sql('DELETE FROM chunks WHERE id = ?').run(id);
}

function insertChunk(file: StoreFile, { user, key }: Owner, rows: readonly ChunkRow[]): FileChunk {
  const { record, opened } = chunkRecord(rows);
  const { first, last, count, size, first_ts, last_ts, zones, times, entries } = record;
  const { lastInsertRowid } = file
    .sql(`
      INSERT INTO chunks (user, key, first, last, count, size, first_ts, last_ts, zones, times, entries)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    .run(user, key, first, last, count, size, first_ts, last_ts, zones, times, entries);
  return new Chunk({ id: Number(lastInsertRowid), first, last, count, size }, opened.times, opened.content);
}

/** A point in the order of a user's chunks. */
export interface ChunkPoint {
  key: number;
  first: number;
}

/**
 * Writes up to `most` chunks behind a point anew that are of an older form. Returns the last one, and the number of
 * entries; null without any. Inside `write` only.
 */
export function rewriteOlder(
  file: StoreFile,
  user: number,
  { key, first }: ChunkPoint,
  most: number,
): { last: ChunkPoint; entries: number } | null {
  const sql = `
    SELECT ${headColumns}, key FROM chunks WHERE user = ? AND (key, first) > (?, ?) AND substr(entries, 1, 1) = ${olderForm}
    ORDER BY key, first LIMIT ?`;
  const heads = file.sql(sql).all<FileHead & ChunkPoint>(user, key, first, most);
  for (const head of heads) {
    const rows = readChunk(file, head).rows();
    removeChunk(file, head);
    insertChunk(file, { user, key: head.key }, rows);
  }
  const last = heads.at(-1);
  return last === undefined ? null : { last, entries: heads.reduce((sum, { count }) => sum + count, 0) };
}
