// Step "features": a track and motion readings -> 46 figures for every 15 s that say how the user moves there.
import { motionTypes } from '../../model/payloads.ts';
import type { Motion, Sampling } from '../observations.ts';
import { SortedWindow } from './sorted-window.ts';
import type { Track } from './track.ts';

/** s; a cell is a step of a grid of multiples of this since the epoch, the same for everybody (by convention) */
export const cellSeconds = 15;

/** Names of the features, in the order of the models. `missingFeature` is the value of an unknown feature. */
export const featureNames = [
  'since',
  'until',
  'gap',
  'gapv',
  'd15',
  'd30',
  'd60',
  'p60',
  'd150',
  'str150',
  'd300',
  'p300',
  'str300',
  'back60',
  'fwd60',
  'back180',
  'fwd180',
  'back420',
  'fwd420',
  'v2m_50',
  'v2m_90',
  'v5m_10',
  'v5m_50',
  'v5m_90',
  'v5m_max',
  'slow5m',
  'fast5m',
  'turn3m',
  'acc5m',
  'ss30',
  'ss120',
  'astill30',
  'astill90',
  'astill300',
  'awalk30',
  'awalk90',
  'awalk300',
  'abike30',
  'abike90',
  'abike300',
  'acar30',
  'acar90',
  'acar300',
  'anone30',
  'anone90',
  'anone300',
] as const;

/** Stands for a figure that is not known. */
const missingFeature = -1;

/** Thresholds of the features. All are set by hand, but `reading` (how long iOS may say nothing new) is physical. */
export interface FeatureOptions {
  /** s; farther from any location there are no cells: the user rests */
  reach: number;
  /** s; more silence before or after a cell is as much as this */
  longestSilence: number;
  /** s; a cell is covered when the locations around it lie nearer together */
  covered: number;
  /** m/s; slower and faster than these within five minutes is counted */
  slow: number;
  fast: number;
  /** m/s; slower there is no heading */
  heading: number;
  /** s; a motion reading of an iPhone holds at most this long */
  reading: number;
}

/** The values in use. A model is fitted for them: another value needs another model. */
export const featureDefaults: FeatureOptions = {
  reach: 1200,
  longestSilence: 3600,
  covered: 90,
  slow: 1,
  fast: 4,
  heading: 1,
  reading: 1200,
};

/** What cells are made of: one outing of one phone. */
export interface CellInput {
  track: Track;
  /** Ascending by `ts`. */
  motions: readonly Motion[];
  sampling: Sampling;
  /** s since the epoch; cells lie between these, both ends included */
  from: number;
  to: number;
}

/** Takes one cell; `features` is used again for the next one. */
export type CellVisitor = (ts: number, features: Float64Array) => void;

/** Cells on either side that a cell looks at: 420 s for its neighbours' speed, one more for theirs. */
const margin = 29;

/** Visits every cell within reach of a location, in order of time. */
export function forEachCell(input: CellInput, visit: CellVisitor, options = featureDefaults): void {
  const readings = readingShares(input, options);
  const speeds = meanSpeeds(input);
  const out = new Float64Array(featureNames.length);
  for (const [from, to] of stretchesNear(input, options)) {
    const grid = gridOf(input.track, from, to, options);
    const windows = windowsOf(grid, options);
    for (let i = 0, ts = from; ts <= to; i += 1, ts += cellSeconds) {
      around(grid, i + margin, out, options);
      windows(i + margin, out);
      speeds(ts, out);
      readings(ts, out);
      visit(ts, out);
    }
  }
}

/** First and last cell of every stretch of time within reach of a location. */
function stretchesNear({ track, from, to }: CellInput, { reach }: FeatureOptions): [number, number][] {
  const found: [number, number][] = [];
  for (const ts of track.ts) {
    const first = Math.ceil(Math.max(from, ts - reach) / cellSeconds) * cellSeconds;
    const last = Math.floor(Math.min(to, ts + reach) / cellSeconds) * cellSeconds;
    if (first > last) continue;
    const before = found.at(-1);
    if (before && first <= before[1] + cellSeconds) before[1] = Math.max(before[1], last);
    else found.push([first, last]);
  }
  return found;
}

/** Positions at the cells of a stretch and `margin` cells on either side. */
interface Grid {
  x: Float64Array;
  y: Float64Array;
  /** m along the track */
  metres: Float64Array;
  /** s to the location before and after, infinite if there is none */
  since: Float64Array;
  until: Float64Array;
  /** m/s over the gap between these; NaN where one is missing */
  gapSpeed: Float64Array;
  /** m/s from the cell before to the one after */
  speed: Float64Array;
}

function gridOf(track: Track, from: number, to: number, options: FeatureOptions): Grid {
  const n = (to - from) / cellSeconds + 1 + 2 * margin;
  const list = (): Float64Array => new Float64Array(n);
  const grid: Grid = {
    x: list(),
    y: list(),
    metres: list(),
    since: list(),
    until: list(),
    gapSpeed: list(),
    speed: list(),
  };
  const { ts: times, x, y, metres } = track;
  const count = times.length;
  let after = 0;
  for (let i = 0; i < n; i += 1) {
    const ts = from + (i - margin) * cellSeconds;
    while (after < count && times[after]! <= ts) after += 1;
    const a = Math.max(0, after - 1);
    const b = Math.min(after, count - 1);
    const share = b > a ? (ts - times[a]!) / (times[b]! - times[a]!) : 0;
    grid.x[i] = x[a]! + share * (x[b]! - x[a]!);
    grid.y[i] = y[a]! + share * (y[b]! - y[a]!);
    grid.metres[i] = metres[a]! + share * (metres[b]! - metres[a]!);
    grid.since[i] = after > 0 ? Math.min(ts - times[a]!, options.longestSilence) : options.longestSilence;
    grid.until[i] = after < count ? Math.min(times[b]! - ts, options.longestSilence) : options.longestSilence;
    grid.gapSpeed[i] = after > 0 && after < count ? apart(x, y, a, b) / (times[b]! - times[a]!) : missingFeature;
  }
  for (let i = 1; i < n - 1; i += 1) grid.speed[i] = apart(grid.x, grid.y, i - 1, i + 1) / (2 * cellSeconds);
  return grid;
}

function apart(x: Float64Array, y: Float64Array, a: number, b: number): number {
  const dx = x[b]! - x[a]!;
  const dy = y[b]! - y[a]!;
  return Math.sqrt(dx * dx + dy * dy);
}

/** Silence around the cell, and how far the user got around it: features 0 to 18. */
function around(
  { x, y, metres, since, until, gapSpeed, speed }: Grid,
  i: number,
  out: Float64Array,
  options: FeatureOptions,
): void {
  out[0] = since[i]!;
  out[1] = until[i]!;
  out[2] = Math.min(since[i]! + until[i]!, 2 * options.longestSilence);
  out[3] = gapSpeed[i]!;
  out[4] = speed[i]!;
  out[5] = apart(x, y, i - 2, i + 2) / 60;
  out[6] = apart(x, y, i - 4, i + 4) / 120;
  out[7] = (metres[i + 4]! - metres[i - 4]!) / 120;
  const d150 = apart(x, y, i - 10, i + 10) / 300;
  const p150 = (metres[i + 10]! - metres[i - 10]!) / 300;
  out[8] = d150;
  out[9] = d150 / Math.max(p150, 0.05);
  const d300 = apart(x, y, i - 20, i + 20) / 600;
  const p300 = (metres[i + 20]! - metres[i - 20]!) / 600;
  out[10] = d300;
  out[11] = p300;
  out[12] = d300 / Math.max(p300, 0.05);
  out[13] = apart(x, y, i, i - 4) / 60;
  out[14] = apart(x, y, i, i + 4) / 60;
  out[15] = apart(x, y, i, i - 12) / 180;
  out[16] = apart(x, y, i, i + 12) / 180;
  out[17] = apart(x, y, i, i - 28) / 420;
  out[18] = apart(x, y, i, i + 28) / 420;
}

/** Speed, turning and acceleration over some minutes: features 19 to 28. Cells have to be visited in order. */
function windowsOf(grid: Grid, options: FeatureOptions): (i: number, out: Float64Array) => void {
  const { speed, since, until } = grid;
  const n = speed.length;
  const isCovered = (i: number): boolean => since[i]! + until[i]! < options.covered;
  const [slow, fast, turned, ridden] = [n, n, n, n].map((size) => new Float64Array(size + 1)) as Float64Array[];
  let heading = Number.NaN;
  for (let i = 0; i < n; i += 1) {
    const covered = isCovered(i);
    slow![i + 1] = slow![i]! + (covered && speed[i]! < options.slow ? 1 : 0);
    fast![i + 1] = fast![i]! + (covered && speed[i]! > options.fast ? 1 : 0);
    const moving = i > 0 && i < n - 1 && speed[i]! > options.heading;
    const here = moving ? Math.atan2(grid.y[i + 1]! - grid.y[i - 1]!, grid.x[i + 1]! - grid.x[i - 1]!) : Number.NaN;
    const change = Math.abs(here - heading); // NaN unless both move
    turned![i + 1] = turned![i]! + (change >= 0 ? Math.min(change, 2 * Math.PI - change) : 0);
    ridden![i + 1] = ridden![i]! + (moving ? (speed[i]! * cellSeconds) / 1000 : 0);
    heading = here;
  }
  const near = new SortedWindow(17);
  const far = new SortedWindow(41);
  const changes = new SortedWindow(41);
  const first = margin - 20;
  let next = first; // cells before this one went into the windows
  const change = (i: number): number => Math.abs(speed[i]! - speed[i - 1]!) / cellSeconds;
  return (i, out) => {
    for (; next <= i + 20; next += 1) {
      if (isCovered(next)) far.add(speed[next]!);
      changes.add(change(next));
      const gone = next - 41;
      if (gone >= first) {
        if (isCovered(gone)) far.remove(speed[gone]!);
        changes.remove(change(gone));
      }
      const behind = next - 12; // the near window ends 12 cells before the far one
      if (behind >= margin - 8 && isCovered(behind)) near.add(speed[behind]!);
      if (behind - 17 >= margin - 8 && isCovered(behind - 17)) near.remove(speed[behind - 17]!);
    }
    out[19] = near.at(0.5, missingFeature);
    out[20] = near.at(0.9, missingFeature);
    out[21] = far.at(0.1, missingFeature);
    out[22] = far.at(0.5, missingFeature);
    out[23] = far.at(0.9, missingFeature);
    out[24] = far.at(1, missingFeature);
    out[25] = (slow![i + 21]! - slow![i - 20]!) / 41;
    out[26] = (fast![i + 21]! - fast![i - 20]!) / 41;
    out[27] = (turned![i + 13]! - turned![i - 12]!) / Math.max(ridden![i + 13]! - ridden![i - 12]!, 0.05);
    out[28] = changes.at(0.9, missingFeature);
  };
}

/**
 * Index of the first of ascending `times` that is later than a time (or at it, if `atToo`); asked for ascending times.
 */
function cursor(times: Float64Array, atToo: boolean): (ts: number) => number {
  let i = 0;
  return (ts) => {
    while (i < times.length && (atToo ? times[i]! < ts : times[i]! <= ts)) i += 1;
    return i;
  };
}

/** Mean speed that the phone sensed: features 29 and 30. Android says 0, iOS -1 of what it does not know. */
function meanSpeeds({ track, sampling }: CellInput): (ts: number, out: Float64Array) => void {
  const n = track.ts.length;
  const sum = new Float64Array(n + 1);
  const count = new Float64Array(n + 1);
  for (let i = 0; i < n; i += 1) {
    const speed = track.speed[i]!;
    const known = sampling === 'time' ? speed > 0 : speed >= 0;
    sum[i + 1] = sum[i]! + (known ? speed : 0);
    count[i + 1] = count[i]! + (known ? 1 : 0);
  }
  const spans = [30, 120].map((h) => ({ h, from: cursor(track.ts, true), to: cursor(track.ts, false) }));
  return (ts, out) => {
    spans.forEach(({ h, from, to }, k) => {
      const a = from(ts - h);
      const b = to(ts + h);
      const known = count[b]! - count[a]!;
      out[29 + k] = known > 0 ? (sum[b]! - sum[a]!) / known : missingFeature;
    });
  };
}

const { IN_VEHICLE, BICYCLING, ON_FOOT, STILL, WALKING, RUNNING, STOPPED_WHILE_IN_VEHICLE, AIR_OR_HSR } = motionTypes;

/** Kinds of motion reading in the order of the features; every other code is the last, `none`. */
const readingKinds: readonly (readonly number[])[] = [
  [STILL],
  [WALKING, RUNNING, ON_FOOT],
  [BICYCLING],
  [IN_VEHICLE, STOPPED_WHILE_IN_VEHICLE, AIR_OR_HSR],
];
const kinds = 5;

/** What `readingKind` gives. */
export const readingKindOf = { still: 0, walk: 1, bike: 2, motor: 3, none: 4 } as const;

/** Kind of a motion reading: one of `readingKindOf`. */
export function readingKind(type: number): number {
  const kind = readingKinds.findIndex((codes) => codes.includes(type));
  return kind < 0 ? kinds - 1 : kind;
}

const readingSpans = [30, 90, 300];

/**
 * What motion readings say around a cell: features 31 to 45. Android sends readings all the time, each with a
 * confidence; an iPhone sends one when something changes, which holds until the next.
 */
function readingShares(input: CellInput, options: FeatureOptions): (ts: number, out: Float64Array) => void {
  const n = input.motions.length;
  if (n === 0) return (_, out) => out.fill(missingFeature, 31);
  const times = Float64Array.from(input.motions, (m) => m.ts);
  const kind = Uint8Array.from(input.motions, (m) => readingKind(m.type));
  const held = input.sampling === 'distance';
  const holds = (i: number): number =>
    held ? Math.min((times[i + 1] ?? Number.POSITIVE_INFINITY) - times[i]!, options.reading) : 0;
  // Sums before each reading, by kind: seconds that it holds, or its confidence.
  const sums = Array.from({ length: kinds }, () => new Float64Array(n + 1));
  for (let i = 0; i < n; i += 1) {
    const weight = held ? holds(i) : input.motions[i]!.confidence / 100;
    for (let k = 0; k < kinds; k += 1) sums[k]![i + 1] = sums[k]![i]! + (kind[i] === k ? weight : 0);
  }
  const spans = readingSpans.map((h) => ({ h, from: cursor(times, !held), to: cursor(times, false) }));
  if (!held)
    return (ts, out) => {
      spans.forEach(({ h, from, to }, s) => {
        const a = from(ts - h);
        const b = to(ts + h);
        for (let k = 0; k < kinds; k += 1)
          out[31 + 3 * k + s] = b > a ? (sums[k]![b]! - sums[k]![a]!) / (b - a) : missingFeature;
      });
    };
  // Seconds for which kind `k` held up to `ts`; `i` readings began by then.
  const until = (k: number, i: number, ts: number): number =>
    i === 0
      ? 0
      : sums[k]![i - 1]! + (kind[i - 1] === k ? Math.min(ts - times[i - 1]!, sums[k]![i]! - sums[k]![i - 1]!) : 0);
  return (ts, out) => {
    spans.forEach(({ h, from, to }, s) => {
      const a = from(ts - h);
      const b = to(ts + h);
      for (let k = 0; k < kinds; k += 1) out[31 + 3 * k + s] = (until(k, b, ts + h) - until(k, a, ts - h)) / (2 * h);
    });
  };
}
