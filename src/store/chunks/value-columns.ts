// The texts of a chunk as columns of values: what neighbours have in common is kept once, and numbers as differences.
// Lossless, byte by byte, for any texts.
import { ByteReader, ByteWriter } from './bytes.ts';
import { type DecimalForm, longestDecimal, readDecimals, writeDecimal } from './decimals.ts';
import { endOfText, type Group, skeletonGroups } from './skeletons.ts';

/** The columns that a chunk has beside its texts: numbers that texts repeat are kept as these. */
export interface KnownTimes {
  write_ts: Float64Array;
  ts: Float64Array;
}

/** How the values of a column lie. */
const layout = { same: 0, texts: 1, numbers: 2, differences: 3, fromWriteTs: 4, fromTs: 5 } as const;

/** Ends each value of a column of texts. JSON has it between its values only. */
const endOfValue = 0x0a;

/** The texts as columns; null for texts that would not come back from them. */
export function encodeColumns(texts: readonly string[], times: KnownTimes): Uint8Array | null {
  const joined = texts.join('\x1e');
  const buffer = Buffer.from(joined);
  if (buffer.length !== joined.length && halfCharacter.test(joined)) return null;
  const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length);
  const view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
  const grouped = skeletonGroups({ bytes, view }, texts.length);
  if (grouped === null) return null;
  const writer = new ByteWriter();
  writer.varint(grouped.groups.length);
  const columns = grouped.groups.map((group) =>
    Array.from(group.kinds, (_, slot) => columnOf(bytes, group, slot, times)),
  );
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

/** Half of a pair, which UTF-8 cannot hold. */
const halfCharacter = /\p{Surrogate}/u;

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

const scales = Array.from({ length: 17 }, (_, i) => 10 ** i);

const baseOf = (time: number, { decimals }: DecimalForm): number => Math.round(time * scales[decimals]!);

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

const scalesOf256 = Array.from({ length: 8 }, (_, i) => 256 ** i);

const unsigned = (value: number): number => (value < 0 ? -2 * value - 1 : 2 * value);
const signed = (value: number): number => (value % 2 === 1 ? -(value + 1) / 2 : value / 2);

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

// ---------------------------------------------------------------- reading

/** What the values of a column are read from. */
interface ReadColumn {
  kind: number;
  form: DecimalForm;
  numbers: Float64Array;
  /** Start and end of each value in the bytes, of texts. */
  spots: Int32Array;
}

/** Texts of one skeleton, as they are read. */
interface ReadGroup {
  literals: Uint8Array[];
  columns: ReadColumn[];
  rows: number[];
}

/** The texts that `encodeColumns` was given. */
export function decodeColumns(bytes: Uint8Array, count: number, times: KnownTimes): string[] {
  const { groups, groupOf } = readColumns(bytes, count, times);
  const next = new Uint16Array(groups.length);
  let out = Buffer.allocUnsafe(Math.max(512 * count, 4096));
  let at = 0;
  for (let row = 0; row < count; row += 1) {
    const group = groupOf[row]!;
    const { literals, columns } = groups[group]!;
    const place = next[group]!++;
    for (let i = 0; i < literals.length; i += 1) {
      const literal = literals[i]!;
      const column = columns[i];
      const isText = column !== undefined && column.kind === layout.texts;
      const start = isText ? column.spots[2 * place]! : 0;
      const length = isText ? column.spots[2 * place + 1]! - start : longestDecimal;
      if (at + literal.length + length + 1 > out.length) {
        const larger = Buffer.allocUnsafe(2 * out.length + literal.length + length);
        larger.set(out.subarray(0, at));
        out = larger;
      }
      for (let j = 0; j < literal.length; j += 1) out[at++] = literal[j]!;
      if (column === undefined) break;
      if (isText) for (let j = 0; j < length; j += 1) out[at++] = bytes[start + j]!;
      else at = writeDecimal(out, at, column.numbers[place]!, column.form);
    }
    out[at++] = endOfText;
  }
  return out.toString('utf8', 0, at - 1).split('\x1e');
}

function readColumns(
  bytes: Uint8Array,
  count: number,
  times: KnownTimes,
): { groups: ReadGroup[]; groupOf: Uint8Array } {
  const reader = new ByteReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
  const groups: ReadGroup[] = Array.from({ length: reader.varint() }, () => {
    const columns = Array.from({ length: reader.varint() }, (): ReadColumn => {
      const kind = reader.byte();
      const isNumbers = kind !== layout.texts;
      const [decimals, least, pad] = isNumbers ? [reader.byte(), reader.byte(), reader.byte()] : [0, 0, 0];
      return { kind, form: { decimals, least, pad }, numbers: noNumbers, spots: noSpots };
    });
    return { columns, literals: Array.from({ length: columns.length + 1 }, () => reader.block()), rows: [] };
  });
  const groupOf = new Uint8Array(count);
  for (let start = 0; start < count; ) {
    const end = Math.min(start + reader.varint(), count);
    const group = reader.byte();
    groupOf.fill(group, start, end);
    for (let row = start; row < end; row += 1) groups[group]!.rows.push(row);
    start = end;
  }
  for (const { columns, rows } of groups) {
    for (const column of columns)
      if (column.kind !== layout.texts) column.numbers = readNumbers(reader, column, rows, times);
  }
  for (const { columns, rows } of groups) {
    for (const column of columns)
      if (column.kind === layout.texts) column.spots = reader.spots(rows.length, endOfValue);
  }
  return { groups, groupOf };
}

const noNumbers = new Float64Array(0);
const noSpots = new Int32Array(0);

function readNumbers(
  reader: ByteReader,
  { kind, form }: ReadColumn,
  rows: readonly number[],
  times: KnownTimes,
): Float64Array {
  const numbers = new Float64Array(rows.length);
  const width = reader.byte();
  for (let place = 0; place < width; place += 1) {
    const scale = scalesOf256[place]!;
    for (let i = 0; i < numbers.length; i += 1) numbers[i] = numbers[i]! + reader.byte() * scale;
  }
  let before = 0;
  const base = kind === layout.fromTs ? times.ts : times.write_ts;
  for (let i = 0; i < numbers.length; i += 1) {
    const value = signed(numbers[i]!);
    if (kind === layout.numbers) numbers[i] = value;
    else if (kind === layout.differences) numbers[i] = before += value;
    else numbers[i] = value + baseOf(base[rows[i]!]!, form);
  }
  return numbers;
}
