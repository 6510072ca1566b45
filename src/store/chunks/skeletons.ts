// The skeleton of JSON texts: what neighbours have in common, and the places of the values in which they differ. Any
// text has a skeleton; that it is JSON only makes it a good one.

/** How the end of a value is found. */
const slotKind = {
  /** A number, `true`, `false` or `null`: up to a comma, a bracket or a blank. */
  scalar: 0,
  /** The inside of a JSON string: up to a quote that nothing escapes. */
  string: 1,
  /** A number within a string, such as the hour of a time. */
  digits: 2,
  /** Everything up to the end of the text. */
  rest: 3,
} as const;

/** The bytes of texts, and a view by which four of them are compared at once. */
export interface TextBytes {
  bytes: Uint8Array;
  view: DataView;
}

/** Texts as literals with a value between each two of them. */
export interface Group {
  /** Start and end of each literal; there is one more than values. */
  literals: Int32Array;
  /** Of each value, one of `slotKind`. */
  kinds: Uint8Array;
  /** Of each value, 1 once it differs between texts. */
  differs: Uint8Array;
  /** Start and end of each value, text by text. */
  spots: Int32Array;
  /** The texts, by number. */
  rows: number[];
  /** Start and end of the text that was added last. */
  last: { from: number; to: number };
}

/** A text with more values is one value: lists of different lengths have no skeleton in common. */
const mostSlots = 200;

const [quote, backslash, colon, dot] = [0x22, 0x5c, 0x3a, 0x2e];

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;

/** 1 for the bytes of which numbers and the words of JSON consist. */
const ofScalars = Uint8Array.from({ length: 256 }, (_, byte) =>
  isDigit(byte) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === dot ||
  (byte >= 0x41 && byte <= 0x5a) ||
  (byte >= 0x61 && byte <= 0x7a)
    ? 1
    : 0,
);

/**
 * A group for the text between two places: names stay in its literals. null for a text with too many values.
 * `splitTimes`: a string with a time of day is told by its numbers.
 */
function groupFor({ bytes }: TextBytes, from: number, to: number, splitTimes: boolean): Group | null {
  const literals: number[] = [from];
  const kinds: number[] = [];
  const slot = (kind: number, first: number, end: number): void => {
    literals.push(first, end);
    kinds.push(kind);
  };
  for (let at = from; at < to && kinds.length <= mostSlots; ) {
    const byte = bytes[at]!;
    if (byte === quote) {
      const end = endOfString(bytes, at + 1, to);
      if (end > to) break;
      if (bytes[end + 1] !== colon) {
        if (splitTimes && isTime(bytes, at + 1, end)) eachNumber(bytes, at + 1, end, slot);
        else slot(slotKind.string, at + 1, end);
      }
      at = end + 1;
    } else if (ofScalars[byte] === 1) {
      const end = endOfScalar(bytes, at, to);
      slot(slotKind.scalar, at, end);
      at = end;
    } else at += 1;
  }
  return kinds.length > mostSlots ? null : groupOf([...literals, to], kinds);
}

/** Texts for which a new group has room. */
const firstRows = 32;

function groupOf(literals: readonly number[], kinds: readonly number[]): Group {
  return {
    literals: Int32Array.from(literals),
    kinds: Uint8Array.from(kinds),
    differs: new Uint8Array(kinds.length),
    spots: new Int32Array(2 * kinds.length * firstRows),
    rows: [],
    last: { from: literals[0]!, to: literals.at(-1)! },
  };
}

/** The place of the quote that ends a string, or one beyond `to`. */
function endOfString(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at < to ? at : to + 1;
}

function endOfScalar(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && ofScalars[bytes[at]!] === 1) at += 1;
  return at;
}

function endOfDigits(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && isDigit(bytes[at]!)) at += 1;
  return at;
}

const longestTime = 40;

/** True for what reads like a date with a time of day: short, with two numbers parted by a colon. */
function isTime(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from > longestTime) return false;
  for (let at = from + 1; at < to - 1; at += 1) {
    if (bytes[at] === backslash) return false;
    if (bytes[at] === colon && isDigit(bytes[at - 1]!) && isDigit(bytes[at + 1]!)) return true;
  }
  return false;
}

function eachNumber(
  bytes: Uint8Array,
  from: number,
  to: number,
  slot: (kind: number, first: number, end: number) => void,
): void {
  for (let at = from; at < to; ) {
    const end = endOfDigits(bytes, at, to);
    if (end > at) slot(slotKind.digits, at, end);
    at = Math.max(end, at + 1);
  }
}

/** Adds a text to a group, if it has its skeleton. */
function add(group: Group, texts: TextBytes, from: number, to: number, row: number): boolean {
  const stride = 2 * group.kinds.length;
  const offset = stride * group.rows.length;
  if (offset + stride > group.spots.length) {
    const larger = new Int32Array(4 * group.spots.length);
    larger.set(group.spots);
    group.spots = larger;
  }
  // The first one is the text whose skeleton it is: between its literals lie its values.
  if (group.rows.length === 0) group.spots.set(group.literals.subarray(1, 1 + stride));
  else if (!follow(group, texts, from, to, offset, stride)) return false;
  group.rows.push(row);
  group.last.from = from;
  group.last.to = to;
  return true;
}

/**
 * Notes the start and end of each value of a text that is not the first. False for a text of another skeleton. It is
 * compared with the text before, from one value that differs to the next at once.
 */
function follow(
  group: Group,
  { bytes, view }: TextBytes,
  from: number,
  to: number,
  offset: number,
  stride: number,
): boolean {
  const { literals, kinds, differs, spots, last } = group;
  let at = from;
  let before = last.from; // the place in the text before that belongs to `at`
  let same = sameBytes(bytes, view, before, at, Math.min(last.to - before, to - at)); // from both on
  for (let i = 0; ; i += 1) {
    const length = literals[2 * i + 1]! - literals[2 * i]!;
    if (length > same) return false;
    at += length;
    same -= length;
    if (i === kinds.length) return at === to;
    const spot = offset + 2 * i;
    const kind = kinds[i];
    before = spots[spot - stride + 1]!;
    const size = before - spots[spot - stride]!;
    spots[spot] = at;
    // Most values are those of the text before, with the same byte behind them: they end where these did.
    if (size < same && kind !== slotKind.rest) {
      at += size;
      same -= size;
    } else {
      differs[i] = 1;
      if (kind === slotKind.scalar) at = endOfScalar(bytes, at, to);
      else if (kind === slotKind.string) at = endOfString(bytes, at, to);
      else if (kind === slotKind.digits) at = endOfDigits(bytes, at, to);
      else at = to;
      same = sameBytes(bytes, view, before, at, Math.min(last.to - before, to - at));
    }
    spots[spot + 1] = at;
  }
}

/** How many bytes are the same from two places on, `most` at most. */
function sameBytes(bytes: Uint8Array, view: DataView, one: number, other: number, most: number): number {
  let i = 0;
  while (i + 4 <= most && view.getInt32(one + i) === view.getInt32(other + i)) i += 4;
  while (i < most && bytes[one + i] === bytes[other + i]) i += 1;
  return i;
}

/** The most skeletons of a chunk; further texts are kept whole. */
const mostGroups = 24;

/** Once a chunk has so many, times are no longer told by their numbers: they may be none. */
const manyGroups = 8;

/** Ends each text. No JSON has it. */
export const endOfText = 0x1e;

/** The texts, parted by `endOfText`, by their skeletons; and the group of each. null for another number of texts. */
export function skeletonGroups(texts: TextBytes, count: number): { groups: Group[]; groupOf: Uint8Array } | null {
  const { bytes } = texts;
  const groups: Group[] = [];
  const order: number[] = []; // of those with a skeleton, the one met last first
  let whole = -1; // the group of the others
  const found = new Uint8Array(count);
  const start = (group: Group): number => groups.push(group) - 1;
  let from = 0;
  for (let row = 0; row < count; row += 1) {
    if (from > bytes.length) return null;
    let to = bytes.indexOf(endOfText, from);
    if (to < 0) to = bytes.length;
    let place = 0;
    while (place < order.length && !add(groups[order[place]!]!, texts, from, to, row)) place += 1;
    if (place === order.length) place = -1;
    if (place < 0 && order.length < mostGroups) {
      const group = groupFor(texts, from, to, order.length < manyGroups);
      if (group !== null && add(group, texts, from, to, row)) place = order.push(start(group)) - 1;
    }
    if (place < 0) {
      if (whole < 0) whole = start(groupOf([from, from, to, to], [slotKind.rest]));
      add(groups[whole]!, texts, from, to, row);
      found[row] = whole;
    } else {
      const one = order[place]!;
      if (place > 0) order.copyWithin(1, 0, place);
      order[0] = one;
      found[row] = one;
    }
    from = to + 1;
  }
  return from === bytes.length + 1 ? { groups, groupOf: found } : null;
}
