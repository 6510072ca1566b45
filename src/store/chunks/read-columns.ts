// Reads columns of values. Each column is unpacked when it is asked for: whoever wants some fields pays for these.
import { ByteReader } from './bytes.ts';
import { baseOf, endOfValue, type KnownTimes, layout, scalesOf256 } from './column-form.ts';
import { type DecimalForm, longestDecimal, writeDecimal } from './decimals.ts';
import { endOfText } from './skeletons.ts';

/** The values of one place in the texts of a group: numbers, or bytes of a text. */
export interface ValueColumn {
  /** null for texts. */
  form: DecimalForm | null;
  /** Whole numbers, one for each text; of numbers only. */
  numbers(): Float64Array;
  /** Start and end of each value in the bytes; of texts only. */
  spots(): Int32Array;
}

/** Texts of one skeleton: literals with a column between each two of them. */
export interface ColumnGroup {
  literals: Uint8Array[];
  columns: ValueColumn[];
}

/** The columns of a chunk. */
export interface Columns {
  bytes: Buffer;
  groups: ColumnGroup[];
  /** The group of each text. */
  groupOf: Uint8Array;
  /** The place of each text among those of its group. */
  placeOf: Uint16Array;
}

/** The columns that `encodeColumns` wrote. Throws a `RangeError` where the bytes end too early. */
export function readColumns(bytes: Buffer, count: number, times: KnownTimes): Columns {
  const reader = new ByteReader(bytes);
  const heads = Array.from({ length: reader.varint() }, () => {
    const columns = Array.from({ length: reader.varint() }, () => {
      const kind = reader.byte();
      if (kind === layout.texts) return { kind, form: null };
      return { kind, form: { decimals: reader.byte(), least: reader.byte(), pad: reader.byte() } };
    });
    return { columns, literals: Array.from({ length: columns.length + 1 }, () => reader.block()) };
  });
  const groupOf = new Uint8Array(count);
  const placeOf = new Uint16Array(count);
  const rows = heads.map((): number[] => []);
  for (let start = 0; start < count; ) {
    const end = start + reader.varint();
    if (end > count) throw new RangeError(`the bytes hold more than ${count} texts`);
    const group = reader.byte();
    groupOf.fill(group, start, end);
    for (let row = start; row < end; row += 1) placeOf[row] = rows[group]!.push(row) - 1;
    start = end;
  }
  const numbers = heads.map(({ columns }, group) =>
    columns.map(({ kind, form }) => {
      if (form === null) return null;
      const width = reader.byte();
      const at = reader.skip(width * rows[group]!.length);
      return once(() => readNumbers(bytes, at, width, { kind, form }, rows[group]!, times));
    }),
  );
  let textsFrom = (): number => reader.place;
  const groups = heads.map(({ columns, literals }, group) => ({
    literals,
    columns: columns.map(({ form }, column): ValueColumn => {
      if (form !== null) return { form, numbers: numbers[group]![column]!, spots: none };
      const from = textsFrom; // one column of texts begins where the one before it ends
      const spots = once(() => readSpots(bytes, from(), rows[group]!.length));
      textsFrom = once(() => (rows[group]!.length === 0 ? from() : spots().at(-1)! + 1));
      return { form, numbers: none, spots };
    }),
  }));
  return { bytes, groups, groupOf, placeOf };
}

function none(): never {
  throw new Error('a column was read as what it is not'); // a mistake of this program
}

/** What `make` makes, made when it is asked for the first time. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** The texts of the columns. */
export function textsOf({ bytes, groups, groupOf, placeOf }: Columns): string[] {
  const count = groupOf.length;
  const read = groups.map(({ literals, columns }) => ({
    literals,
    columns: columns.map(({ form, numbers, spots }) => ({
      form,
      numbers: form === null ? noNumbers : numbers(),
      spots: form === null ? spots() : noSpots,
    })),
  }));
  let out = Buffer.allocUnsafe(Math.max(512 * count, 4096));
  let at = 0;
  for (let row = 0; row < count; row += 1) {
    const { literals, columns } = read[groupOf[row]!]!;
    const place = placeOf[row]!;
    for (let i = 0; i < literals.length; i += 1) {
      const literal = literals[i]!;
      const column = columns[i];
      const isText = column !== undefined && column.form === null;
      const start = isText ? column.spots[2 * place]! : 0;
      const length = isText ? column.spots[2 * place + 1]! - start : longestDecimal;
      if (at + literal.length + length + 1 > out.length) {
        const larger = Buffer.allocUnsafe(2 * out.length + literal.length + length);
        larger.set(out.subarray(0, at));
        out = larger;
      }
      for (let j = 0; j < literal.length; j += 1) out[at++] = literal[j]!;
      if (column === undefined) break;
      if (column.form === null) for (let j = 0; j < length; j += 1) out[at++] = bytes[start + j]!;
      else at = writeDecimal(out, at, column.numbers[place]!, column.form);
    }
    out[at++] = endOfText;
  }
  return out.toString('utf8', 0, at - 1).split('\x1e');
}

const noNumbers = new Float64Array(0);
const noSpots = new Int32Array(0);

const signed = (value: number): number => (value % 2 === 1 ? -(value + 1) / 2 : value / 2);

function readNumbers(
  bytes: Uint8Array,
  from: number,
  width: number,
  { kind, form }: { kind: number; form: DecimalForm },
  rows: readonly number[],
  times: KnownTimes,
): Float64Array {
  const numbers = new Float64Array(rows.length);
  for (let byte = 0, at = from; byte < width; byte += 1) {
    const scale = scalesOf256[byte]!;
    for (let i = 0; i < numbers.length; i += 1) numbers[i] = numbers[i]! + bytes[at++]! * scale;
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

function readSpots(bytes: Uint8Array, from: number, count: number): Int32Array {
  const spots = new Int32Array(2 * count);
  let at = from;
  for (let i = 0; i < count; i += 1) {
    spots[2 * i] = at;
    while (at < bytes.length && bytes[at] !== endOfValue) at += 1;
    spots[2 * i + 1] = at;
    at += 1;
  }
  if (at > bytes.length) throw new RangeError('the bytes end too early');
  return spots;
}
