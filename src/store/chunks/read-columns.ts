// Reads columns of values. Each column is unpacked when it is asked for: whoever wants some fields pays for these.
import { powersOfTen, readDecimal } from '../../model/decimal.ts';
import { ByteReader } from './bytes.ts';
import { baseOf, endOfValue, type KnownTimes, layout, scalesOf256 } from './column-form.ts';
import { type DecimalForm, longestDecimal, writeDecimal } from './decimals.ts';
import type { Skeleton } from './group-skeleton.ts';
import { endOfText } from './skeletons.ts';

/** The values of one place in the texts of a group, unpacked when they are asked for: numbers, or bytes of a text. */
export interface ValueColumn {
  /** null for texts. */
  form: DecimalForm | null;
  /** Whole numbers, one for each text; of numbers only. */
  numbers(): Float64Array;
  /** Start and end of each value in the bytes; of texts only. */
  spots(): Int32Array;
  /**
   * What the values are in JSON, where they are no strings: numbers, and NaN for anything else; null for no numbers.
   */
  plain(): Float64Array | null;
}

/** Texts of one skeleton: literals with a column between each two of them. */
export interface ColumnGroup {
  literals: Uint8Array[];
  columns: ValueColumn[];
  /** What the literals make; null where that is not certain. Kept by `entry-fields.ts`. */
  skeleton?: Skeleton | null;
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
  const groups = heads.map(({ columns, literals }, group): ColumnGroup => {
    const own = rows[group]!;
    return {
      literals,
      columns: columns.map(({ kind, form }) => {
        if (form === null) return new TextColumn(bytes, own.length);
        const width = reader.byte();
        const from = reader.skip(width * own.length);
        return new NumberColumn({ bytes, from, width, kind, form, rows: own, times });
      }),
    };
  });
  let before: TextColumn | number = reader.place;
  for (const { columns } of groups) {
    for (const column of columns) if (column instanceof TextColumn) before = column.behind(before);
  }
  return { bytes, groups, groupOf, placeOf };
}

function none(): never {
  throw new Error('a column was read as what it is not'); // a mistake of this program
}

/** Where the numbers of a column lie, and what they are told from. */
interface PackedNumbers {
  bytes: Buffer;
  from: number;
  width: number;
  kind: number;
  form: DecimalForm;
  rows: readonly number[];
  times: KnownTimes;
}

class NumberColumn implements ValueColumn {
  readonly form: DecimalForm;
  private readonly packed: PackedNumbers;
  private whole: Float64Array | null = null;
  private exact: Float64Array | null = null;

  constructor(packed: PackedNumbers) {
    this.form = packed.form;
    this.packed = packed;
  }

  numbers(): Float64Array {
    this.whole ??= readNumbers(this.packed);
    return this.whole;
  }

  plain(): Float64Array {
    if (this.exact !== null) return this.exact;
    // Who reads fields seldom wants the texts as well: whole numbers of which nobody has asked become these in place.
    const whole = this.whole ?? readNumbers(this.packed);
    const own = this.whole === null ? whole : new Float64Array(whole.length);
    this.exact = toNumbers(whole, this.form, own);
    return this.exact;
  }

  spots(): never {
    return none();
  }
}

class TextColumn implements ValueColumn {
  readonly form = null;
  private readonly bytes: Buffer;
  private readonly count: number;
  private before: TextColumn | number = 0;
  private found: Int32Array | null = null;
  private exact: Float64Array | null = null;

  constructor(bytes: Buffer, count: number) {
    this.bytes = bytes;
    this.count = count;
  }

  /** Says where the column begins: behind another one, or at a place. */
  behind(before: TextColumn | number): this {
    this.before = before;
    return this;
  }

  private get start(): number {
    return typeof this.before === 'number' ? this.before : this.before.end;
  }

  private get end(): number {
    return this.count === 0 ? this.start : this.spots()[2 * this.count - 1]! + 1;
  }

  spots(): Int32Array {
    this.found ??= readSpots(this.bytes, this.start, this.count);
    return this.found;
  }

  plain(): Float64Array | null {
    const spots = this.spots();
    if (this.count > 0 && this.bytes[spots[0]!]! > nine) return null; // words, lists or objects, mostly
    if (this.exact === null) {
      const numbers = new Float64Array(this.count);
      for (let i = 0; i < numbers.length; i += 1) numbers[i] = numberIn(this.bytes, spots[2 * i]!, spots[2 * i + 1]!);
      this.exact = numbers;
    }
    return this.exact;
  }

  numbers(): never {
    return none();
  }
}

/** The texts of the columns. */
export function textsOf({ bytes, groups, groupOf, placeOf }: Columns): string[] {
  const count = groupOf.length;
  const read = groups.map(({ literals, columns }) => ({
    literals,
    columns: columns.map((column) => ({
      form: column.form,
      numbers: column.form === null ? noNumbers : column.numbers(),
      spots: column.form === null ? column.spots() : noSpots,
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

const nine = 0x39;

const signed = (value: number): number => (value % 2 === 1 ? -(value + 1) / 2 : value / 2);

function readNumbers({ bytes, from, width, kind, form, rows, times }: PackedNumbers): Float64Array {
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

/** The number that these bytes are in JSON; NaN for anything else. */
function numberIn(bytes: Buffer, start: number, end: number): number {
  if (bytes[start]! > nine) return Number.NaN; // a word, a list or an object
  const decimal = readDecimal(bytes, start, end);
  if (decimal !== null) return decimal;
  const text = bytes.toString('latin1', start, end);
  return jsonNumber.test(text) ? Number(text) : Number.NaN;
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The numbers that whole numbers stand for; NaN for one with zeros in front, which JSON does not have. */
function toNumbers(whole: Float64Array, { decimals, pad }: DecimalForm, into: Float64Array): Float64Array {
  const scale = powersOfTen[decimals]!;
  const least = pad > 1 ? powersOfTen[pad - 1]! * scale : 0;
  for (let i = 0; i < into.length; i += 1) {
    // Both are exact, so that the quotient is the double next to the decimal number.
    into[i] = Math.abs(whole[i]!) < least ? Number.NaN : whole[i]! / scale;
  }
  return into;
}
