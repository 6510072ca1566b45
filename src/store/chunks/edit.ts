// How a chunk changes: which entries it takes, where it is cut, and what is kept beside its content. Pure.
import type { ChunkHead } from './chunk.ts';
import { type ChunkRow, encodeChunk, type OpenedChunk } from './form.ts';

/** A chunk that is not to be larger: what changes one entry writes it whole. */
const most = { entries: 512, characters: 256 * 1024 };

/** A chunk whose last day is over takes no more entries once it has so many: sparse keys share one for many days. */
const enough = 64;

const day = 86_400; // s

/**
 * s; neither the data times nor the `write_ts` of a chunk span more, so that those of a range are found by the first of
 * them. An entry whose time is far from that of its neighbours has a chunk of its own. (In stores of format 6, chunks
 * may span more in `write_ts`.)
 */
export const widestSpan = 31 * day;

/**
 * The earliest time at which a chunk with an entry of this time may begin: its span was compared as doubles round it.
 */
export function earliestBeside(time: number): number {
  return Number.isFinite(time) ? time - widestSpan - roundingNear(time) : time;
}

/** The latest time at which such a chunk may end. */
export function latestBeside(time: number): number {
  return Number.isFinite(time) ? time + widestSpan + roundingNear(time) : time;
}

const roundingNear = (time: number): number => 1 + 2 * Number.EPSILON * Math.abs(time);

/** Edits of the entries of one key. */
export interface Edits {
  /** The `write_ts` of each edit, ascending. Edits of the same entry are done in their order. */
  times: Float64Array;
  /** What an edit makes of the stored entry (undefined: none): its new form, or undefined to remove it. */
  after(edit: number, before: ChunkRow | undefined): ChunkRow | undefined;
}

/** Edits of `list` in the order of `write_ts`. `after`: what each element makes of the stored entry. */
export function editsInOrder<One extends { write_ts: number }>(
  list: readonly One[],
  after: (one: One, before: ChunkRow | undefined) => ChunkRow | undefined,
): Edits {
  const isSorted = list.every(({ write_ts }, i) => i === 0 || list[i - 1]!.write_ts <= write_ts);
  const sorted = isSorted ? list : [...list].sort((a, b) => a.write_ts - b.write_ts);
  const times = new Float64Array(sorted.length);
  for (let i = 0; i < times.length; i++) times[i] = sorted[i]!.write_ts;
  return { times, after: (edit, before) => after(sorted[edit]!, before) };
}

/** The rows `old` with the edits `from` up to `to` done; null if nothing changes. */
export function editedRows(
  old: readonly ChunkRow[],
  { times, after: edited }: Edits,
  from = 0,
  to = times.length,
): ChunkRow[] | null {
  const rows: ChunkRow[] = [];
  let changed = false;
  let next = 0;
  for (let edit = from; edit < to; ) {
    const writeTs = times[edit]!;
    while (next < old.length && old[next]!.write_ts < writeTs) rows.push(old[next++]!);
    const before = old[next]?.write_ts === writeTs ? old[next++]! : undefined;
    let after = edited(edit++, before);
    while (edit < to && times[edit] === writeTs) after = edited(edit++, after);
    if (after !== undefined) rows.push(after);
    changed ||= after !== before;
  }
  while (next < old.length) rows.push(old[next++]!);
  return changed ? rows : null;
}

/** True when what comes behind the last chunk begins a new one. */
export function isClosed({ count, size, last }: ChunkHead, writeTs: number): boolean {
  return count >= most.entries || size >= most.characters || (count >= enough && dayOf(last) !== dayOf(writeTs));
}

/** A chunk with the least and the greatest data time of its entries. */
export interface TimedHead extends ChunkHead {
  first_ts: number | null;
  last_ts: number | null;
}

/** A chunk is joined with what comes behind it unless it has so many times as many entries. */
const joinedFrom = 4;

/**
 * How many of the newest chunks of a key, which come newest first, are written anew with `added` entries that were
 * written behind all of them, the first at `writeTs`. Sizes of chunks of one day grow at least by `joinedFrom` from
 * each to the one before it: so an entry is written a few times only, however often something is added. Once the day is
 * over, its chunks become one.
 */
export function countToJoin(newestFirst: readonly TimedHead[], added: number, writeTs: number): number {
  const newest = newestFirst[0];
  if (newest === undefined) return 0;
  const isOver = dayOf(newest.last) !== dayOf(writeTs);
  let [entries, characters, low, high] = [isOver ? 0 : added, 0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  let joined = 0;
  for (const head of newestFirst) {
    const belongs = isOver
      ? dayOf(head.last) === dayOf(newest.last) || !isClosed(head, writeTs)
      : head.count <= joinedFrom * entries && !isClosed(head, writeTs);
    entries += head.count;
    characters += head.size;
    [low, high] = [Math.min(low, head.first_ts ?? low), Math.max(high, head.last_ts ?? high)];
    const isLarge = entries > most.entries || characters > most.characters;
    const isLong = high - low > widestSpan || newest.last - head.first > widestSpan;
    if (!belongs || isLarge || isLong) break;
    joined += 1;
  }
  return joined === 1 && isClosed(newest, writeTs) ? 0 : joined;
}

const dayOf = (time: number): number => Math.floor(time / day);

/** What cutting looks at. */
export type CutRow = Pick<ChunkRow, 'write_ts' | 'ts' | 'text' | 'held'>;

/** Characters of the text of a row. */
function lengthOf(row: CutRow): number {
  return row.held === undefined ? row.text.length : row.held.piece.lengthAt(row.held.place);
}

/** Cuts the newest entries of a key into chunks that are full, or end with a day. */
export function piecesInOrder<Row extends CutRow>(rows: readonly Row[]): Row[][] {
  return cut(rows, most, true);
}

/** Cuts entries between others into chunks of about one size, so that each has room for more. */
export function evenPieces(rows: readonly ChunkRow[]): ChunkRow[][] {
  const size = rows.reduce((sum, row) => sum + lengthOf(row), 0);
  const pieces = Math.max(Math.ceil(rows.length / most.entries), Math.ceil(size / most.characters), 1);
  return cut(rows, { entries: Math.ceil(rows.length / pieces), characters: most.characters }, false);
}

function cut<Row extends CutRow>(rows: readonly Row[], limits: typeof most, byDay: boolean): Row[][] {
  const pieces: Row[][] = [];
  let piece: Row[] = [];
  let [size, low, high] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const row of rows) {
    const { ts, write_ts } = row;
    const length = lengthOf(row);
    const wide = ts !== null && Math.max(high, ts) - Math.min(low, ts) > widestSpan && low <= high;
    const full = piece.length >= limits.entries || size + length > limits.characters;
    const long = piece.length > 0 && write_ts - piece[0]!.write_ts > widestSpan;
    const over = byDay && piece.length >= enough && dayOf(piece.at(-1)!.write_ts) !== dayOf(write_ts);
    if (piece.length > 0 && (wide || long || full || over)) {
      pieces.push(piece);
      piece = [];
      [size, low, high] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    }
    piece.push(row);
    size += length;
    if (ts !== null) [low, high] = [Math.min(low, ts), Math.max(high, ts)];
  }
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}

/** How many of its entries name a zone, as a chunk says it. */
export const zonesNamed = { none: 0, some: 1, all: 2 } as const;

/** A chunk as it is written, apart from what names it: its user and key. */
export interface ChunkRecord extends ChunkHead {
  /** The least and the greatest data time; null if no entry has one. */
  first_ts: number | null;
  last_ts: number | null;
  /** See `zonesNamed`. */
  zones: number;
  times: Uint8Array;
  entries: Uint8Array;
}

/** The record of rows in the order of `write_ts`, at least one, and the chunk that reading it would give. */
export function chunkRecord(rows: readonly ChunkRow[]): { record: ChunkRecord; opened: OpenedChunk } {
  const { times, entries, opened } = encodeChunk(rows);
  const named = rows.filter(({ zone }) => zone !== null).length;
  const zones = named === 0 ? zonesNamed.none : named === rows.length ? zonesNamed.all : zonesNamed.some;
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { ts } of rows) if (ts !== null) [low, high] = [Math.min(low, ts), Math.max(high, ts)];
  const [first_ts, last_ts] = low <= high ? [low, high] : [null, null];
  const size = rows.reduce((sum, row) => sum + lengthOf(row), 0);
  const [first, last] = [rows[0]!.write_ts, rows.at(-1)!.write_ts];
  const record = { first, last, count: rows.length, size, first_ts, last_ts, zones, times, entries };
  return { record, opened };
}
