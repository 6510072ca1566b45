// The table of batches: entries that wait, a row for each put, and what of a row still waits.

import { withFields } from '../../model/with-fields.ts';
import { piecesInOrder } from '../chunks/edit.ts';
import { believedAhead } from '../receipts.ts';
import {
  type BatchColumns,
  type BatchRow,
  type BatchTexts,
  BrokenBatch,
  batchColumns,
  joinTexts,
  type KeyRun,
  keyRuns,
  type Neighbours,
  readIdentities,
  readTexts,
  writeIdentities,
  writeTexts,
} from './batch-form.ts';
import { damagedRow } from './damaged.ts';
import type { StoreFile } from './file.ts';
import { takeNumbers } from './ids.ts';

/** The description of a batch without its content. */
export interface BatchHead {
  /** The revision of its first entry: entry `i` has the revision `id + i`. */
  id: number;
  /** Entries that it was stored with. */
  size: number;
  /** Entries of it that still wait. Times and keys are those of these alone. */
  count: number;
  first: number;
  last: number;
  first_ts: number | null;
  last_ts: number | null;
  keys: readonly KeySpan[];
}

/** What a batch has of one key: how many entries that wait, and their first and last `write_ts`. */
export interface KeySpan {
  key: number;
  count: number;
  first: number;
  last: number;
}

/** A larger put is stored in several rows, so that reading some entries of it does not unpack all. */
export const most = { entries: 1_024, characters: 512 * 1024 };

const headColumns = 'id, size, count, first, last, first_ts, last_ts, keys';

interface HeadRow extends Omit<BatchHead, 'keys'> {
  keys: Uint8Array;
}

/** A batch as it is read: columns at once, texts when they are asked for. Inside the snapshot that read it only. */
export class Batch {
  readonly head: BatchHead;
  readonly columns: BatchColumns;
  private readonly file: StoreFile;
  private readonly gone: Uint8Array | null;
  private kept: BatchTexts | null = null;

  constructor(file: StoreFile, head: BatchHead, columns: BatchColumns, gone: Uint8Array | null) {
    this.file = file;
    this.head = head;
    this.columns = columns;
    this.gone = gone;
  }

  /** False for an entry that was moved, or pushed again. */
  waits(place: number): boolean {
    return place >= 0 && place < this.head.size && !isMarked(this.gone, place);
  }

  /** Read once, and kept with the batch. */
  get texts(): BatchTexts {
    this.kept ??= this.readTexts();
    return this.kept;
  }

  /** Reads the texts anew: for those who keep them as long as they need, see `texts`. */
  readTexts(): BatchTexts {
    const { id, size } = this.head;
    const { entries } = this.file.sql('SELECT entries FROM batches WHERE id = ?').get<{ entries: Uint8Array }>(id)!;
    return decoded(this.file, this.head, () => readTexts(entries, size));
  }

  runOf(key: number): KeyRun | undefined {
    return this.columns.runs.find((run) => run.key === key);
  }

  tsAt(place: number): number | null {
    const ts = this.columns.ts[place]!;
    return Number.isNaN(ts) ? null : ts;
  }

  failedAt(place: number): BatchRow['failed'] {
    const { rare } = this.columns;
    const tries = rare?.failed_tries[place] ?? 0;
    return tries === 0 ? null : { first_ts: rare!.failed_first_ts[place]!, tries };
  }

  keptAt(place: number): boolean {
    return this.columns.rare?.kept[place] === 1;
  }

  /** The same batch without the entries in some places: the marks of all that are gone. */
  goneWith(places: Iterable<number>): Uint8Array {
    const marks = new Uint8Array(Math.ceil(this.head.size / 8));
    if (this.gone !== null) marks.set(this.gone);
    for (const place of places) marks[place >> 3]! |= 1 << (place & 7);
    return marks;
  }
}

/** True for an entry that was moved, or pushed again. */
export function isMarked(marks: Uint8Array | null, place: number): boolean {
  return marks !== null && (marks[place >> 3]! & (1 << (place & 7))) !== 0;
}

function decoded<T>(file: StoreFile, { id }: BatchHead, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    const row = file.sql('SELECT user FROM batches WHERE id = ?').get<{ user: number }>(id);
    const found = error instanceof BrokenBatch ? error.message : 'bytes that cannot be unpacked';
    throw damagedRow(file, { table: 'batches', user: row?.user ?? null, place: `batch ${id}` }, found, error);
  }
}

// ---------------------------------------------------------------- reading

/** Batches of a user with entries that were written in a range, both ends included; in no order. */
export function headsOf(
  file: StoreFile,
  user: number,
  { first = Number.NEGATIVE_INFINITY, last = Number.POSITIVE_INFINITY } = {},
): BatchHead[] {
  const sql = `SELECT ${headColumns} FROM batches WHERE user = ? AND first <= ? AND last >= ?`;
  return file.sql(sql).all<HeadRow>(user, last, first).map(headOf);
}

function headOf({ keys, ...head }: HeadRow): BatchHead {
  return withFields(head, { keys: keySpans(keys) });
}

/** The columns of a batch. Inside `read` and `write` only. */
export function openBatch(file: StoreFile, head: BatchHead): Batch {
  const { gone, columns } = file
    .sql('SELECT gone, columns FROM batches WHERE id = ?')
    .get<{ gone: Uint8Array | null; columns: Uint8Array }>(head.id)!;
  return new Batch(
    file,
    head,
    decoded(file, head, () => readIdentities(columns, head.size)),
    gone,
  );
}

/** The batch of a user that has an entry of this revision; undefined if none has. */
function headWith(file: StoreFile, user: number, revision: number): BatchHead | undefined {
  const sql = `SELECT user, ${headColumns} FROM batches WHERE id <= ? ORDER BY id DESC LIMIT 1`;
  const row = file.sql(sql).get<HeadRow & { user: number }>(revision);
  if (row === undefined || row.user !== user || revision >= row.id + row.size) return undefined;
  const { user: _, ...head } = row;
  return headOf(head);
}

/** The numbers of the keys that wait: of a user, or of everybody. */
export function waitingKeyIds(file: StoreFile, user?: number): Set<number> {
  const ids = new Set<number>();
  const rows =
    user === undefined
      ? file.sql('SELECT keys FROM batches').all<{ keys: Uint8Array }>()
      : file.sql('SELECT keys FROM batches WHERE user = ?').all<{ keys: Uint8Array }>(user);
  for (const { keys } of rows) for (const { key } of keySpans(keys)) ids.add(key);
  return ids;
}

function keySpans(blob: Uint8Array): KeySpan[] {
  const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  const spans: KeySpan[] = [];
  for (let at = 0; at < bytes.length; at += 32) {
    const [key, count] = [bytes.readDoubleLE(at), bytes.readDoubleLE(at + 8)];
    spans.push({ key, count, first: bytes.readDoubleLE(at + 16), last: bytes.readDoubleLE(at + 24) });
  }
  return spans;
}

// ---------------------------------------------------------------- what waits of a batch

/** What a row of batches says about the entries of it that wait. */
export interface BatchSummary {
  count: number;
  first: number;
  last: number;
  first_ts: number | null;
  last_ts: number | null;
  /** From then on the first of them is processed; minus infinity: at once. */
  due_ts: number;
  keys: Uint8Array;
}

/** What is told about the entries of a batch that wait: at least one. */
export function summaryOf({ runs, write_ts, ts, received_ts }: BatchColumns, gone: Uint8Array | null): BatchSummary {
  const keys: number[] = [];
  let [count, first, last, due_ts] = [0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { key, from, to } of runs) {
    let [here, begin, end] = [0, 0, 0];
    for (let place = from; place < to; place++) {
      if (isMarked(gone, place)) continue;
      const written = write_ts[place]!;
      if (here++ === 0) begin = written;
      end = written;
      const due = written > received_ts[place]! + believedAhead ? written : Number.NEGATIVE_INFINITY;
      if (due < due_ts) due_ts = due;
      const time = ts[place]!;
      if (time < low) low = time;
      if (time > high) high = time;
    }
    if (here === 0) continue;
    keys.push(key, here, begin, end);
    count += here;
    first = Math.min(first, begin);
    last = Math.max(last, end);
  }
  const blob = Buffer.allocUnsafe(8 * keys.length);
  for (const [i, value] of keys.entries()) blob.writeDoubleLE(value, 8 * i);
  const times = low <= high ? { first_ts: low, last_ts: high } : { first_ts: null, last_ts: null };
  return { count, first, last, ...times, due_ts, keys: blob };
}

// ---------------------------------------------------------------- writing

/**
 * Stores entries, ordered by key and `write_ts` and at least one, each under a revision of its own. Inside `write`
 * only. Yields between rows.
 */
export function* insertBatches(file: StoreFile, user: number, rows: readonly BatchRow[]): Generator<void, void> {
  let id = takeNumbers(file, 'revision', rows.length);
  const insert = file.sql(`
    INSERT INTO batches (id, user, size, texts, count, first, last, first_ts, last_ts, due_ts, keys, columns, entries)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const { piece, spans } of rows.length > mostInColumns ? pieces(rows) : piecesOfChunks(rows)) {
    const columns = batchColumns(piece);
    const { count, first, last, first_ts, last_ts, due_ts, keys } = summaryOf(columns, null);
    const entries = writeTexts(piece, spans);
    const times = [first, last, first_ts, last_ts, due_ts];
    insert.run(id, user, count, count, count, ...times, keys, writeIdentities(columns), entries);
    id += piece.length;
    yield;
  }
}

/** A put of more entries keeps its texts: columns take longer to write, and its phone waits for that. */
const mostInColumns = 4_096;

/** What becomes a row of batches. */
interface BatchPiece {
  piece: readonly BatchRow[];
  /** Neighbours that are to lie in columns. */
  spans: readonly Neighbours[];
}

/** Entries cut as the timeseries is likely to cut them, as many of these pieces as a row of batches takes. */
function* piecesOfChunks(rows: readonly BatchRow[]): Generator<BatchPiece> {
  let [start, end, characters] = [0, 0, 0];
  let spans: Neighbours[] = [];
  for (const { from, to } of keyRuns(rows)) {
    for (const { length } of piecesInOrder(rows.slice(from, to))) {
      let size = 0;
      for (let at = end; at < end + length; at++) size += rows[at]!.text.length;
      if (end > start && (end + length - start > most.entries || characters + size > most.characters)) {
        yield { piece: rows.slice(start, end), spans };
        [start, characters, spans] = [end, 0, []];
      }
      spans.push({ from: end - start, to: end + length - start });
      end += length;
      characters += size;
    }
  }
  yield { piece: start === 0 ? rows : rows.slice(start), spans };
}

const whole = (piece: readonly BatchRow[]): BatchPiece => ({ piece, spans: [] });

function* pieces(rows: readonly BatchRow[]): Generator<BatchPiece> {
  let [start, characters] = [0, 0];
  // By number: the iterator of a loop in a generator costs an object or two for each of 10,000 rows.
  for (let at = 0; at < rows.length; at++) {
    const { length } = rows[at]!.text;
    const full = at - start >= most.entries || characters + length > most.characters;
    if (at > start && full) {
      yield whole(rows.slice(start, at));
      [start, characters] = [at, 0];
    }
    characters += length;
  }
  yield whole(start === 0 ? rows : rows.slice(start));
}

/** Entries in a batch. */
export interface Places {
  head: BatchHead;
  /** Each once. */
  places: number[];
}

/** Where entries of a user with these revisions were stored, batch by batch; those that no batch has are left out. */
export function placesOf(file: StoreFile, user: number, revisions: readonly number[]): Places[] {
  const found: Places[] = [];
  let last: Places | undefined;
  let before = Number.NaN;
  for (const revision of Float64Array.from(revisions).sort()) {
    if (revision === before || !Number.isSafeInteger(revision)) continue;
    before = revision;
    if (last === undefined || revision >= last.head.id + last.head.size) {
      const head = headWith(file, user, revision);
      if (head === undefined) continue;
      last = { head, places: [] };
      found.push(last);
    }
    last.places.push(revision - last.head.id);
  }
  return found;
}

/**
 * Takes entries out of their batch, those that still wait in it; returns how many. A batch goes with the last of its
 * entries. `batch`: its columns, where they were read. Inside `write` only.
 */
export function takeOut(file: StoreFile, { head, places }: Places, batch: Batch | null = null): number {
  const remove = file.sql('DELETE FROM batches WHERE id = ?');
  // Nearly always: all of a batch at once, and nothing of it went before.
  if (places.length === head.size && head.count === head.size) {
    remove.run(head.id);
    return head.size;
  }
  const opened = batch ?? openBatch(file, head);
  const leaving = places.filter((place) => opened.waits(place));
  if (leaving.length === 0) return 0;
  if (leaving.length === head.count) {
    remove.run(head.id);
    return leaving.length;
  }
  const gone = opened.goneWith(leaving);
  const { count, first, last, first_ts, last_ts, due_ts, keys } = summaryOf(opened.columns, gone);
  file
    .sql(`
      UPDATE batches SET gone = ?, count = ?, first = ?, last = ?, first_ts = ?, last_ts = ?, due_ts = ?, keys = ?
      WHERE id = ?`)
    .run(gone, count, first, last, first_ts, last_ts, due_ts, keys, head.id);
  dropTexts(file, opened, gone, count);
  return leaving.length;
}

/** Once few entries of a batch are left, for instance those whose time has not come, the texts of the others go. */
function dropTexts(file: StoreFile, batch: Batch, gone: Uint8Array, left: number): void {
  const { id } = batch.head;
  const { texts: held } = file.sql('SELECT texts FROM batches WHERE id = ?').get<{ texts: number }>(id)!;
  if (left > held / 4) return;
  const texts = batch.texts.all().map((text, place) => (isMarked(gone, place) ? '' : text));
  file.sql('UPDATE batches SET texts = ?, entries = ? WHERE id = ?').run(left, joinTexts(texts), id);
}
