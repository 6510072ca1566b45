// Computes the 46 features of every cell of 15 s from a track and motion readings.
//
//   locations      o        o     o   o         o            o
//   cells       |--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|--|      their middles are multiples of 15 s
//                            ^ the cell
//   windows                 <->      d15: m/s from the cell before to the cell after
//                    <---------------->   d60, p60: in a straight line and along the track, over 2 * 60 s
//                     awalk30: share of "walking" among the readings within 30 s
//
// Cells more than `featureLimits.reach` s from every location do not exist: the user rests in that time.
import type { Motion, Sampling } from '../clean/observations.ts';
import { apartIn, floats, type Track } from '../clean/track.ts';
import { noState, readingState } from '../motion-states.ts';
import { firstLaterIn } from '../sorted-times.ts';
import { SortedWindow } from './sorted-window.ts';
export const cellSeconds = 15; // s, length of a cell (by convention)

/**
 * Names of the features, stored in `models`: do not rename. A number is s before and after the cell; with `m` minutes.
 *
 * - `since`, `until`: s since the location before, until the location after; `gap`: their sum; `gapv`: m/s in the gap
 * - `d60`, `p60`, `str150`: m/s in a straight line, m/s along the track, and the first divided by the second
 * - `back180`, `fwd180`: m/s in a straight line over the time before the cell, or after it
 * - `v5m_90`: 90 % quantile of the speeds within 5 minutes; `acc5m`: the same quantile of the accelerations, in m/s2
 * - `slow5m`, `fast5m`: shares of slow and fast cells within 5 minutes; `turn3m`: rad/km within 3 minutes
 * - `ss30`: mean of the speeds that the phone sensed; `awalk30`: share of "walking" among the readings
 */
export const featureNames: readonly string[] = `
  since until gap gapv
  d15 d30 d60 p60 d150 str150 d300 p300 str300
  back60 fwd60 back180 fwd180 back420 fwd420
  v2m_50 v2m_90 v5m_10 v5m_50 v5m_90 v5m_max
  slow5m fast5m turn3m acc5m
  ss30 ss120
  astill30 astill90 astill300 awalk30 awalk90 awalk300 abike30 abike90 abike300 acar30 acar90 acar300 anone30 anone90 anone300
`
  .trim()
  .split(/\s+/);

const missingFeature = -1; // value of an unknown feature

/** Thresholds of the features, by hand, except `reading` (physical). */
export const featureLimits = {
  reach: 1200, // s; a cell exists only if a location is at most this far away
  longestSilence: 3600, // s; longer gaps before or after a cell count as this long
  covered: 90, // s; a cell is covered if less time lies between the locations before and after it
  slow: 1, // m/s; `slow5m` counts slower cells
  fast: 4, // m/s; `fast5m` counts faster cells
  heading: 1, // m/s; slower movement has no heading
  reading: 1200, // s; a motion reading of an iPhone is valid until the next reading, but at most this long
};

export interface CellInput {
  track: Track;
  motions: readonly Motion[]; // ascending by `ts`
  sampling: Sampling;
  from: number; // s since the epoch; the first and last possible time of a cell
  to: number;
}

/** A cell's features need 28 cells (420 s) before and after the cell, and one more cell on each side for speeds. */
const cellMargin = 29;

export const cellWidth = featureNames.length;
export const blockSize = 128; // cells, few enough for the processor's cache

export interface Block {
  ts: number; // s since the epoch, the middle of the first cell
  first: number; // index of the first cell in the grid
  count: number;
  rows: Float64Array;
}

/** Visits all cells within reach of a location, block by block. `rows` is reused for the next block. */
export function forEachBlock(input: CellInput, visit: (block: Block) => void): void {
  const readings = collectReadings(input);
  const sensed = sensedSpeeds(input);
  const rows = new Float64Array(blockSize * cellWidth);
  for (const { from, to } of spansNear(input)) {
    const grid = sampleGrid(input.track, from, to);
    const sums = cumulate(grid);
    const cells = (to - from) / cellSeconds + 1;
    for (let done = 0; done < cells; done += blockSize) {
      const count = Math.min(blockSize, cells - done);
      const block = { ts: from + done * cellSeconds, first: cellMargin + done, count, rows };
      writeDistances(block, grid);
      writeQuantiles(block, grid);
      writeShares(block, sums);
      for (let s = 0; s < 2; s += 1) writeMeans(block, sensed, sensedSpans[s]!, 29 + s);
      for (let s = 0; s < 3; s += 1) {
        if (readings.held) writeHeld(block, readings, readingSpans[s]!, 31 + s);
        else writeMeans(block, readings, readingSpans[s]!, 31 + s);
      }
      visit(block);
    }
  }
}

function spansNear({ track, from, to }: CellInput): { from: number; to: number }[] {
  const found: { from: number; to: number }[] = [];
  for (const ts of track.ts) {
    const first = Math.ceil(Math.max(from, ts - featureLimits.reach) / cellSeconds) * cellSeconds;
    const last = Math.floor(Math.min(to, ts + featureLimits.reach) / cellSeconds) * cellSeconds;
    if (first > last) continue;
    const before = found.at(-1);
    if (before && first <= before.to + cellSeconds) before.to = Math.max(before.to, last);
    else found.push({ from: first, to: last });
  }
  return found;
}

type Grid = ReturnType<typeof sampleGrid>;

/**
 * Positions and speeds by cell. `metres`: m along the track; `since`, `until`: s to the locations before and after the
 * cell; `gapSpeed`: m/s between these two; `speed`: m/s from the cell before to the cell after.
 */
function sampleGrid(track: Track, from: number, to: number) {
  const n = (to - from) / cellSeconds + 1 + 2 * cellMargin;
  const lists = floats(n, 'x', 'y', 'metres', 'since', 'until', 'gapSpeed', 'speed');
  const { x, y, metres, since, until, gapSpeed, speed } = lists;
  const covered = new Uint8Array(n); // 1 if the cell is covered, see `featureLimits`
  const { ts: times, x: trackX, y: trackY, metres: trackMetres } = track;
  const count = times.length;
  const { longestSilence } = featureLimits;
  let after = 0;
  for (let i = 0; i < n; i += 1) {
    const ts = from + (i - cellMargin) * cellSeconds;
    while (after < count && times[after]! <= ts) after += 1;
    const a = Math.max(0, after - 1);
    const b = Math.min(after, count - 1);
    const share = b > a ? (ts - times[a]!) / (times[b]! - times[a]!) : 0;
    x[i] = trackX[a]! + share * (trackX[b]! - trackX[a]!);
    y[i] = trackY[a]! + share * (trackY[b]! - trackY[a]!);
    metres[i] = trackMetres[a]! + share * (trackMetres[b]! - trackMetres[a]!);
    since[i] = after > 0 ? Math.min(ts - times[a]!, longestSilence) : longestSilence;
    until[i] = after < count ? Math.min(times[b]! - ts, longestSilence) : longestSilence;
    gapSpeed[i] = after > 0 && after < count ? apartIn(trackX, trackY, a, b) / (times[b]! - times[a]!) : missingFeature;
    covered[i] = since[i]! + until[i]! < featureLimits.covered ? 1 : 0;
  }
  for (let i = 1; i < n - 1; i += 1) speed[i] = apartIn(x, y, i - 1, i + 1) / (2 * cellSeconds);
  return { x, y, metres, since, until, gapSpeed, speed, covered };
}

/** Features 0 to 18: gaps around the cells, and distances over windows. */
function writeDistances({ first, count, rows }: Block, grid: Grid): void {
  const { x, y, metres, since, until, gapSpeed, speed } = grid;
  const longestGap = 2 * featureLimits.longestSilence;
  for (let i = first, at = 0; i < first + count; i += 1, at += cellWidth) {
    rows[at] = since[i]!;
    rows[at + 1] = until[i]!;
    rows[at + 2] = Math.min(since[i]! + until[i]!, longestGap);
    rows[at + 3] = gapSpeed[i]!;
    rows[at + 4] = speed[i]!;
    rows[at + 5] = apartIn(x, y, i - 2, i + 2) / 60;
    rows[at + 6] = apartIn(x, y, i - 4, i + 4) / 120;
    rows[at + 7] = (metres[i + 4]! - metres[i - 4]!) / 120;
    const d150 = apartIn(x, y, i - 10, i + 10) / 300;
    const p150 = (metres[i + 10]! - metres[i - 10]!) / 300;
    rows[at + 8] = d150;
    rows[at + 9] = d150 / Math.max(p150, 0.05);
    const d300 = apartIn(x, y, i - 20, i + 20) / 600;
    const p300 = (metres[i + 20]! - metres[i - 20]!) / 600;
    rows[at + 10] = d300;
    rows[at + 11] = p300;
    rows[at + 12] = d300 / Math.max(p300, 0.05);
    rows[at + 13] = apartIn(x, y, i, i - 4) / 60;
    rows[at + 14] = apartIn(x, y, i, i + 4) / 60;
    rows[at + 15] = apartIn(x, y, i, i - 12) / 180;
    rows[at + 16] = apartIn(x, y, i, i + 12) / 180;
    rows[at + 17] = apartIn(x, y, i, i - 28) / 420;
    rows[at + 18] = apartIn(x, y, i, i + 28) / 420;
  }
}

const nearby = 8; // cells to each side in the small windows of `writeQuantiles`: 2 minutes
const far = 20; // cells to each side in the large windows: 5 minutes

/** Features 19 to 24 and 28: quantiles of speed within 2 and 5 minutes, and of acceleration within 5, to each side. */
function writeQuantiles({ first, count, rows }: Block, { speed, covered }: Grid): void {
  const nearSpeeds = new SortedWindow(2 * nearby + 1);
  const speeds = new SortedWindow(2 * far + 1);
  const changes = new SortedWindow(2 * far + 1);
  const moveSpeeds = (window: SortedWindow, i: number, side: number): void => {
    if (covered[i - 1 - side] === 1) window.remove(speed[i - 1 - side]!);
    if (covered[i + side] === 1) window.add(speed[i + side]!);
  };
  // Fill the windows around the cell before the first cell, because the main loop begins by moving them by one cell.
  for (let i = first - 1 - nearby; i < first + nearby; i += 1) if (covered[i] === 1) nearSpeeds.add(speed[i]!);
  for (let i = first - 1 - far; i < first + far; i += 1) {
    if (covered[i] === 1) speeds.add(speed[i]!);
    changes.add(changeAt(speed, i));
  }
  for (let i = first, at = 0; i < first + count; i += 1, at += cellWidth) {
    moveSpeeds(nearSpeeds, i, nearby);
    moveSpeeds(speeds, i, far);
    changes.remove(changeAt(speed, i - 1 - far));
    changes.add(changeAt(speed, i + far));
    rows[at + 19] = nearSpeeds.at(0.5, missingFeature);
    rows[at + 20] = nearSpeeds.at(0.9, missingFeature);
    rows[at + 21] = speeds.at(0.1, missingFeature);
    rows[at + 22] = speeds.at(0.5, missingFeature);
    rows[at + 23] = speeds.at(0.9, missingFeature);
    rows[at + 24] = speeds.at(1, missingFeature);
    rows[at + 28] = rounded(changes.at(0.9, missingFeature));
  }
}

/** Removes rounding errors, which depend on the position on earth. In a gap, a value may consist of them alone. */
const rounded = (value: number): number => Math.round(value * 1e9) / 1e9;

function changeAt(speed: Float64Array, i: number): number {
  return Math.abs(speed[i]! - speed[i - 1]!) / cellSeconds;
}

/**
 * Cumulative sums: element `i` sums the cells before cell `i`. `slow`, `fast`: numbers of slow and fast covered cells;
 * `turned`: rad that the path turned in cells that have a heading; `ridden`: km of the path in these cells.
 */
function cumulate({ x, y, speed, covered }: Grid) {
  const n = speed.length;
  const { slow, fast, turned, ridden } = floats(n + 1, 'slow', 'fast', 'turned', 'ridden');
  let heading = Number.NaN;
  for (let i = 0; i < n; i += 1) {
    slow[i + 1] = slow[i]! + (covered[i] === 1 && speed[i]! < featureLimits.slow ? 1 : 0);
    fast[i + 1] = fast[i]! + (covered[i] === 1 && speed[i]! > featureLimits.fast ? 1 : 0);
    const moving = i > 0 && i < n - 1 && speed[i]! > featureLimits.heading;
    const here = moving ? Math.atan2(y[i + 1]! - y[i - 1]!, x[i + 1]! - x[i - 1]!) : Number.NaN;
    const change = Math.abs(here - heading); // NaN unless both cells have a heading
    turned[i + 1] = turned[i]! + (change >= 0 ? Math.min(change, 2 * Math.PI - change) : 0);
    ridden[i + 1] = ridden[i]! + (moving ? (speed[i]! * cellSeconds) / 1000 : 0);
    heading = here;
  }
  return { slow, fast, turned, ridden };
}

/** Features 25 to 27: shares of slow and fast cells within 5 minutes, and turning within 3, to each side. */
function writeShares({ first, count, rows }: Block, { slow, fast, turned, ridden }: ReturnType<typeof cumulate>): void {
  for (let i = first, at = 0; i < first + count; i += 1, at += cellWidth) {
    rows[at + 25] = (slow[i + 21]! - slow[i - 20]!) / 41;
    rows[at + 26] = (fast[i + 21]! - fast[i - 20]!) / 41;
    rows[at + 27] = rounded((turned[i + 13]! - turned[i - 12]!) / Math.max(ridden[i + 13]! - ridden[i - 12]!, 0.05));
  }
}

interface Series {
  times: Float64Array; // when the values were reported, ascending
  width: number; // number of values at each time
  sums: Float64Array; // cumulative sums of the values before each time, `width` numbers per time
}

/** The speeds that the phone sensed, without unknown speeds: for these, Android reports 0 and iOS -1. */
function sensedSpeeds({ track, sampling }: CellInput): Series {
  const n = track.ts.length;
  const times = new Float64Array(n);
  const sums = new Float64Array(n + 1);
  let known = 0;
  for (let i = 0; i < n; i += 1) {
    const speed = track.speed[i]!;
    if (!(sampling === 'time' ? speed > 0 : speed >= 0)) continue;
    times[known] = track.ts[i]!;
    sums[known + 1] = sums[known]! + speed;
    known += 1;
  }
  return { times: times.subarray(0, known), width: 1, sums };
}

/** s. Features 29 and 30 average the sensed speeds from 30 s (120 s) before a cell to 30 s (120 s) after it. */
const sensedSpans = [30, 120];

/** Writes means within `span` s of each cell. The mean of value `k` of the series becomes feature `feature + 3 * k`. */
function writeMeans({ ts: start, count, rows }: Block, series: Series, span: number, feature: number): void {
  const { times, width, sums } = series;
  let a = firstLaterIn(times, start - span - 1);
  let b = a;
  for (let i = 0, at = feature; i < count; i += 1, at += cellWidth) {
    const ts = start + i * cellSeconds;
    while (a < times.length && times[a]! < ts - span) a += 1;
    while (b < times.length && times[b]! <= ts + span) b += 1;
    for (let k = 0; k < width; k += 1) {
      rows[at + 3 * k] = b > a ? (sums[width * b + k]! - sums[width * a + k]!) / (b - a) : missingFeature;
    }
  }
}

const kinds = noState + 1; // number of kinds of motion readings: each state, and `noState`

/** s before and after a cell over which motion readings are averaged: features 31 to 45 */
const readingSpans = [30, 90, 300];

type Readings = ReturnType<typeof collectReadings>;

/**
 * Motion readings as a series by kind. A reading of Android, which reports all the time, counts with its confidence. A
 * reading of an iPhone, which reports changes, counts with the seconds until the next reading.
 */
function collectReadings({ motions, sampling }: CellInput) {
  const n = motions.length;
  const held = sampling === 'distance' && n > 0; // an iPhone's reading is valid until the next reading
  const times = new Float64Array(n);
  const kind = new Uint8Array(n);
  const sums = new Float64Array(kinds * (n + 1));
  for (let i = 0; i < n; i += 1) {
    times[i] = motions[i]!.ts;
    kind[i] = readingState(motions[i]!.type);
    const next = motions[i + 1]?.ts ?? Number.POSITIVE_INFINITY;
    const weight = held ? Math.min(next - times[i]!, featureLimits.reading) : motions[i]!.confidence / 100;
    for (let k = 0; k < kinds; k += 1) {
      sums[kinds * (i + 1) + k] = sums[kinds * i + k]! + (kind[i] === k ? weight : 0);
    }
  }
  return { times, width: kinds, sums, kind, held };
}

function writeHeld({ ts: start, count, rows }: Block, readings: Readings, span: number, feature: number): void {
  const { times } = readings;
  let a = firstLaterIn(times, start - span - 1);
  let b = a;
  for (let i = 0, at = feature; i < count; i += 1, at += cellWidth) {
    const ts = start + i * cellSeconds;
    while (a < times.length && times[a]! <= ts - span) a += 1;
    while (b < times.length && times[b]! <= ts + span) b += 1;
    for (let k = 0; k < kinds; k += 1) {
      rows[at + 3 * k] = (heldUntil(readings, k, b, ts + span) - heldUntil(readings, k, a, ts - span)) / (2 * span);
    }
  }
}

/** Seconds for which readings of kind `k` were valid up to `ts`. `i`: number of readings before `ts`. */
function heldUntil({ times, kind, sums }: Readings, k: number, i: number, ts: number): number {
  if (i === 0) return 0;
  const before = sums[kinds * (i - 1) + k]!;
  return before + (kind[i - 1] === k ? Math.min(ts - times[i - 1]!, sums[kinds * i + k]! - before) : 0);
}
