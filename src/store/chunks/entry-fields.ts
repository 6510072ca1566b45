// Some fields of entries, read from the columns of a chunk without their texts: each value is what `JSON.parse` makes
// of the text. What is not certain to be so is left to whoever parses the text.
import { powersOfTen, readDecimal } from '../../model/decimal.ts';
import type { Entry } from '../../model/entry.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import type { EntryFields } from '../store.ts';
import { longestDecimal, writeDecimal } from './decimals.ts';
import type { ColumnGroup, Columns, ValueColumn } from './read-columns.ts';

/** Reads the entry of a place; null where its text has to be parsed. */
export type EntryReader = (place: number) => Entry | null;

/**
 * Reads the named fields of the entries of a chunk. `reuse`: what it returns holds until the next call only, which
 * takes half the time where most fields are the same in all entries.
 */
export function fieldReader(columns: Columns, fields: EntryFields, reuse = false): EntryReader {
  const readers: (EntryReader | undefined)[] = [];
  return (place) => {
    const group = columns.groupOf[place]!;
    readers[group] ??= groupReader(columns.bytes, columns.groups[group]!, fields, reuse);
    return readers[group](columns.placeOf[place]!);
  };
}

/** Reads one value of a group; throws where the text has to be parsed. */
type ValueReader = (place: number) => JsonValue;

const unread: EntryReader = () => null;

function groupReader(
  bytes: Buffer,
  { literals, columns }: ColumnGroup,
  fields: EntryFields,
  reuse: boolean,
): EntryReader {
  const skeleton = skeletonOf(literals);
  if (skeleton === null) return unread;
  const { metadata, data } = skeleton.root;
  if (!isJsonObject(metadata) || !isJsonObject(data)) return unread;
  if ([skeleton.root, metadata, data].some((object) => Object.keys(object).some((name) => name.includes(mark)))) {
    return unread; // a name that differs between texts may be any
  }
  const slots = columns.map((column, i) => (skeleton.quoted[i] ? quotedReader : valueReader)(bytes, column));
  const ofMetadata = readersOf(metadata, fields.metadata, slots);
  const ofData = readersOf(data, fields.data, slots);
  if (ofMetadata === null || ofData === null) return unread;
  if (reuse) return reusingReader(ofMetadata, ofData);
  return (place) => {
    try {
      return { metadata: objectOf(ofMetadata, place) as unknown as Entry['metadata'], data: objectOf(ofData, place) };
    } catch {
      return null;
    }
  };
}

interface NamedReader {
  name: string;
  read: ValueReader;
  /** True where all entries of the group have the same value. */
  isFixed: boolean;
}

/** Fills one and the same entry with the values of each place. */
function reusingReader(ofMetadata: readonly NamedReader[], ofData: readonly NamedReader[]): EntryReader {
  const [metadata, data] = [fixedOf(ofMetadata), fixedOf(ofData)];
  const entry = { metadata, data } as unknown as Entry;
  const varying = (readers: readonly NamedReader[]): NamedReader[] => readers.filter(({ isFixed }) => !isFixed);
  const [metadataReaders, dataReaders] = [varying(ofMetadata), varying(ofData)];
  return (place) => {
    try {
      for (let i = 0; i < metadataReaders.length; i += 1) {
        metadata[metadataReaders[i]!.name] = metadataReaders[i]!.read(place);
      }
      for (let i = 0; i < dataReaders.length; i += 1) data[dataReaders[i]!.name] = dataReaders[i]!.read(place);
      return entry;
    } catch {
      return null;
    }
  };
}

function fixedOf(readers: readonly NamedReader[]): JsonObject {
  const object: JsonObject = {};
  for (const { name, isFixed, read } of readers) object[name] = isFixed ? read(0) : null;
  return object;
}

function objectOf(readers: readonly NamedReader[], place: number): JsonObject {
  const object: JsonObject = {};
  for (let i = 0; i < readers.length; i += 1) object[readers[i]!.name] = readers[i]!.read(place);
  return object;
}

// ---------------------------------------------------------------- the skeleton

/** Stands for a value; what follows it is the number of its column. No text has it where there is a skeleton. */
const mark = '\u0001';

interface Skeleton {
  /** The text of the group, with a mark for each value. */
  root: JsonObject;
  /** Of each column, true for values within quotes. */
  quoted: boolean[];
}

/** The object that the literals make; null where they make none, or it is not certain to be the object of each text. */
function skeletonOf(literals: readonly Uint8Array[]): Skeleton | null {
  let text = '';
  let inString = false;
  const quoted: boolean[] = [];
  for (const [i, bytes] of literals.entries()) {
    const literal = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8');
    if (literal.includes(mark) || literal.includes('\\u0001')) return null;
    for (let at = 0; at < literal.length; at += 1) {
      const character = literal[at];
      if (character === '"') inString = !inString;
      else if (character === '\\' && inString) at += 1;
      if (at === literal.length) return null; // what the backslash escapes is in the value
    }
    text += literal;
    if (i === literals.length - 1) break;
    quoted.push(inString);
    text += inString ? `\\u0001${i};` : `"\\u0001${i};"`;
  }
  try {
    const root: unknown = JSON.parse(text);
    return isJsonObject(root as JsonValue) ? { root: root as JsonObject, quoted } : null;
  } catch {
    return null;
  }
}

/** Readers of the fields that are there; null where one of them is a list or an object with values that differ. */
function readersOf(object: JsonObject, names: readonly string[], slots: readonly ValueReader[]): NamedReader[] | null {
  const readers: NamedReader[] = [];
  for (const name of names) {
    if (!Object.hasOwn(object, name)) continue;
    if (name === '__proto__') return null; // to set it means something else
    const value = object[name]!;
    if (typeof value === 'string') {
      readers.push({ name, read: stringReader(value, slots), isFixed: !value.includes(mark) });
    } else if (typeof value === 'object' && JSON.stringify(value).includes('\\u0001')) return null;
    else readers.push({ name, read: () => value, isFixed: true });
  }
  return readers;
}

/** A string of the skeleton: a value, or pieces with values between them, or always the same. */
function stringReader(value: string, slots: readonly ValueReader[]): ValueReader {
  const [first, ...parts] = value.split(mark);
  if (parts.length === 0) return () => value;
  const pieces = parts.map((part) => {
    const end = part.indexOf(';');
    return { read: slots[Number(part.slice(0, end))]!, after: part.slice(end + 1) };
  });
  if (pieces.length === 1 && first === '' && pieces[0]!.after === '') return pieces[0]!.read;
  return (place) => pieces.reduce((text, { read, after }) => `${text}${read(place)}${after}`, first!);
}

// ---------------------------------------------------------------- values

/** Values that stand for themselves. */
function valueReader(bytes: Buffer, column: ValueColumn): ValueReader {
  const { form } = column;
  if (form === null) {
    return (place) => {
      const spots = column.spots();
      const [start, end] = [spots[2 * place]!, spots[2 * place + 1]!];
      return readWord(bytes, start, end) ?? readDecimal(bytes, start, end) ?? parsed(bytes, start, end);
    };
  }
  const { decimals, pad } = form;
  const scale = powersOfTen[decimals]!;
  const least = pad > 1 ? powersOfTen[pad - 1]! * scale : 0; // a smaller number has zeros in front, which JSON has not
  return (place) => {
    const whole = column.numbers()[place]!;
    if (Math.abs(whole) < least) throw notJson();
    return whole / scale; // both are exact, so that the quotient is the double next to the decimal number
  };
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

const notJson = (): SyntaxError => new SyntaxError('a number is not as JSON has them');

/** Values within quotes: what their bytes say. */
function quotedReader(bytes: Buffer, column: ValueColumn): ValueReader {
  const { form } = column;
  if (form === null) {
    return (place) => {
      const spots = column.spots();
      const [start, end] = [spots[2 * place]!, spots[2 * place + 1]!];
      for (let at = start; at < end; at += 1) {
        if (!isPlain(bytes[at]!)) return JSON.parse(`"${bytes.toString('utf8', start, end)}"`) as string;
      }
      return bytes.toString('latin1', start, end);
    };
  }
  return (place) => digits.toString('latin1', 0, writeDecimal(digits, 0, column.numbers()[place]!, form));
}

const digits = Buffer.alloc(longestDecimal);

/** True for an ASCII character that stands for itself between quotes. */
const isPlain = (byte: number): boolean => byte >= 0x20 && byte < 0x80 && byte !== 0x22 && byte !== 0x5c;
