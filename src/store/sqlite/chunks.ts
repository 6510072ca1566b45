// The table of chunks: which entries are stored together, and how a chunk is found, read and rewritten.
import { MobilityError } from '../../model/errors.ts';
import { BrokenChunk, type ChunkRow, type ChunkTimes, decodeTexts, decodeTimes, encodeChunk } from './chunk-form.ts';
import type { StoreFile } from './file.ts';

/** The description of a chunk without its content. Chunks of a key do not overlap in `write_ts`. */
export interface ChunkHead {
  id: number;
  /** `write_ts` of its first and last entry. */
  first: number;
  last: number;
  count: number;
  /** Characters of its texts. */
  size: number;
}

/** The columns of a head, to select. */
export const headColumns = 'id, first, last, count, size';

/** A chunk that is not to be larger: what changes one entry writes it whole. */
const most = { entries: 512, characters: 256 * 1024 };

/** A chunk whose last day is over takes no more entries once it has so many: sparse keys share one for many days. */
const enough = 64;

const day = 86_400; // s

/**
 * s; the data times of a chunk span no more, so that those of a range are found by the first of them. An entry whose
 * time is far from that of its neighbours has a chunk of its own.
 */
export const widestSpan = 31 * day;

/** A chunk as it is read: columns at once, texts when they are asked for. */
export class Chunk {
  readonly head: ChunkHead;
  readonly times: ChunkTimes;
  private readonly file: StoreFile;
  private kept: string[] | null = null;
  private order: Uint16Array | null = null;

  constructor(file: StoreFile, head: ChunkHead, times: ChunkTimes) {
    this.file = file;
    this.head = head;
    this.times = times;
  }

  /** Inside the snapshot or transaction that found the chunk only. */
  get texts(): readonly string[] {
    this.kept ??= this.readTexts();
    return this.kept;
  }

  private readTexts(): string[] {
    const { id, count } = this.head;
    const { entries } = this.file.sql('SELECT entries FROM chunks WHERE id = ?').get<{ entries: Uint8Array }>(id)!;
    return decoded(this.file, this.head, () => decodeTexts(entries, count));
  }

  /** Places of the entries that have a data time, by data time, then `write_ts`. */
  get byTs(): Uint16Array {
    if (this.order === null) {
      const { ts } = this.times;
      const there = [...ts.keys()].filter((at) => !Number.isNaN(ts[at]!));
      this.order = Uint16Array.from(there.sort((a, b) => ts[a]! - ts[b]! || a - b));
    }
    return this.order;
  }

  /** Place of the first entry that was not written before. */
  placeAt(writeTs: number): number {
    const { write_ts } = this.times;
    return firstPlace(write_ts.length, (i) => write_ts[i]! >= writeTs);
  }

  /** Place of the first entry that was written later. */
  placeAfter(writeTs: number): number {
    const { write_ts } = this.times;
    return firstPlace(write_ts.length, (i) => write_ts[i]! > writeTs);
  }

  tsAt(place: number): number | null {
    const ts = this.times.ts[place]!;
    return Number.isNaN(ts) ? null : ts;
  }

  zoneAt(place: number): string | null {
    return this.times.zones[this.times.zone[place]!]!;
  }

  rows(): ChunkRow[] {
    const { write_ts, received_ts } = this.times;
    return this.texts.map((text, i) => ({
      write_ts: write_ts[i]!,
      ts: this.tsAt(i),
      received_ts: received_ts[i]!,
      zone: this.zoneAt(i),
      text,
    }));
  }
}

/** The first of `count` places that is `beyond`, where all after it are too; `count` if none is. */
export function firstPlace(count: number, beyond: (place: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (beyond(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function decoded<T>(file: StoreFile, { id }: ChunkHead, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    const found = error instanceof BrokenChunk ? error.message : 'bytes that cannot be unpacked';
    const advice = 'keep the folder as it is and restore a backup beside it';
    throw new MobilityError('MOBILITY_STORE_DAMAGED', `${file.path}, chunk ${id}: ${found}; ${advice}`, {
      cause: error,
    });
  }
}

// ---------------------------------------------------------------- reading

const keptCharacters = 8 * 1024 * 1024; // of the chunks that a connection read last

/** The most recently read chunks, oldest first. A chunk never changes: a rewritten chunk gets another number. */
const read = new WeakMap<StoreFile, { chunks: Map<number, Chunk>; size: number }>();

/** What the columns of a chunk take in memory beside its texts, counted in characters. */
const columnSize = 32;

function sizeOf({ count, size }: ChunkHead): number {
  return size + columnSize * count;
}

/** The chunk of a head. Inside `read` only: what a transaction wrote may be undone, and its numbers be given again. */
export function openChunk(file: StoreFile, head: ChunkHead): Chunk {
  let kept = read.get(file);
  if (kept === undefined) {
    kept = { chunks: new Map(), size: 0 };
    read.set(file, kept);
  }
  const { chunks } = kept;
  let chunk = chunks.get(head.id);
  chunks.delete(head.id);
  if (chunk === undefined) {
    chunk = readChunk(file, head);
    kept.size += sizeOf(head);
  }
  chunks.set(head.id, chunk);
  for (const [id, oldest] of chunks) {
    if (kept.size <= keptCharacters || id === head.id) break;
    chunks.delete(id);
    kept.size -= sizeOf(oldest.head);
  }
  return chunk;
}

function readChunk(file: StoreFile, head: ChunkHead): Chunk {
  const { times } = file.sql('SELECT times FROM chunks WHERE id = ?').get<{ times: Uint8Array }>(head.id)!;
  return new Chunk(
    file,
    head,
    decoded(file, head, () => decodeTimes(times, head.count)),
  );
}

/** The chunk that has, or would have, the entry of this `write_ts`; the first one where it lies before all. */
function headFor(file: StoreFile, user: number, key: number, writeTs: number): ChunkHead | undefined {
  const before = `SELECT ${headColumns} FROM chunks WHERE user = ? AND key = ? AND first <= ? ORDER BY first DESC LIMIT 1`;
  return file.sql(before).get<ChunkHead>(user, key, writeTs) ?? headAfter(file, user, key, writeTs);
}

function headAfter(file: StoreFile, user: number, key: number, writeTs: number): ChunkHead | undefined {
  const sql = `SELECT ${headColumns} FROM chunks WHERE user = ? AND key = ? AND first > ? ORDER BY first LIMIT 1`;
  return file.sql(sql).get<ChunkHead>(user, key, writeTs);
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
): { chunk: Chunk; place: number } | null {
  if (user === null || key === null) return null;
  const head = headFor(file, user, key, writeTs);
  if (head === undefined || writeTs < head.first || writeTs > head.last) return null;
  const chunk = openChunk(file, head);
  const place = chunk.placeAt(writeTs);
  return chunk.times.write_ts[place] === writeTs ? { chunk, place } : null;
}

// ---------------------------------------------------------------- writing

/** Maps the stored entry of an identity (undefined: none) to its new form (undefined: remove it). */
export type Edit = (row: ChunkRow | undefined) => ChunkRow | undefined;

/**
 * Edits entries of one key, by `write_ts`: each chunk that has or gets one of them is written once. Inside `write`
 * only.
 */
export function editChunks(file: StoreFile, user: number, key: number, edits: ReadonlyMap<number, Edit>): void {
  const times = Float64Array.from(edits.keys()).sort();
  for (let start = 0; start < times.length; ) {
    const head = headFor(file, user, key, times[start]!);
    const next = head && headAfter(file, user, key, head.first);
    const end = next === undefined ? times.length : firstPlace(times.length, (i) => times[i]! >= next.first);
    editChunk(file, { user, key }, head, next === undefined, times.subarray(start, end), edits);
    start = end;
  }
}

function editChunk(
  file: StoreFile,
  owner: Owner,
  head: ChunkHead | undefined,
  isLast: boolean,
  times: Float64Array,
  edits: ReadonlyMap<number, Edit>,
): void {
  const apart = head === undefined || (isLast && times[0]! > head.last && isClosed(head, times[0]!));
  const old = apart ? [] : readChunk(file, head).rows();
  const rows: ChunkRow[] = [];
  let changed = false;
  let next = 0;
  for (const writeTs of times) {
    while (next < old.length && old[next]!.write_ts < writeTs) rows.push(old[next++]!);
    const before = old[next]?.write_ts === writeTs ? old[next++]! : undefined;
    const after = edits.get(writeTs)!(before);
    if (after !== undefined) rows.push(after);
    changed ||= after !== before;
  }
  while (next < old.length) rows.push(old[next++]!);
  if (!changed) return;
  if (!apart) file.sql('DELETE FROM chunks WHERE id = ?').run(head.id);
  for (const piece of isLast ? piecesInOrder(rows) : evenPieces(rows)) insertChunk(file, owner, piece);
}

/** True when what comes behind the last chunk begins a new one. */
function isClosed({ count, size, last }: ChunkHead, writeTs: number): boolean {
  return count >= most.entries || size >= most.characters || (count >= enough && dayOf(last) !== dayOf(writeTs));
}

const dayOf = (time: number): number => Math.floor(time / day);

/** Cuts the newest entries of a key into chunks that are full, or end with a day. */
function piecesInOrder(rows: readonly ChunkRow[]): ChunkRow[][] {
  return cut(rows, most, true);
}

/** Cuts entries between others into chunks of about one size, so that each has room for more. */
function evenPieces(rows: readonly ChunkRow[]): ChunkRow[][] {
  const size = rows.reduce((sum, { text }) => sum + text.length, 0);
  const pieces = Math.max(Math.ceil(rows.length / most.entries), Math.ceil(size / most.characters), 1);
  return cut(rows, { entries: Math.ceil(rows.length / pieces), characters: most.characters }, false);
}

function cut(rows: readonly ChunkRow[], limits: typeof most, byDay: boolean): ChunkRow[][] {
  const pieces: ChunkRow[][] = [];
  let piece: ChunkRow[] = [];
  let [size, low, high] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const row of rows) {
    const { ts, write_ts, text } = row;
    const wide = ts !== null && Math.max(high, ts) - Math.min(low, ts) > widestSpan && low <= high;
    const full = piece.length >= limits.entries || size + text.length > limits.characters;
    const over = byDay && piece.length >= enough && dayOf(piece.at(-1)!.write_ts) !== dayOf(write_ts);
    if (piece.length > 0 && (wide || full || over)) {
      pieces.push(piece);
      piece = [];
      [size, low, high] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    }
    piece.push(row);
    size += text.length;
    if (ts !== null) [low, high] = [Math.min(low, ts), Math.max(high, ts)];
  }
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}

/** The user and key of a chunk. */
interface Owner {
  user: number;
  key: number;
}

/** How many of its entries name a zone, as a chunk says it. */
export const zonesNamed = { none: 0, some: 1, all: 2 } as const;

function insertChunk(file: StoreFile, { user, key }: Owner, rows: readonly ChunkRow[]): void {
  const { times, entries } = encodeChunk(rows);
  const named = rows.filter(({ zone }) => zone !== null).length;
  const zones = named === 0 ? zonesNamed.none : named === rows.length ? zonesNamed.all : zonesNamed.some;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { ts } of rows) if (ts !== null) [low, high] = [Math.min(low, ts), Math.max(high, ts)];
  const size = rows.reduce((sum, { text }) => sum + text.length, 0);
  const [first, last] = [rows[0]!.write_ts, rows.at(-1)!.write_ts];
  const span = low <= high ? [low, high] : [null, null];
  file
    .sql(`
      INSERT INTO chunks (user, key, first, last, count, size, first_ts, last_ts, zones, times, entries)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
    .run(user, key, first, last, rows.length, size, span[0]!, span[1]!, zones, times, entries);
}
