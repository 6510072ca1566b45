// The texts of a chunk as columns of values: what neighbours have in common is kept once, and numbers as differences.
// Lossless, byte by byte, for any texts.
import { ByteWriter } from './bytes.ts';
import { baseOf, endOfValue, type KnownTimes, layout, scalesOf256 } from './column-form.ts';
import { type DecimalForm, readDecimals } from './decimals.ts';
import { endOfText, type Group, skeletonGroups } from './skeletons.ts';

/** The texts as columns; null for texts that would not come back from them. */
export function encodeColumns(texts: readonly string[], times: KnownTimes): Buffer | null {
  const buffer = bytesOf(texts);
  if (buffer === null) return null;
  const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  const grouped = skeletonGroups({ bytes, view }, texts.length);
  if (grouped === null) return null;
  const writer = new ByteWriter();
  writer.varint(grouped.groups.length);
  const columns: Column[][] = [];
  for (const group of grouped.groups) columns.push(columnsOf(bytes, group, times));
  for (const [i, group] of grouped.groups.entries()) writeSkeleton(writer, bytes, group, columns[i]!);
  writeRuns(writer, grouped.groupOf);
  for (const column of columns.flat()) if (column.values !== null) writeNumbers(writer, column.values);
  for (const [i, group] of grouped.groups.entries()) {
    for (const [slot, { kind }] of columns[i]!.entries()) {
      if (kind === layout.texts && !writeTexts(writer, bytes, group, slot)) return null;
    }
  }
  return writer.bytes();
}

function columnsOf(bytes: Uint8Array, group: Group, times: KnownTimes): Column[] {
  const columns: Column[] = [];
  for (let slot = 0; slot < group.kinds.length; slot += 1) columns.push(columnOf(bytes, group, slot, times));
  return columns;
}

/** Half of a pair, which UTF-8 cannot hold. */
const halfCharacter = /\p{Surrogate}/u;

/** A character takes so many bytes at most. */
const mostBytes = 3;

/** The texts, parted by `endOfText`; null for such as UTF-8 cannot hold. To join them first would take a copy more. */
function bytesOf(texts: readonly string[]): Buffer | null {
  let size = Math.max(texts.length - 1, 0);
  for (let i = 0; i < texts.length; i += 1) size += texts[i]!.length;
  const buffer = Buffer.allocUnsafe(mostBytes * size);
  let at = 0;
  for (let i = 0; i < texts.length; i += 1) {
    if (i > 0) buffer[at++] = endOfText;
    at += buffer.write(texts[i]!, at);
  }
  if (at !== size && texts.some((text) => halfCharacter.test(text))) return null;
  return buffer.subarray(0, at);
}

// ---------------------------------------------------------------- values to columns

interface Column {
  kind: number;
  form: DecimalForm | null;
  /** Whole numbers as they are written; null without. */
  values: Float64Array | null;
}

function columnOf(bytes: Uint8Array, group: Group, slot: number, times: KnownTimes): Column {
  if (group.differs[slot] === 0) return { kind: layout.same, form: null, values: null };
  const numbers = new Float64Array(group.rows.length);
  const form = readDecimals(bytes, group.spots, 2 * slot, 2 * group.kinds.length, numbers);
  if (form === null) return { kind: layout.texts, form: null, values: null };
  const kind = bestLayout(numbers, group.rows, form, times);
  if (kind !== layout.numbers) toDifferences(kind, numbers, group.rows, form, times);
  return { kind, form, values: numbers };
}

/** The layout in which the numbers take the fewest bits, about. */
function bestLayout(
  numbers: Float64Array,
  rows: readonly number[],
  form: DecimalForm,
  { write_ts, ts }: KnownTimes,
): number {
  const sizes = [0, 0, 0, 0]; // as they are, as differences, from `write_ts`, from `ts`
  let [one, byTs, byWriteTs] = [0, 0, 0];
  for (let i = 0; i < numbers.length; i += 1) {
    const value = numbers[i]!;
    const row = rows[i]!;
    const fromWriteTs = value - baseOf(write_ts[row]!, form);
    const fromTs = value - baseOf(ts[row]!, form);
    sizes[0]! += bitsOf(value);
    sizes[1]! += bitsOf(value - one);
    if (fromWriteTs !== byWriteTs) sizes[2]! += 1 + bitsOf(fromWriteTs);
    if (fromTs !== byTs) sizes[3]! += 1 + bitsOf(fromTs);
    [one, byWriteTs, byTs] = [value, fromWriteTs, fromTs];
  }
  const least = Math.min(...sizes);
  return layoutsBySize[sizes.indexOf(least)]!;
}

const layoutsBySize = [layout.numbers, layout.differences, layout.fromWriteTs, layout.fromTs] as const;

/** Bits of the size of a number; more than any number has where it is none, or too large to be told from. */
function bitsOf(value: number): number {
  const size = Math.abs(value);
  if (size < 0x7fffffff) return 32 - Math.clz32(size);
  return size < Number.MAX_SAFE_INTEGER / 2 ? 63 - Math.clz32(size / 0x80000000) : 1e9;
}

function toDifferences(
  kind: number,
  numbers: Float64Array,
  rows: readonly number[],
  form: DecimalForm,
  { write_ts, ts }: KnownTimes,
): void {
  const times = kind === layout.fromTs ? ts : write_ts;
  let before = 0;
  for (let i = 0; i < numbers.length; i += 1) {
    const value = numbers[i]!;
    numbers[i] = value - (kind === layout.differences ? before : baseOf(times[rows[i]!]!, form));
    before = value;
  }
}

// ---------------------------------------------------------------- writing

function writeSkeleton(writer: ByteWriter, bytes: Uint8Array, group: Group, columns: readonly Column[]): void {
  const { literals, spots } = group;
  const told = columns.filter(({ kind }) => kind !== layout.same);
  writer.varint(told.length);
  for (const { kind, form } of told) {
    writer.byte(kind);
    if (form !== null) for (const digits of [form.decimals, form.least, form.pad]) writer.byte(digits);
  }
  const literal = (i: number): Uint8Array => bytes.subarray(literals[2 * i]!, literals[2 * i + 1]!);
  let parts: Uint8Array[] = [literal(0)];
  for (const [slot, { kind }] of columns.entries()) {
    if (kind === layout.same) parts.push(bytes.subarray(spots[2 * slot]!, spots[2 * slot + 1]!));
    else {
      writer.block(Buffer.concat(parts));
      parts = [];
    }
    parts.push(literal(slot + 1));
  }
  writer.block(Buffer.concat(parts));
}

function writeRuns(writer: ByteWriter, values: Uint8Array): void {
  for (let start = 0; start < values.length; ) {
    let end = start + 1;
    while (end < values.length && values[end] === values[start]) end += 1;
    writer.varint(end - start);
    writer.byte(values[start]!);
    start = end;
  }
}

/** Byte by byte, the lowest bytes of all numbers first: the others are alike. */
function writeNumbers(writer: ByteWriter, values: Float64Array): void {
  let most = 0;
  for (let i = 0; i < values.length; i += 1) {
    values[i] = unsigned(values[i]!);
    most = Math.max(most, values[i]!);
  }
  let width = 1;
  while (scalesOf256[width]! <= most) width += 1;
  writer.byte(width);
  const bytes = writer.reserve(width * values.length);
  for (let i = 0; i < values.length; i += 1) {
    const upper = Math.floor(values[i]! / 0x100000000);
    const lower = values[i]! >>> 0;
    for (let place = 0, at = i; place < width; place += 1, at += values.length) {
      bytes[at] = place < 4 ? lower >>> (8 * place) : upper >>> (8 * place - 32);
    }
  }
}

const unsigned = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);

/** False for values that hold the character that ends one. */
function writeTexts(writer: ByteWriter, bytes: Uint8Array, { rows, kinds, spots }: Group, slot: number): boolean {
  const stride = 2 * kinds.length;
  let size = rows.length;
  for (let row = 0, spot = 2 * slot; row < rows.length; row += 1, spot += stride)
    size += spots[spot + 1]! - spots[spot]!;
  const out = writer.reserve(size);
  let at = 0;
  for (let row = 0, spot = 2 * slot; row < rows.length; row += 1, spot += stride) {
    for (let from = spots[spot]!; from < spots[spot + 1]!; from += 1) {
      const byte = bytes[from]!;
      if (byte === endOfValue) return false;
      out[at++] = byte;
    }
    out[at++] = endOfValue;
  }
  return true;
}
