// Entries of chunks in the order of a query, found but not read: as runs of neighbours, so that each entry costs
// nothing before it is read.
import type { TimeRange } from '../../model/time.ts';
import type { PickQuery } from '../store.ts';
import { type Chunk, type ChunkHead, comparePoints, firstPlace, type OrderPoint } from './chunk.ts';

/** The entries of a chunk that have one of the two times, ascending by it, then by `write_ts`. */
class TimeOrder {
  readonly count: number;
  private readonly times: Float64Array;
  private readonly write_ts: Float64Array;
  private readonly places: Uint16Array | null; // null: all, as they are

  constructor({ times, byTs }: Pick<Chunk<ChunkHead>, 'times' | 'byTs'>, time: 'ts' | 'write_ts') {
    this.times = times[time];
    this.write_ts = times.write_ts;
    this.places = time === 'ts' ? byTs : null;
    this.count = this.places?.length ?? this.times.length;
  }

  placeAt(i: number): number {
    return this.places === null ? i : this.places[i]!;
  }

  timeAt(i: number): number {
    return this.times[this.placeAt(i)]!;
  }

  pointAt(i: number): OrderPoint {
    const place = this.placeAt(i);
    return { time: this.times[place]!, write_ts: this.write_ts[place]! };
  }

  /** The first entry at a time or later. */
  firstFrom(time: number): number {
    return firstPlace(this.count, (i) => this.timeAt(i) >= time);
  }

  /** The first entry behind a point. */
  firstBehind(point: OrderPoint): number {
    return firstPlace(this.count, (i) => comparePoints(this.pointAt(i), point) > 0);
  }

  /** The first entry at a point or behind it. */
  firstAt(point: OrderPoint): number {
    return firstPlace(this.count, (i) => comparePoints(this.pointAt(i), point) >= 0);
  }
}

/** Entries of one chunk that follow one another in the order of a query. */
export class ChunkRun<Head extends ChunkHead> {
  readonly head: Head;
  readonly count: number;
  private readonly order: TimeOrder;
  private readonly first: number;
  private readonly step: 1 | -1;

  /** `first`: the entry in `order` with which the run begins; `step`: -1 for one that descends. */
  constructor(head: Head, order: TimeOrder, first: number, step: 1 | -1, count: number) {
    this.head = head;
    this.order = order;
    this.first = first;
    this.step = step;
    this.count = count;
  }

  /** The place in its chunk of an entry of the run; these are counted from 0. */
  placeAt(i: number): number {
    return this.order.placeAt(this.first + i * this.step);
  }

  /** The time by which the entries are in order. */
  timeAt(i: number): number {
    return this.order.timeAt(this.first + i * this.step);
  }

  pointAt(i: number): OrderPoint {
    return this.order.pointAt(this.first + i * this.step);
  }

  slice(from: number, to = this.count): ChunkRun<Head> {
    return new ChunkRun(this.head, this.order, this.first + from * this.step, this.step, to - from);
  }
}

/** Which times, in which order. */
export type TimesAsked = Pick<PickQuery, 'time' | 'from' | 'to' | 'descending' | 'within'>;

/** The next entries of one chunk behind `bound`, in the order of the query, `limit` at most. */
export function runsIn<Head extends ChunkHead>(
  chunk: Chunk<Head>,
  { time, from, to, descending, within }: TimesAsked,
  bound: OrderPoint,
  limit: number,
): ChunkRun<Head>[] {
  const order = new TimeOrder(chunk, time);
  const [low, high] = descending
    ? [from === undefined ? 0 : order.firstFrom(from), order.firstAt(bound)]
    : [order.firstBehind(bound), to === undefined ? order.count : order.firstFrom(to)];
  // Of descending runs the last parts are the first.
  const most = descending ? order.count : limit;
  const parts = within === undefined ? [{ from: low, to: high }] : partsWithin(order, low, high, within, most);
  const runs: ChunkRun<Head>[] = [];
  let left = limit;
  for (const part of descending ? parts.reverse() : parts) {
    const count = Math.min(part.to - part.from, left);
    if (count <= 0) continue;
    runs.push(new ChunkRun(chunk.head, order, descending ? part.to - 1 : part.from, descending ? -1 : 1, count));
    left -= count;
  }
  return runs;
}

/**
 * The parts of `low` up to `high` with times in one of the ranges, which ascend and lie apart; the first of them that
 * have `most` entries.
 */
function partsWithin(
  order: TimeOrder,
  low: number,
  high: number,
  ranges: readonly TimeRange[],
  most: number,
): TimeRange[] {
  const parts: TimeRange[] = [];
  for (let i = low, count = 0; i < high && count < most; ) {
    const time = order.timeAt(i);
    const range = ranges[firstPlace(ranges.length, (r) => ranges[r]!.to > time)];
    if (range === undefined) break;
    const from = Math.max(i, order.firstFrom(range.from));
    const to = Math.min(high, order.firstFrom(range.to));
    if (from < to) parts.push({ from, to });
    count += Math.max(0, to - from);
    i = Math.max(from, to);
  }
  return parts;
}

/**
 * The first `limit` entries of two lists of runs, each in order, in one order; `sign`: 1 ascending, -1 descending.
 */
export function mergedRuns<Head extends ChunkHead>(
  some: readonly ChunkRun<Head>[],
  others: readonly ChunkRun<Head>[],
  sign: 1 | -1,
  limit: number,
): ChunkRun<Head>[] {
  const merged: ChunkRun<Head>[] = [];
  const [a, b] = [new RunsLeft(some), new RunsLeft(others)];
  for (let count = 0; count < limit && a.first !== undefined && b.first !== undefined; count += merged.at(-1)!.count) {
    const [toA, toB] = [a.first.pointAt(0), b.first.pointAt(0)];
    merged.push(sign * comparePoints(toA, toB) <= 0 ? a.takeUpTo(toB, sign) : b.takeUpTo(toA, sign));
  }
  // Where the limit ended this, what follows is more than there is room for.
  return firstOfRuns([...merged, ...a.all(), ...b.all()], limit);
}

/** What is left of a list of runs. */
class RunsLeft<Head extends ChunkHead> {
  first: ChunkRun<Head> | undefined;
  private readonly runs: readonly ChunkRun<Head>[];
  private next = 1;

  constructor(runs: readonly ChunkRun<Head>[]) {
    this.runs = runs;
    this.first = runs[0];
  }

  /** Takes the entries of the first run up to a point, which comes no earlier than the first of them. */
  takeUpTo(point: OrderPoint, sign: 1 | -1): ChunkRun<Head> {
    const run = this.first!;
    const count = firstPlace(run.count, (i) => sign * comparePoints(run.pointAt(i), point) > 0);
    this.first = count < run.count ? run.slice(count) : this.runs[this.next++];
    return count < run.count ? run.slice(0, count) : run;
  }

  all(): ChunkRun<Head>[] {
    return this.first === undefined ? [] : [this.first, ...this.runs.slice(this.next)];
  }
}

/** The first `limit` entries of runs. */
export function firstOfRuns<Head extends ChunkHead>(runs: readonly ChunkRun<Head>[], limit: number): ChunkRun<Head>[] {
  const first: ChunkRun<Head>[] = [];
  let left = limit;
  for (const run of runs) {
    if (left === 0) break;
    first.push(run.count > left ? run.slice(0, left) : run);
    left -= first.at(-1)!.count;
  }
  return first;
}

/** Entries of runs. */
export const countOf = (runs: readonly ChunkRun<ChunkHead>[]): number =>
  runs.reduce((sum, { count }) => sum + count, 0);
