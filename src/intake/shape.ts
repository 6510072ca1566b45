// The shape of an entry: what the texts of entries of one kind have in common. An entry of a known shape is read from
// its bytes, without parsing it as JSON.
import { readDecimal } from '../model/decimal.ts';
import type { EntryText } from '../model/entry.ts';
import { firstMilliseconds } from './take-entry.ts';

/** Literals with a value that is no container between each two of them. Key and type belong to the literals. */
export interface Shape {
  key: string;
  /** All literals, one behind the other; ASCII. */
  literals: Uint8Array;
  view: DataView;
  /** Where each literal ends. There is one literal more than values. */
  ends: Int32Array;
  /** Which value is `metadata.write_ts`. */
  writeTs: number;
  /** Which value is the data time (`dataTime`); -1 if entries of this shape have none. */
  ts: number;
}

/** The bytes of a body in ASCII, a view by which eight of them are compared at once, and their text. */
export interface AsciiBody {
  bytes: Uint8Array;
  view: DataView;
  text: string;
}

const [quote, backslash, minus, plus, point, zero, nine] = [0x22, 0x5c, 0x2d, 0x2b, 0x2e, 0x30, 0x39];

// ---------------------------------------------------------------- learning

interface Container {
  /** Null for an array. */
  names: Set<string> | null;
  path: string;
  /** Path of the value that comes next. */
  next: string;
}

/**
 * The shape of an entry in ASCII that was read from the whole of its text. Null if it has none that says all: strings
 * with escapes and repeated names need `JSON.parse`.
 */
export function shapeOf({ key, text }: EntryText): Shape | null {
  if (text.includes('\\')) return null;
  const open: Container[] = [];
  const parts: string[] = [];
  const paths: string[] = [];
  const members = new Set<string>();
  let start = 0; // of the literal that is under way
  let isName = false;
  for (const { 0: token, index } of text.matchAll(/"[^"]*"|[{}[\],:]|[^\s"{}[\],:]+/g)) {
    const within = open.at(-1);
    if (token === '{' || token === '[') {
      const path = within?.next ?? '';
      isName = token === '{';
      open.push({ names: isName ? new Set() : null, path, next: `${path}[]` });
    } else if (token === '}' || token === ']') {
      open.pop();
    } else if (token === ',') {
      isName = within?.names != null;
    } else if (isName && token !== ':' && within?.names) {
      isName = false;
      const name = token.slice(1, -1);
      if (within.names.has(name)) return null;
      within.names.add(name);
      within.next = within.path === '' ? name : `${within.path}.${name}`;
      members.add(within.next);
    } else if (token !== ':' && within !== undefined && !inLiteral.has(within.next)) {
      parts.push(text.slice(start, index));
      paths.push(isTime(token) ? within.next : '');
      start = index + token.length;
    }
  }
  parts.push(text.slice(start));
  const time = ['data.ts', 'data.start_ts', 'data.end_ts'].find((path) => members.has(path));
  const [writeTs, ts] = [paths.indexOf('metadata.write_ts'), time === undefined ? -1 : paths.indexOf(time)];
  if (writeTs === -1 || (time !== undefined && ts === -1)) return null;
  const literals = Buffer.from(parts.join(''), 'latin1');
  const ends = new Int32Array(parts.length);
  let end = 0;
  for (const [i, { length }] of parts.entries()) {
    end += length;
    ends[i] = end;
  }
  return { key, literals, view: viewOf(literals), ends, writeTs, ts };
}

/** Values that all entries of a shape share. */
const inLiteral = new Set(['metadata.key', 'metadata.type']);

/** Characters of a time in an entry of a known shape. */
const longestTime = 32;

/** True for a time as `follow` reads it. */
const isTime = (token: string): boolean =>
  /^\d/.test(token) && token.length <= longestTime && Number(token) < firstMilliseconds;

/** A view of just these bytes. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// ---------------------------------------------------------------- following

/** Bytes of the longest entry that is read by its shape. */
const longestEntry = 4096;

/** An entry of a known shape. */
export interface Followed {
  /** Where it ends, or where a text turned out to be none. */
  end: number;
  write_ts: number;
  ts: number;
}

/**
 * True if the text from `at` on begins with an entry of this shape that needs no change; `found` says where it ends,
 * and its times. False also where that is not certain, such as for times that are negative or in milliseconds.
 */
export function follow({ bytes, view, text }: AsciiBody, at: number, shape: Shape, found: Followed): boolean {
  const { literals, view: expected, ends, writeTs, ts } = shape;
  const last = ends.length - 1;
  const length = Math.min(bytes.length, at + longestEntry);
  let place = at;
  let k = 0;
  for (let i = 0; ; i += 1) {
    const end = ends[i]!;
    found.end = place;
    if (place + end - k > length) return false;
    // Eight bytes at once: as ASCII they are never a NaN, and equal as numbers only where they are the same bytes.
    for (; k + 8 <= end; k += 8, place += 8) {
      if (view.getFloat64(place, true) !== expected.getFloat64(k, true)) break;
    }
    for (; k < end && bytes[place] === literals[k]; k += 1) place += 1;
    found.end = place;
    if (k < end) return false;
    if (i === last) return true;
    const from = place;
    const first = bytes[from]!;
    if (first === quote) place = endOfString(bytes, from, length);
    else if (first === minus || (first >= zero && first <= nine)) place = endOfNumber(bytes, from, length);
    else place = endOfWord(bytes, from);
    if (place < 0) {
      found.end = ~place;
      return false;
    }
    if (i !== writeTs && i !== ts) continue;
    found.end = place;
    // What is in milliseconds is converted elsewhere, and so is whatever is no time at all.
    if (!(first >= zero && first <= nine && place - from <= longestTime)) return false;
    const time = readDecimal(bytes, from, place) ?? Number(text.slice(from, place));
    if (time >= firstMilliseconds) return false;
    if (i === writeTs) found.write_ts = time;
    else found.ts = time;
  }
}

/**
 * Behind the JSON string that begins here. If it has escapes, is none or goes on to `to`: `~` of the last place seen.
 */
function endOfString(bytes: Uint8Array, from: number, to: number): number {
  let at = from + 1;
  for (; at < to; at += 1) {
    const code = bytes[at]!;
    if (code === quote) return at + 1;
    if (code === backslash || code < 0x20) break;
  }
  return ~at;
}

/** Behind the JSON number that begins here; `~` of a place if it is none. What follows it, the next literal says. */
function endOfNumber(bytes: Uint8Array, from: number, to: number): number {
  let at = bytes[from] === minus ? from + 1 : from;
  const whole = at;
  at = endOfDigits(bytes, at, to);
  if (at === whole || (bytes[whole] === zero && at > whole + 1)) return ~at;
  if (bytes[at] === point) {
    const fraction = at + 1;
    at = endOfDigits(bytes, fraction, to);
    if (at === fraction) return ~at;
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at += bytes[at + 1] === plus || bytes[at + 1] === minus ? 2 : 1;
    const exponent = at;
    at = endOfDigits(bytes, exponent, to);
    if (at === exponent) return ~at;
  }
  return at;
}

/** Behind the digits; at the latest `to`, where no entry goes on. */
function endOfDigits(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at]! >= zero && bytes[at]! <= nine) at += 1;
  return at;
}

const words = ['true', 'false', 'null'].map((word) => Buffer.from(word));

function endOfWord(bytes: Uint8Array, from: number): number {
  for (const word of words) {
    let k = 0;
    while (k < word.length && bytes[from + k] === word[k]) k += 1;
    if (k === word.length) return from + k;
  }
  return ~from;
}
