// A chunk that was read: columns at once, texts when they are asked for.
import type { Entry } from '../../model/entry.ts';
import type { TimeRange } from '../../model/time.ts';
import { united } from '../marks.ts';
import type { EntryFields, EntryQuery } from '../store.ts';
import { compareTexts } from '../text-order.ts';
import { type EntryReader, fieldReader, unread } from './entry-fields.ts';
import type { ChunkContent, ChunkRow, ChunkTimes } from './form.ts';

/** The description of a chunk without its content. Chunks of a key do not overlap in `write_ts`. */
export interface ChunkHead {
  /** `write_ts` of its first and last entry. */
  first: number;
  last: number;
  count: number;
  /** Characters of its texts. */
  size: number;
}

/** A chunk as it is read. `Head`: the description by which its store finds it again. */
export class Chunk<Head extends ChunkHead> {
  readonly head: Head;
  readonly times: ChunkTimes;
  /** Characters that a text has on average. */
  readonly meanSize: number;
  private readonly readContent: () => ChunkContent;
  private content: ChunkContent | null = null;
  private kept: readonly string[] | null = null;
  private order: Uint16Array | null | undefined;
  private reader: { fields: EntryFields; read: EntryReader } | null = null; // the one used last

  constructor(head: Head, times: ChunkTimes, readContent: () => ChunkContent) {
    this.head = head;
    this.times = times;
    this.meanSize = head.size / head.count;
    this.readContent = readContent;
  }

  /** The texts of its entries, in the order of `write_ts`. */
  get texts(): readonly string[] {
    this.content ??= this.readContent();
    this.kept ??= this.content.texts();
    return this.kept;
  }

  /** The entry of a place. */
  entryAt(place: number): Entry {
    return JSON.parse(this.texts[place]!) as Entry;
  }

  /**
   * The named fields at least of the entry of a place, until the next call. Those it does not have may be undefined.
   */
  glanceAt(place: number, fields: EntryFields): Entry {
    if (this.reader?.fields !== fields) {
      this.content ??= this.readContent();
      const { columns } = this.content;
      this.reader = { fields, read: columns === null ? unread : fieldReader(columns, fields) };
    }
    return this.reader.read(place) ?? this.entryAt(place);
  }

  /** Places of the entries that have a data time, by data time, then `write_ts`; null: all, as they are. */
  get byTs(): Uint16Array | null {
    if (this.order === undefined) this.order = orderOf(this.times.ts);
    return this.order;
  }

  /** Place of the first entry that was not written before. */
  placeAt(writeTs: number): number {
    const { write_ts } = this.times;
    return firstPlace(write_ts.length, (i) => write_ts[i]! >= writeTs);
  }

  /** Place of the first entry that was written later. */
  placeAfter(writeTs: number): number {
    const { write_ts } = this.times;
    return firstPlace(write_ts.length, (i) => write_ts[i]! > writeTs);
  }

  /** The data times of its entries without a zone that were written from `from` up to `to`; null if there are none. */
  zonelessIn({ from, to }: TimeRange): TimeRange | null {
    const { write_ts, ts } = this.times;
    let found: TimeRange | null = null;
    for (let place = this.placeAt(from); place < write_ts.length && write_ts[place]! < to; place++) {
      if (this.zoneAt(place) !== null || Number.isNaN(ts[place]!)) continue;
      found = united(found, { from: ts[place]!, to: ts[place]! });
    }
    return found;
  }

  tsAt(place: number): number | null {
    const ts = this.times.ts[place]!;
    return Number.isNaN(ts) ? null : ts;
  }

  zoneAt(place: number): string | null {
    return this.times.zones[this.times.zone[place]!]!;
  }

  rows(): ChunkRow[] {
    const { write_ts, received_ts } = this.times;
    return this.texts.map((text, i) => ({
      write_ts: write_ts[i]!,
      ts: this.tsAt(i),
      received_ts: received_ts[i]!,
      zone: this.zoneAt(i),
      text,
    }));
  }
}

/** The places of numbers in their order; of equal ones the first place first. null: all, as they are. */
function orderOf(numbers: Float64Array): Uint16Array | null {
  if (areInOrder(numbers)) return null;
  const order = new Uint16Array(numbers.length);
  let [count, last, isSorted] = [0, Number.NEGATIVE_INFINITY, true];
  for (let place = 0; place < numbers.length; place++) {
    const number = numbers[place]!;
    if (Number.isNaN(number)) continue;
    order[count++] = place;
    if (number < last) isSorted = false;
    last = number;
  }
  const there = order.subarray(0, count);
  return isSorted ? there : there.sort((a, b) => numbers[a]! - numbers[b]! || a - b);
}

/** True for numbers that ascend, none of which is missing. */
function areInOrder(numbers: Float64Array): boolean {
  for (let i = 1; i < numbers.length; i++) if (!(numbers[i - 1]! <= numbers[i]!)) return false;
  return numbers.length > 0 && !Number.isNaN(numbers[0]!);
}

/** The first of `count` places that is `beyond`, where all after it are too; `count` if none is. */
export function firstPlace(count: number, beyond: (place: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (beyond(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** A point in the order of a query within one key. */
export interface OrderPoint {
  time: number;
  write_ts: number;
}

/** Negative when `a` comes first, ascending. */
export function comparePoints(a: OrderPoint, b: OrderPoint): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  return a.write_ts === b.write_ts ? 0 : a.write_ts < b.write_ts ? -1 : 1;
}

/** The start of the rows of a key: at the range, or after the cursor, whose key may come before or after this one. */
export function firstBound({ from, to, after, descending }: EntryQuery, key: string): OrderPoint {
  const edge = descending
    ? { time: to ?? Number.POSITIVE_INFINITY, write_ts: Number.NEGATIVE_INFINITY }
    : { time: from ?? Number.NEGATIVE_INFINITY, write_ts: Number.NEGATIVE_INFINITY };
  if (after === undefined) return edge;
  const order = compareTexts(key, after.key);
  const write_ts = order === 0 ? after.write_ts : order < 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  const start = { time: after.time, write_ts };
  const sign = descending ? -1 : 1;
  return sign * comparePoints(start, edge) > 0 ? start : edge;
}
