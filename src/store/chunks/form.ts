// The form of a chunk of entries on disk: their times and zones as columns, their texts compressed together. Pure.
import { crc32 } from 'node:zlib';
import { ByteReader, ByteWriter } from './bytes.ts';
import { pack, unpack } from './pack.ts';

/** An entry in a chunk: its text, and what it is found by. */
export interface ChunkRow {
  write_ts: number;
  ts: number | null;
  received_ts: number;
  /** The phone's time zone, where the entry names a valid one. */
  zone: string | null;
  /** JSON. */
  text: string;
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

/** No JSON text holds this character. */
const separator = '\x1e';

/** First byte of both parts: a later form gets another number. */
const form = 1;

/** Both parts of a chunk, each with its form and checksum. `rows` come in the order of `write_ts`, at least one. */
export function encodeChunk(rows: readonly ChunkRow[]): { times: Uint8Array; entries: Uint8Array } {
  const texts = rows.map(({ text }) => text).join(separator);
  return { times: sealed(encodeTimes(rows)), entries: sealed(Buffer.from(texts)) };
}

/** The columns of a chunk of `count` entries. Throws `BrokenChunk`. */
export function decodeTimes(blob: Uint8Array, count: number): ChunkTimes {
  const reader = new ByteReader(opened(blob));
  const write_ts = readTimes(reader, count, null);
  const ts = readTimes(reader, count, write_ts);
  const received_ts = readRuns(reader, count, Float64Array, () => reader.double());
  const zones = Array.from({ length: reader.varint() }, () => reader.text() || null);
  const zone = readRuns(reader, count, Uint16Array, () => reader.varint());
  return { write_ts, ts, received_ts, zone, zones };
}

/** The texts of a chunk of `count` entries. Throws `BrokenChunk`. */
export function decodeTexts(blob: Uint8Array, count: number): string[] {
  const texts = opened(blob).toString('utf8').split(separator);
  if (texts.length === count) return texts;
  throw new BrokenChunk(`expected ${count} entries, found ${texts.length}`);
}

/** A chunk that is not as it was written. */
export class BrokenChunk extends Error {}

// ---------------------------------------------------------------- both parts

const header = 5; // bytes: form and checksum

function sealed(bytes: Uint8Array): Uint8Array {
  const packed = pack(bytes);
  const blob = Buffer.allocUnsafe(header + packed.length);
  blob[0] = form;
  blob.writeUInt32LE(crc32(packed), 1);
  packed.copy(blob, header);
  return blob;
}

function opened(blob: Uint8Array): Buffer {
  const bytes = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength);
  if (bytes.length < header) throw new BrokenChunk(`expected a chunk, found ${bytes.length} bytes`);
  if (bytes[0] !== form) throw new BrokenChunk(`expected a chunk of form ${form}, found ${bytes[0]}`);
  const packed = bytes.subarray(header);
  const [expected, found] = [bytes.readUInt32LE(1), crc32(packed)];
  if (expected !== found) throw new BrokenChunk(`expected the checksum ${expected}, found ${found}`);
  return unpack(packed);
}

// ---------------------------------------------------------------- columns

/** Nearly all times are whole milli- or microseconds: then differences are kept, which are small. */
const scales = [1e3, 1e6] as const;
const asDoubles = scales.length;

function encodeTimes(rows: readonly ChunkRow[]): Uint8Array {
  const writer = new ByteWriter();
  const write_ts = Float64Array.from(rows, (row) => row.write_ts);
  writeTimes(writer, write_ts, null);
  writeTimes(
    writer,
    Float64Array.from(rows, (row) => row.ts ?? Number.NaN),
    write_ts,
  );
  writeRuns(
    writer,
    rows.map((row) => row.received_ts),
    (value) => writer.double(value),
  );
  const zones = [...new Set(rows.map((row) => row.zone))];
  writer.varint(zones.length);
  for (const zone of zones) writer.text(zone ?? '');
  writeRuns(
    writer,
    rows.map((row) => zones.indexOf(row.zone)),
    (value) => writer.varint(value),
  );
  return writer.bytes();
}

/** Writes differences: to the value before, or to that of `base` in the same place. A missing value breaks no scale. */
function writeTimes(writer: ByteWriter, values: Float64Array, base: Float64Array | null): void {
  const scale = base !== null && values.includes(Number.NaN) ? asDoubles : scaleOf(values, base);
  writer.byte(scale);
  if (scale === asDoubles) {
    for (const value of values) writer.double(value);
    return;
  }
  const factor = scales[scale]!;
  let before = 0;
  for (let i = 0; i < values.length; i++) {
    const whole = Math.round(values[i]! * factor);
    writer.signed(whole - (base === null ? before : Math.round(base[i]! * factor)));
    before = whole;
  }
}

function readTimes(reader: ByteReader, count: number, base: Float64Array | null): Float64Array {
  const values = new Float64Array(count);
  const scale = reader.byte();
  const factor = scales[scale];
  let before = 0;
  for (let i = 0; i < count; i++) {
    if (factor === undefined) {
      values[i] = reader.double();
      continue;
    }
    before = reader.signed() + (base === null ? before : Math.round(base[i]! * factor));
    values[i] = before / factor;
  }
  return values;
}

/** The coarsest scale in which all values, and what they are told from, are whole numbers that doubles hold exactly. */
function scaleOf(values: Float64Array, base: Float64Array | null): number {
  const fits = (factor: number): boolean => {
    const isWhole = (value: number): boolean => {
      const whole = Math.round(value * factor);
      return Math.abs(whole) <= Number.MAX_SAFE_INTEGER / 4 && whole / factor === value && !Object.is(whole, -0);
    };
    const isNear = (value: number): boolean => Math.abs(value * factor) <= Number.MAX_SAFE_INTEGER / 4;
    return values.every(isWhole) && (base === null || base.every(isNear));
  };
  const found = scales.findIndex(fits);
  return found < 0 ? asDoubles : found;
}

/** Values that stay the same for long: how often, and which. */
function writeRuns(writer: ByteWriter, values: readonly number[], write: (value: number) => void): void {
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
