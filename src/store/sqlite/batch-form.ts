// The form of a batch of waiting entries on disk: identities and times as columns, texts together. Pure.
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';
import { ByteReader, ByteWriter } from '../chunks/bytes.ts';
import { HeldPiece, type PlaceInPiece, writePiece } from '../chunks/held-piece.ts';

/** A waiting entry in a batch. `key` is the number of its key in the file. */
export interface BatchRow {
  key: number;
  write_ts: number;
  ts: number | null;
  received_ts: number;
  /** True if the timeseries had it before its time had come. */
  kept: boolean;
  /** The earlier failures of an entry that was taken back from the errors. */
  failed: { first_ts: number; tries: number } | null;
  /** JSON. */
  text: string;
}

/** The entries of one key in a batch: places `from` to `to`, ascending by `write_ts`. */
export interface KeyRun {
  key: number;
  from: number;
  to: number;
}

/** The columns of a batch, by key and `write_ts`. */
export interface BatchColumns {
  runs: KeyRun[];
  write_ts: Float64Array;
  /** NaN where an entry has none. */
  ts: Float64Array;
  received_ts: Float64Array;
  /** What few entries have; null if none has. `failed_tries` is 0 where there is no failure. */
  rare: { kept: Float64Array; failed_first_ts: Float64Array; failed_tries: Float64Array } | null;
}

/** A batch that is not as it was written. */
export class BrokenBatch extends Error {}

/** First byte of both parts: a later form gets another number. */
const forms = {
  /** Columns; texts with a separator between them. */
  plain: 1,
  /** Such texts, compressed. */
  packed: 2,
  /** Texts of neighbours as columns of values, the others in one of the other forms. */
  pieces: 3,
} as const;

/** Form, three bytes without meaning, checksum: doubles behind it lie where an array of doubles may begin. */
const header = 8;

/** No JSON text holds this character. */
const separator = '\x1e';
const separatorCode = separator.charCodeAt(0);

// ---------------------------------------------------------------- columns

const hasReceipts = 1;
const hasRare = 2;

/** The columns of entries that are ordered by key and `write_ts`; at least one. */
export function batchColumns(rows: readonly BatchRow[]): BatchColumns {
  const [write_ts, ts, received_ts] = [empty(rows), empty(rows), empty(rows)];
  let hasRare = false;
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    write_ts[i] = row.write_ts;
    ts[i] = row.ts ?? Number.NaN;
    received_ts[i] = row.received_ts;
    hasRare ||= row.kept || row.failed !== null;
  }
  return { runs: keyRuns(rows), write_ts, ts, received_ts, rare: hasRare ? rareColumns(rows) : null };
}

const empty = ({ length }: readonly BatchRow[]): Float64Array => new Float64Array(length);

function rareColumns(rows: readonly BatchRow[]): NonNullable<BatchColumns['rare']> {
  const columns = { kept: empty(rows), failed_first_ts: empty(rows), failed_tries: empty(rows) };
  for (let i = 0; i < rows.length; i++) {
    const { kept, failed } = rows[i]!;
    columns.kept[i] = kept ? 1 : 0;
    columns.failed_first_ts[i] = failed?.first_ts ?? 0;
    columns.failed_tries[i] = failed?.tries ?? 0;
  }
  return columns;
}

/** The entries of each key. */
export function keyRuns(rows: readonly BatchRow[]): KeyRun[] {
  const runs: KeyRun[] = [];
  let last: KeyRun | undefined;
  for (let place = 0; place < rows.length; place++) {
    const { key } = rows[place]!;
    if (last?.key !== key) {
      last = { key, from: place, to: place };
      runs.push(last);
    }
    last.to = place + 1;
  }
  return runs;
}

/** The columns as bytes: doubles, little endian. */
export function writeIdentities({ runs, write_ts, ts, received_ts, rare }: BatchColumns): Uint8Array {
  const received = received_ts[0]!;
  const receipts = areAll(received_ts, received) ? [] : [received_ts];
  const rareOnes = rare === null ? [] : [rare.kept, rare.failed_first_ts, rare.failed_tries];
  const columns = [write_ts, ts, ...receipts, ...rareOnes];
  const flags = (receipts.length > 0 ? hasReceipts : 0) | (rare === null ? 0 : hasRare);
  const head = [write_ts.length, runs.length, flags, received];
  for (const { key, from, to } of runs) head.push(key, to - from);
  const values = new Float64Array(1 + head.length + columns.length * write_ts.length);
  values.set(head, 1);
  for (const [i, column] of columns.entries()) values.set(column, 1 + head.length + i * write_ts.length);
  return sealed(Buffer.from(values.buffer), forms.plain);
}

function areAll(values: Float64Array, value: number): boolean {
  for (let i = 0; i < values.length; i++) if (values[i] !== value) return false;
  return true;
}

/** The columns of a batch of `count` entries. Throws `BrokenBatch`. */
export function readIdentities(blob: Uint8Array, count: number): BatchColumns {
  const { content } = opened(blob, [forms.plain]);
  if (content.length < 32 || content.length % 8 > 0) throw broken('columns of doubles', `${content.length} bytes`);
  // A copy where the engine's bytes do not begin where doubles may.
  const bytes = content.byteOffset % 8 === 0 ? content : new Uint8Array(content);
  const values = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
  const [found, runCount, flags, received] = values as unknown as [number, number, number, number];
  if (found !== count) throw broken(`${count} entries`, String(found));
  const columns = 2 + (flags & hasReceipts ? 1 : 0) + (flags & hasRare ? 3 : 0);
  const at = 4 + 2 * runCount;
  if (values.length !== at + columns * count) throw broken(`${at + columns * count} doubles`, String(values.length));
  const runs: KeyRun[] = [];
  for (let i = 4, from = 0; i < at; i += 2) {
    const to = from + values[i + 1]!;
    runs.push({ key: values[i]!, from, to });
    from = to;
  }
  const all = new ColumnReader(values, at, count);
  const [write_ts, ts] = [all.next(), all.next()];
  const received_ts = flags & hasReceipts ? all.next() : new Float64Array(count).fill(received);
  const rare = flags & hasRare ? { kept: all.next(), failed_first_ts: all.next(), failed_tries: all.next() } : null;
  return { runs, write_ts, ts, received_ts, rare };
}

/** Takes columns of `count` doubles, one behind the other. */
class ColumnReader {
  private readonly values: Float64Array;
  private at: number;
  private readonly count: number;

  constructor(values: Float64Array, at: number, count: number) {
    this.values = values;
    this.at = at;
    this.count = count;
  }

  next(): Float64Array {
    this.at += this.count;
    return this.values.subarray(this.at - this.count, this.at);
  }
}

// ---------------------------------------------------------------- texts

/** Characters from which on texts are compressed: the tables of the compression cost more than fewer are worth. */
const packedFrom = 2048;

/** The texts of a batch, in the order of its entries. */
export function joinTexts(texts: readonly string[]): Uint8Array {
  if (sizeOf(texts) + texts.length < packedFrom) {
    const text = texts.join(separator);
    const blob = Buffer.alloc(header + Buffer.byteLength(text));
    blob.write(text, header);
    return sealed(blob, forms.plain);
  }
  const packed = deflateRawSync(joinedInAscii(texts) ?? Buffer.from(texts.join(separator)), { level: 1 });
  const blob = Buffer.allocUnsafe(header + packed.length);
  packed.copy(blob, header);
  return sealed(blob, forms.packed);
}

/**
 * The texts with separators, where all of them are ASCII; otherwise null. Written one by one they need no text of all
 * of them, which takes longer than to compress it.
 */
function joinedInAscii(texts: readonly string[]): Buffer | null {
  const size = sizeOf(texts) + texts.length;
  // With room behind them, a text that is not ASCII takes more bytes than it has characters wherever it stands.
  const bytes = Buffer.allocUnsafe(size + 4);
  let at = 0;
  for (const text of texts) {
    if (bytes.write(text, at) !== text.length) return null;
    at += text.length;
    bytes[at] = separatorCode;
    at += 1;
  }
  return bytes.subarray(0, size - 1);
}

/** Bytes that are unpacked at a time: zlib's own 16 KB make many pieces of a large put, which takes longer. */
const chunkSize = 64 * 1024;

/** Places of neighbours, `to` excluded, that the timeseries is likely to keep in one chunk. */
export interface Neighbours {
  from: number;
  to: number;
}

/** Entries from which on neighbours lie in columns: fewer cost more than they are worth, to write and to read. */
const fewest = 128;

/** The texts of a batch, in the order of its entries, with the columns of these neighbours. */
export function writeTexts(rows: readonly BatchRow[], spans: readonly Neighbours[]): Uint8Array {
  const pieces: { from: number; bytes: Uint8Array }[] = [];
  const others: string[] = [];
  let end = 0;
  for (const { from, to } of spans) {
    const bytes = to - from < fewest ? null : writePiece(rows.slice(from, to));
    if (bytes === null) continue;
    addTexts(others, rows, end, from);
    pieces.push({ from, bytes });
    end = to;
  }
  addTexts(others, rows, end, rows.length);
  if (pieces.length === 0) return joinTexts(others);
  const writer = new ByteWriter();
  for (let i = 0; i < header; i += 1) writer.byte(0);
  writer.varint(pieces.length);
  for (const { from, bytes } of pieces) {
    writer.varint(from);
    writer.block(bytes);
  }
  if (others.length > 0) writer.block(joinTexts(others));
  return sealed(writer.bytes(), forms.pieces);
}

function addTexts(texts: string[], rows: readonly BatchRow[], from: number, to: number): void {
  for (let place = from; place < to; place += 1) texts.push(rows[place]!.text);
}

/** The texts of a batch as they are read. */
export interface BatchTexts {
  /** Characters of all of them. */
  size: number;
  all(): readonly string[];
  at(place: number): string;
  /** Where columns have a text; null if none have. */
  held(place: number): PlaceInPiece | null;
  /** The same for who wants no other places: where these are little of the batch, the rest goes from memory. */
  only(places: readonly number[]): TextsAt;
}

/** Texts of some places of a batch. */
export type TextsAt = Pick<BatchTexts, 'size' | 'at' | 'held'>;

/** The texts of a batch of `count` entries; of columns, each piece when it is asked for. Throws `BrokenBatch`. */
export function readTexts(blob: Uint8Array, count: number): BatchTexts {
  if (formOf(blob) === forms.pieces) return readPieces(blob, count);
  return new PlainTexts(partTexts(blob, count));
}

class PlainTexts implements BatchTexts {
  readonly size: number;
  private readonly texts: readonly string[];

  constructor(texts: readonly string[]) {
    this.texts = texts;
    this.size = sizeOf(texts);
  }

  all(): readonly string[] {
    return this.texts;
  }

  at(place: number): string {
    return this.texts[place]!;
  }

  held(): null {
    return null;
  }

  only(places: readonly number[]): TextsAt {
    if (this.size < leastToLeave) return this;
    const some = new Map(places.map((place) => [place, this.at(place)]));
    if (sizeOf([...some.values()]) > this.size / 2) return this;
    for (const [place, text] of some) some.set(place, copyOf(text));
    return new SomeTexts(some);
  }
}

/** Characters of a batch from which on it is worth to copy a few of its texts. */
const leastToLeave = 64 * 1024;

/** The text with memory of its own: a part of a text shares that of the whole, which stays as long as any part does. */
const copyOf = (text: string): string => Buffer.from(text).toString();

/** Texts that were taken out of a batch. */
class SomeTexts implements TextsAt {
  readonly size: number;
  private readonly texts: ReadonlyMap<number, string>;

  constructor(texts: ReadonlyMap<number, string>) {
    this.texts = texts;
    this.size = sizeOf([...texts.values()]);
  }

  at(place: number): string {
    return this.texts.get(place)!;
  }

  held(): null {
    return null;
  }
}

function sizeOf(texts: readonly string[]): number {
  let size = 0;
  for (const { length } of texts) size += length;
  return size;
}

/** Places of a batch, `to` excluded, and the columns that have their texts. */
interface PlacedPiece extends Neighbours {
  piece: HeldPiece;
}

class PiecesAndTexts implements BatchTexts {
  readonly size: number;
  private readonly count: number;
  private readonly pieces: readonly PlacedPiece[];
  private readonly others: readonly string[];

  /** `pieces` in the order of their places; `others`: the texts of the places between them. */
  constructor(count: number, pieces: readonly PlacedPiece[], others: readonly string[]) {
    this.count = count;
    this.pieces = pieces;
    this.others = others;
    let size = sizeOf(others);
    for (const { piece } of pieces) size += piece.size;
    this.size = size;
  }

  all(): readonly string[] {
    const texts: string[] = [];
    for (let place = 0; place < this.count; place += 1) texts.push(this.at(place));
    return texts;
  }

  at(place: number): string {
    let before = place;
    for (const { from, to, piece } of this.pieces) {
      if (place < from) break;
      if (place < to) return piece.texts[place - from]!;
      before -= piece.count;
    }
    return this.others[before]!;
  }

  held(place: number): PlaceInPiece | null {
    for (const { from, to, piece } of this.pieces) {
      if (place < to) return place < from ? null : { piece, place: place - from };
    }
    return null;
  }

  /** Columns take little. */
  only(): TextsAt {
    return this;
  }
}

function readPieces(blob: Uint8Array, count: number): BatchTexts {
  const { content } = opened(blob, [forms.pieces]);
  const reader = new ByteReader(Buffer.from(content.buffer, content.byteOffset, content.length));
  const pieces: PlacedPiece[] = [];
  let [held, end] = [0, 0];
  for (let left = reader.varint(); left > 0; left -= 1) {
    const from = reader.varint();
    const piece = new HeldPiece(reader.block());
    if (from < end) throw broken('pieces one behind the other', `one at ${from}`);
    end = from + piece.count;
    held += piece.count;
    pieces.push({ from, to: end, piece });
  }
  if (end > count) throw broken(`${count} entries`, `${end} or more`);
  const others = held === count ? [] : partTexts(reader.block(), count - held);
  return new PiecesAndTexts(count, pieces, others);
}

/** The texts of a batch of `count` entries. Throws `BrokenBatch`. */
export function splitTexts(blob: Uint8Array, count: number): readonly string[] {
  return readTexts(blob, count).all();
}

function partTexts(blob: Uint8Array, count: number): string[] {
  const { form, content } = opened(blob, [forms.plain, forms.packed]);
  const bytes = form === forms.packed ? inflateRawSync(content, { chunkSize }) : content;
  const texts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8').split(separator);
  if (texts.length === count) return texts;
  throw broken(`${count} entries`, String(texts.length));
}

// ---------------------------------------------------------------- both parts

/** The checksum of the bytes; of pieces, of their form too, which the older forms leave out. */
const sumOf = (form: number, content: Uint8Array): number => crc32(content, form === forms.pieces ? form : 0);

function sealed(blob: Buffer, form: number): Uint8Array {
  blob.writeUInt32LE(form, 0);
  blob.writeUInt32LE(sumOf(form, blob.subarray(header)), 4);
  return blob;
}

/** Where the checksum of a part lies, what it covers, and how far it is from what it should be (exclusive or). */
export function checksumIn(blob: Uint8Array): { at: number; covers: number; difference: number } {
  const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  if (bytes.length < header) return { at: 0, covers: 0, difference: 0 };
  return { at: 4, covers: header, difference: bytes.readUInt32LE(4) ^ sumOf(formOf(bytes), bytes.subarray(header)) };
}

/** The form of a part; 0 where it is too short for one. */
function formOf(blob: Uint8Array): number {
  return blob.length < header ? 0 : Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength).readUInt32LE(0);
}

function opened(blob: Uint8Array, known: readonly number[]): { form: number; content: Uint8Array } {
  const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  if (bytes.length < header) throw broken('a batch', `${bytes.length} bytes`);
  const form = formOf(bytes);
  if (!known.includes(form)) throw broken(`a batch of form ${known.join(' or ')}`, String(form));
  const content = bytes.subarray(header);
  const [expected, found] = [bytes.readUInt32LE(4), sumOf(form, content)];
  if (expected !== found) throw broken(`the checksum ${expected}`, String(found));
  return { form, content };
}

function broken(expected: string, found: string): BrokenBatch {
  return new BrokenBatch(`expected ${expected}, found ${found}`);
}
