// Some fields of entries, read from the columns of a chunk without their texts: each value is what `JSON.parse` makes
// of the text. What is not certain to be so is left to whoever parses the text.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import type { EntryFields } from '../store.ts';
import { longestDecimal, writeDecimal } from './decimals.ts';
import { mark, skeletonOf } from './group-skeleton.ts';
import type { ColumnGroup, Columns, ValueColumn } from './read-columns.ts';

/** Reads the entry of a place, until the next call; null where its text has to be parsed. */
export type EntryReader = (place: number) => Entry | null;

/** Reads nothing. */
export const unread: EntryReader = () => null;

/**
 * Reads the named fields of the entries of a chunk. Fields that an entry does not have are undefined: so all entries
 * have the same hidden class, and what reads them is compiled for it.
 */
export function fieldReader({ bytes, groups, groupOf, placeOf }: Columns, fields: EntryFields): EntryReader {
  const readers: (EntryReader | undefined)[] = [];
  return (place) => {
    const group = groupOf[place]!;
    readers[group] ??= groupReader(bytes, groups[group]!, fields);
    return readers[group](placeOf[place]!);
  };
}

/** Reads one value of a group; throws where the text has to be parsed. */
type ValueReader = (place: number) => JsonValue;

/** The values of one field of a group. */
interface NamedValues {
  name: string;
  /** By place, NaN for what is no number; null where there is none. */
  numbers: Float64Array | null;
  /** Reads what is no number. */
  read: ValueReader;
  /** True where all entries of the group have the same value. */
  isFixed: boolean;
}

function groupReader(bytes: Buffer, group: ColumnGroup, fields: EntryFields): EntryReader {
  if (group.skeleton === undefined) group.skeleton = skeletonOf(group.literals);
  const { skeleton } = group;
  if (skeleton === null) return unread;
  const { metadata, data, quoted } = skeleton;
  const valuesAt = (i: number): ColumnValues => (quoted[i] ? quotedValues : plainValues)(bytes, group.columns[i]!);
  const ofMetadata = valuesOf(metadata, fields.metadata, valuesAt);
  const ofData = valuesOf(data, fields.data, valuesAt);
  if (ofMetadata === null || ofData === null) return unread;
  return entryReader(blankOf(fields), ofMetadata, ofData);
}

const blanks = new WeakMap<EntryFields, Entry>();

/** An entry in which all of these fields are undefined. */
function blankOf(fields: EntryFields): Entry {
  let blank = blanks.get(fields);
  if (blank === undefined) {
    const [metadata, data] = [fields.metadata, fields.data].map((names) => names.map((name) => [name, null]));
    // An object to which a loop adds more than a dozen names becomes a slow one; what is parsed does not.
    const text = JSON.stringify({ metadata: Object.fromEntries(metadata!), data: Object.fromEntries(data!) });
    blank = JSON.parse(text) as Entry;
    for (const object of [blank.metadata, blank.data]) {
      for (const name in object) (object as Record<string, unknown>)[name] = undefined;
    }
    blanks.set(fields, blank);
  }
  return { metadata: { ...blank.metadata }, data: { ...blank.data } };
}

/** Fills one and the same entry with the values of each place. */
function entryReader(entry: Entry, ofMetadata: readonly NamedValues[], ofData: readonly NamedValues[]): EntryReader {
  const { metadata, data } = entry;
  for (const { name, isFixed, read } of ofMetadata) if (isFixed) metadata[name] = read(0);
  for (const { name, isFixed, read } of ofData) if (isFixed) data[name] = read(0);
  const [inMetadata, inData] = [ofMetadata, ofData].map((all) => all.filter(({ isFixed }) => !isFixed));
  return (place) => {
    try {
      fill(metadata, inMetadata!, place);
      fill(data, inData!, place);
      return entry;
    } catch {
      return null;
    }
  };
}

/** Sets the fields of a place; throws where its text has to be parsed. */
function fill(object: Record<string, JsonValue | undefined>, fields: readonly NamedValues[], place: number): void {
  for (let i = 0; i < fields.length; i += 1) {
    const { name, numbers, read } = fields[i]!;
    const number = numbers === null ? Number.NaN : numbers[place]!;
    object[name] = Number.isNaN(number) ? read(place) : number;
  }
}

/** Values of the fields that are there; null where one of them is a list or an object with values that differ. */
function valuesOf(
  object: JsonObject,
  names: readonly string[],
  valuesAt: (column: number) => ColumnValues,
): NamedValues[] | null {
  const found: NamedValues[] = [];
  for (const name of names) {
    if (!Object.hasOwn(object, name)) continue;
    if (name === '__proto__') return null; // to set it means something else
    const value = object[name]!;
    if (typeof value === 'string' && value.includes(mark)) {
      const { numbers, read } = stringValues(value, valuesAt);
      found.push({ name, numbers, read, isFixed: false });
    } else if (typeof value === 'object' && JSON.stringify(value).includes('\\u0001')) return null;
    else found.push({ name, numbers: null, read: () => value, isFixed: true });
  }
  return found;
}

/** A string of the skeleton with marks: a value, or pieces with values between them. */
function stringValues(value: string, valuesAt: (column: number) => ColumnValues): ColumnValues {
  const [first, ...parts] = value.split(mark);
  const pieces = parts.map((part) => {
    const end = part.indexOf(';');
    return { values: valuesAt(Number(part.slice(0, end))), after: part.slice(end + 1) };
  });
  if (pieces.length === 1 && first === '' && pieces[0]!.after === '') return pieces[0]!.values;
  const read: ValueReader = (place) =>
    pieces.reduce((text, { values, after }) => `${text}${values.read(place)}${after}`, first!);
  return { numbers: null, read };
}

// ---------------------------------------------------------------- values

/** The values of a column, see `NamedValues`. */
type ColumnValues = Pick<NamedValues, 'numbers' | 'read'>;

/** Values that stand for themselves. */
function plainValues(bytes: Buffer, column: ValueColumn): ColumnValues {
  const numbers = column.plain();
  if (column.form !== null) return { numbers, read: refuse };
  const spots = column.spots();
  const read: ValueReader = (place) => {
    const [start, end] = [spots[2 * place]!, spots[2 * place + 1]!];
    return readWord(bytes, start, end) ?? parsed(bytes, start, end);
  };
  return { numbers, read };
}

/** A number that JSON may not have: the text tells. */
function refuse(): never {
  throw new SyntaxError('a number is not as JSON has them');
}

const parsed = (bytes: Buffer, start: number, end: number): JsonValue =>
  JSON.parse(bytes.toString('utf8', start, end)) as JsonValue;

const words = [true, false].map((value) => ({ value, bytes: Buffer.from(String(value)) }));

/** `true` or `false`; undefined where the bytes say anything else. */
function readWord(bytes: Buffer, start: number, end: number): boolean | undefined {
  for (const word of words) {
    if (end - start === word.bytes.length && isAt(bytes, start, word.bytes)) return word.value;
  }
  return undefined;
}

/** True where the bytes from `at` on are these. */
function isAt(bytes: Buffer, at: number, these: Uint8Array): boolean {
  for (let i = 0; i < these.length; i += 1) if (bytes[at + i] !== these[i]) return false;
  return true;
}

/** Values within quotes: what their bytes say. */
function quotedValues(bytes: Buffer, column: ValueColumn): ColumnValues {
  return { numbers: null, read: quotedReader(bytes, column) };
}

function quotedReader(bytes: Buffer, column: ValueColumn): ValueReader {
  const { form } = column;
  if (form === null) {
    const spots = column.spots();
    return (place) => {
      const [start, end] = [spots[2 * place]!, spots[2 * place + 1]!];
      for (let at = start; at < end; at += 1) {
        if (!isPlain(bytes[at]!)) return JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string;
      }
      return bytes.toString('latin1', start, end);
    };
  }
  const numbers = column.numbers();
  return (place) => digits.toString('latin1', 0, writeDecimal(digits, 0, numbers[place]!, form));
}

const digits = Buffer.alloc(longestDecimal);

/** True for an ASCII character that stands for itself between quotes. */
const isPlain = (byte: number): boolean => byte >= 0x20 && byte < 0x80 && byte !== 0x22 && byte !== 0x5c;
