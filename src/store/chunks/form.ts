// The form of a chunk of entries on disk: their times and zones as columns, the values of their texts as columns. Pure.
import { crc32 } from 'node:zlib';
import { ByteReader, ByteWriter } from './bytes.ts';
import type { KnownTimes } from './column-form.ts';
import type { HeldPiece, PlaceInPiece } from './held-piece.ts';
import { pack, packAsIs, unpack } from './pack.ts';
import { type Columns, readColumns, textsOf } from './read-columns.ts';
import { readTimes, writeTimes } from './time-columns.ts';
import { encodeColumns } from './value-columns.ts';

/** An entry in a chunk: its text, and what it is found by. */
export interface ChunkRow {
  write_ts: number;
  ts: number | null;
  received_ts: number;
  /** The phone's time zone, where the entry names a valid one. */
  zone: string | null;
  /** JSON. */
  text: string;
  /** Where the text lies in columns already; told by an object that makes the text only when it is asked for. */
  held?: PlaceInPiece;
}

/** The columns of a chunk, in the order of `write_ts`. */
export interface ChunkTimes {
  write_ts: Float64Array;
  /** NaN where an entry has none. */
  ts: Float64Array;
  received_ts: Float64Array;
  /** Of each entry, a place in `zones`. */
  zone: Uint16Array;
  zones: readonly (string | null)[];
}

/** First byte of the entries of a chunk that a version before columns wrote, in SQL's words. */
export const olderForm = "x'01'";

/** First byte of both parts: how what follows it is written. A later form gets another number. */
const forms = {
  /** Times as columns, or texts with a separator between them, as all older chunks have it. */
  plain: 1,
  /** Texts as columns of values. */
  columns: 2,
  /** Texts as a list in JSON: such as no JSON is, with the separator or half a character in them. */
  list: 3,
} as const;

/** No JSON text holds this character. */
const separator = '\x1e';

/** What a chunk holds, without its bytes. */
export interface OpenedChunk {
  times: ChunkTimes;
  content(): ChunkContent;
}

/** The bytes of a chunk, and what reading them would give. */
export interface EncodedChunk {
  times: Uint8Array;
  entries: Uint8Array;
  opened: OpenedChunk;
}

/** Both parts of a chunk, each with its form and checksum. `rows` come in the order of `write_ts`, at least one. */
export function encodeChunk(rows: readonly ChunkRow[]): EncodedChunk {
  const times = timesOf(rows);
  const { entries, content } = encodeTexts(rows, times);
  // Times are differences already: to compress them saves a fifth of 5 bytes an entry, for 0.1 ms a chunk.
  return { times: sealed(forms.plain, packAsIs(encodeTimes(times))), entries, opened: { times, content } };
}

interface EncodedTexts {
  entries: Uint8Array;
  content(): ChunkContent;
}

function encodeTexts(rows: readonly ChunkRow[], times: KnownTimes): EncodedTexts {
  const piece = pieceOf(rows, times);
  if (piece !== null)
    return { entries: sealed(forms.columns, pack(piece.bytes)), content: () => contentOf(piece.columns) };
  const texts = rows.map(textOf);
  const columns = encodeColumns(texts, times);
  return columns === null ? encodedList(texts) : encodedColumns(columns, times);
}

const textOf = ({ text }: ChunkRow): string => text;

// What reads a chunk later keeps nothing but what it needs: so each is made where nothing else is in reach.

function encodedList(texts: string[]): EncodedTexts {
  const entries = sealed(forms.list, pack(Buffer.from(JSON.stringify(texts))));
  return { entries, content: () => ({ texts: () => texts, columns: null }) };
}

function encodedColumns(bytes: Buffer, times: KnownTimes): EncodedTexts {
  const content = (): ChunkContent => contentOf(readColumns(bytes, times.write_ts.length, times));
  return { entries: sealed(forms.columns, pack(bytes)), content };
}

function contentOf(columns: Columns): ChunkContent {
  return { texts: () => textsOf(columns), columns };
}

/**
 * The piece whose columns are those of the rows: they are all of it, in its order, with its times. null without one.
 */
function pieceOf(rows: readonly ChunkRow[], times: KnownTimes): HeldPiece | null {
  const piece = rows[0]!.held?.piece;
  if (piece === undefined || piece.count !== rows.length) return null;
  for (let i = 0; i < rows.length; i++) {
    const { held } = rows[i]!;
    if (held?.piece !== piece || held.place !== i) return null;
  }
  return piece.hasTimes(times) ? piece : null;
}

/** The columns of a chunk of `count` entries. Throws `BrokenChunk`. */
export function decodeTimes(blob: Uint8Array, count: number): ChunkTimes {
  const reader = new ByteReader(opened(blob, [forms.plain]).bytes);
  const write_ts = readTimes(reader, count, null);
  const ts = readTimes(reader, count, write_ts);
  const received_ts = readRuns(reader, count, Float64Array, () => reader.double());
  const zones = Array.from({ length: reader.varint() }, () => reader.text() || null);
  const zone = readRuns(reader, count, Uint16Array, () => reader.varint());
  return { write_ts, ts, received_ts, zone, zones };
}

/** The entries of a chunk, unpacked. */
export interface ChunkContent {
  /** Their texts; throws where the bytes are not as they were written. */
  texts(): string[];
  /** The values of their texts; null in a chunk that keeps texts as they are. */
  columns: Columns | null;
}

/** The entries of a chunk with these times. Throws `BrokenChunk`. */
export function decodeContent(blob: Uint8Array, times: ChunkTimes): ChunkContent {
  const { form, bytes } = opened(blob, Object.values(forms));
  const count = times.write_ts.length;
  if (form === forms.columns) {
    return contentOf(readColumns(bytes, count, times));
  }
  const text = bytes.toString('utf8');
  const texts = form === forms.list ? (JSON.parse(text) as string[]) : text.split(separator);
  if (texts.length === count) return { texts: () => texts, columns: null };
  throw new BrokenChunk(`expected ${count} entries, found ${texts.length}`);
}

/** The texts of a chunk with these times. Throws `BrokenChunk`. */
export function decodeTexts(blob: Uint8Array, times: ChunkTimes): string[] {
  return decodeContent(blob, times).texts();
}

/** A chunk that is not as it was written. */
export class BrokenChunk extends Error {}

// ---------------------------------------------------------------- both parts

const header = 5; // bytes: form and checksum

/** The checksum of the bytes and of their form; of the first form, as it always was, of the bytes alone. */
const sumOf = (form: number, packed: Uint8Array): number => crc32(packed, form === forms.plain ? 0 : form);

/** Where the checksum of a part lies, what it covers, and how far it is from what it should be (exclusive or). */
export function checksumOf(blob: Uint8Array): { at: number; covers: number; difference: number } {
  const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  if (bytes.length < header) return { at: 0, covers: 0, difference: 0 };
  return { at: 1, covers: header, difference: bytes.readUInt32LE(1) ^ sumOf(bytes[0]!, bytes.subarray(header)) };
}

function sealed(form: number, packed: Buffer): Uint8Array {
  const blob = Buffer.allocUnsafe(header + packed.length);
  blob[0] = form;
  blob.writeUInt32LE(sumOf(form, packed), 1);
  packed.copy(blob, header);
  return blob;
}

function opened(blob: Uint8Array, known: readonly number[]): { form: number; bytes: Buffer } {
  const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  if (bytes.length < header) throw new BrokenChunk(`expected a chunk, found ${bytes.length} bytes`);
  const form = bytes[0]!;
  if (!known.includes(form)) throw new BrokenChunk(`expected a chunk of form ${known.join(' or ')}, found ${form}`);
  const packed = bytes.subarray(header);
  const [expected, found] = [bytes.readUInt32LE(1), sumOf(form, packed)];
  if (expected !== found) throw new BrokenChunk(`expected the checksum ${expected}, found ${found}`);
  return { form, bytes: unpack(packed) };
}

// ---------------------------------------------------------------- columns

function timesOf(rows: readonly ChunkRow[]): ChunkTimes {
  const numbers = (): Float64Array => new Float64Array(rows.length);
  const [write_ts, ts, received_ts] = [numbers(), numbers(), numbers()];
  const zone = new Uint16Array(rows.length);
  const zones: (string | null)[] = [];
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]!;
    write_ts[i] = row.write_ts;
    ts[i] = row.ts ?? Number.NaN;
    received_ts[i] = row.received_ts;
    const known = zones.indexOf(row.zone);
    zone[i] = known < 0 ? zones.push(row.zone) - 1 : known;
  }
  return { write_ts, ts, received_ts, zone, zones };
}

function encodeTimes({ write_ts, ts, received_ts, zone, zones }: ChunkTimes): Uint8Array {
  const writer = new ByteWriter();
  writeTimes(writer, write_ts, null);
  writeTimes(writer, ts, write_ts);
  writeRuns(writer, received_ts, (value) => writer.double(value));
  writer.varint(zones.length);
  for (const name of zones) writer.text(name ?? '');
  writeRuns(writer, zone, (value) => writer.varint(value));
  return writer.bytes();
}

/** Values that stay the same for long: how often, and which. */
function writeRuns(writer: ByteWriter, values: Float64Array | Uint16Array, write: (value: number) => void): void {
  for (let start = 0; start < values.length; ) {
    let end = start + 1;
    while (end < values.length && values[end] === values[start]) end++;
    writer.varint(end - start);
    write(values[start]!);
    start = end;
  }
}

function readRuns<T extends Float64Array | Uint16Array>(
  reader: ByteReader,
  count: number,
  Values: new (count: number) => T,
  read: () => number,
): T {
  const values = new Values(count);
  for (let start = 0; start < count; ) {
    const end = start + reader.varint();
    values.fill(read(), start, end);
    start = end;
  }
  return values;
}
