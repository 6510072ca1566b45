// Collects evidence for the mode of each leg: features of its shape, and of the waits and walks before and after it.
//
//   segments   still      walk   still    motor                 walk
//              ---------- 3 min  4 min    12 min, 8 km          2 min
//   leg                                   |--------------------|
//   features   boarded on foot 1, ln wait 2.2, ln walk before 1.4, ln walk after 1.1   -> a bus or train is likely
//              covered .9 (share of time with locations close together)
//              ln turning, ln halts, silent, ln speed, ln fastest                       -> rails bend slowly
//              ln share walk, cycle, motor: mean state probabilities of its cells (states/viterbi.ts)
//
// `modes/mode-crf.ts` weighs the features. A mode that is too slow for the leg gets probability 0.
import { fastestIn, knownAverage } from '../../model/modes.ts';
import { apart, type Track } from '../clean/track.ts';
import { cellStates } from '../motion-states.ts';
import { joinLegs, type Leg, type Segment, secondsIn, segmentsBetween } from '../states/segments.ts';
import type { Cells } from '../states/viterbi.ts';

/** The order of all lists of probabilities by mode. */
export const modes = ['WALKING', 'BICYCLING', 'CAR', 'BUS', 'TRAIN'] as const;
export const possibleModes = (average: number): boolean[] => modes.map((mode) => average <= fastestIn(mode));

/** Features of a leg, in the order of the weights in `models`. The names are stored there: do not rename. */
export const legFeatures = [
  'one', // the bias
  'on foot',
  'cycling',
  'ln share walk',
  'ln share cycle',
  'ln share motor',
  'boarded on foot',
  'ln wait',
  'ln walk before',
  'ln walk after',
  'covered',
  'ln turning',
  'ln halts',
  'silent',
  'ln speed',
  'ln fastest',
  'fast', // excess of the 95 % quantile of speed over 27 m/s
] as const;

/** A leg with its features, and its relation to the previous leg by vehicle or bicycle. */
export interface LegEvidence extends Leg {
  features: number[];
  possible: boolean[]; // by mode: false if the leg is faster on average than this mode can be
  fastest: number; // m/s, the 95 % quantile of the speeds in the leg
  /** Index of the previous leg by vehicle or bicycle; null: none, or too long ago. */
  before: number | null;
  // How the leg follows the leg `before`, see `pairFeatures` in `mode-crf.ts`:
  near: number; // 0 to 1: the leg begins where the leg `before` ended; at least `parked`
  parked: number; // 0 to 1: the user parked after the leg `before` and came back to the vehicle
  waited: number; // s of waiting before the leg, times `1 - parked`: people do not wait for a parked vehicle
}

type Decoded = { segments: readonly Segment[]; track: Track; cells: Cells };

/** Thresholds: "physical", or chosen "by hand" on the developers' own recorded days. */
const legLimits = {
  stay: 1200, // s; a longer rest is a stay: few people wait longer at a stop (by hand)
  parked: 60, // m; width of the Gaussian kernel between two positions of a parked vehicle (by hand)
  /** Seconds of waiting before a leg, and of walking before and after it, that few drivers of cars need (by hand) */
  boarding: { wait: 105, walks: 180 },
  waited: 60, // s; a user who waits this long for a vehicle did not park it (by hand)
  /** s; this much walking between two legs suggests parking; 30 s suggest it half as much (by hand) */
  walked: 60,
  away: 80, // m from the vehicle; people who only change trains stay nearer, on the platform (physical)
  /** 0 to 1; a turn back suggests parking if it shortens the straight line over both legs by this share (by hand) */
  turnedBack: 0.3,
  stayed: 900, // s; a stop this long suggests parking, even without a walk or a turn back (by hand)
};

export function collectEvidence(decoded: Decoded, from: number, to: number): LegEvidence[] {
  const { segments, track, cells } = decoded;
  const evidence: LegEvidence[] = [];
  let last: number | null = null;
  const legs = joinLegs(segments, from, to);
  for (const [i, leg] of legs.entries()) {
    const onFoot = leg.state === cellStates.walk;
    const before = last === null || onFoot ? null : evidence[last]!;
    const linked = before !== null && leg.start - before.end <= 2 * legLimits.stay;
    const figures = measureLeg(track, cells, leg);
    const parked = linked ? parkedScore(segments, track, before, leg) : 0;
    const around = onFoot ? { boarded: 0, waited: 0, walks: [0, 0] } : measureAround(segments, legs, i, from);
    const waited = (1 - parked) * around.waited;
    evidence.push({
      ...leg,
      features: [...figures.own, around.boarded, waitFeature(waited), ...around.walks, ...figures.shape],
      possible: possibleModes(figures.average),
      fastest: figures.fastest,
      before: linked ? last : null,
      near: linked && unseenBetween(track, before.end, leg.start) <= legLimits.parked ? 1 : parked,
      parked,
      waited,
    });
    if (!onFoot) last = evidence.length - 1;
  }
  return evidence;
}

/** m from a leg's end to the last location before the next leg. A long distance shows that a move was not recorded. */
function unseenBetween(track: Track, end: number, start: number): number {
  const i = Math.max(0, track.firstAfter(start) - 1);
  return apart(track.positionAt(end), { x: track.x[i]!, y: track.y[i]! });
}

/**
 * Score, 0 to 1, that the user parked the vehicle of leg `before` and came back to it. It is 0 if the user had waited
 * for that vehicle. After a long stop, it depends only on how near `next` begins to the end of `before`. After a
 * shorter stop, the user must also have walked, gone away from the vehicle, and turned back.
 */
function parkedScore(segments: readonly Segment[], track: Track, before: LegEvidence, next: Leg): number {
  if (before.waited >= legLimits.waited) return 0;
  const [end, start] = [before.end, next.start];
  const at = (ts: number) => track.positionAt(ts);
  // The decoded end and start may be wrong by half a minute, so positions up to half a minute away are compared, too.
  const around = (ts: number) => [-30, -15, 0, 15, 30].map((s) => at(ts + s));
  const there = around(start);
  const off = Math.min(...around(end).flatMap((a) => there.map((b) => apart(a, b))));
  const back = gaussianKernel(off / legLimits.parked);
  if (start - end >= legLimits.stayed) return back;
  const path = apart(at(before.start), at(end)) + apart(at(start), at(next.end));
  const shorter = path > 0 ? 1 - apart(at(before.start), at(next.end)) / path : 0;
  const turned = Math.min(1, Math.max(0, shorter / legLimits.turnedBack));
  const walked = Math.min(1, secondsIn(segmentsBetween(segments, end, start), cellStates.walk) / legLimits.walked);
  return back * turned * walked * (1 - gaussianKernel(farthest(track, end, start) / legLimits.away));
}

const gaussianKernel = (x: number): number => Math.exp(-(x ** 2) / 2);

function farthest(track: Track, start: number, end: number): number {
  const from = track.positionAt(start);
  let most = 0;
  for (let i = track.firstAfter(start); i < track.ts.length && track.ts[i]! < end; i += 1)
    most = Math.max(most, apart(from, { x: track.x[i]!, y: track.y[i]! }));
  return most;
}

const clampedLn = (x: number, least: number, most: number): number => Math.log(Math.min(most, Math.max(least, x)));

function measureLeg(track: Track, cells: Cells, leg: Leg) {
  const seconds = Math.max(1, leg.end - leg.start);
  const km = track.metresBetween(leg.start, leg.end) / 1000;
  const fastest = fastestSpeed(track, leg);
  const { covered, halts } = findHalts(track, leg);
  const own = [1, leg.state === cellStates.walk ? 1 : 0, leg.state === cellStates.cycle ? 1 : 0];
  for (const share of movingShares(leg, cells)) own.push(clampedLn(share, 0.01, 1));
  const shape = [
    covered,
    covered * clampedLn(turnPerKm(track, leg) / 0.6, 0.25, 10), // divisors: typical values, by hand
    covered * clampedLn(halts.length / Math.max(km, 0.3), 0.1, 10),
    gapShare(track, leg),
    clampedLn((1000 * km) / seconds / 8, 0.05, 10),
    clampedLn(fastest / 12, 0.05, 10),
    Math.max(0, fastest - 27) / 10,
  ];
  return { own, shape, fastest, average: knownAverage(1000 * km, seconds) };
}

/** Mean probabilities of walk, cycle and motor over the cells of a leg, divided by their sum. */
export function movingShares({ state, start, end }: Leg, { ts, probability }: Cells): number[] {
  const sums = [0, 0, 0];
  for (let i = 0; i < ts.length; i += 1) {
    if (ts[i]! < start || ts[i]! > end) continue;
    for (let k = 0; k < 3; k += 1) sums[k]! += probability[4 * i + 1 + k]!;
  }
  const moving = sums[0]! + sums[1]! + sums[2]!;
  if (moving === 0) return sums.map((_, k) => (state === 1 + k ? 1 : 0));
  return sums.map((sum) => sum / moving);
}

/**
 * The feature `ln wait`. From `stayed` s on, a factor that falls to 0 at `stay` s reduces the logarithm, because such a
 * long rest is probably a stay. So 1075 s and 105 s have the same feature.
 */
function waitFeature(waited: number): number {
  const doubt = (legLimits.stay - waited) / (legLimits.stay - legLimits.stayed);
  return clampedLn(1 + waited / 30, 1, 40) * Math.min(1, Math.max(0, doubt));
}

/** `boarded`: 1 if the user walked to leg `i`, else 0. `waited`: s of waiting before it. `walks`: features of walks. */
function measureAround(segments: readonly Segment[], legs: readonly Leg[], i: number, from: number) {
  const leg = legs[i]!;
  let [walked, stood, waited] = [0, 0, 0];
  const before = segmentsBetween(segments, Math.max(from, leg.start - 2 * legLimits.stay), leg.start);
  for (const { state, start, end } of before.reverse()) {
    if (state === cellStates.walk) {
      walked += end - start;
      waited = stood;
    } else if (state !== cellStates.still) {
      waited = stood; // earlier walks belong to the previous leg by vehicle or bicycle
      walked = Math.max(walked, 1);
      break;
    } else {
      stood += end - start;
      if (end - start > legLimits.stay) break;
    }
  }
  const next = legs[i + 1];
  const after = next?.state === cellStates.walk ? next.end - next.start : 0;
  return { boarded: walked > 0 ? 1 : 0, waited, walks: [walkFeature(walked), walkFeature(after)] };
}

/** Divides the features of the wait and of the shorter walk by the features of their limits in `boarding`. */
export function boardingRatios(features: readonly number[]): { wait: number; walks: number } {
  const [wait, before, after] = boardingAt.map((f) => features[f]!);
  const { boarding } = legLimits;
  return { wait: wait! / waitFeature(boarding.wait), walks: Math.min(before!, after!) / walkFeature(boarding.walks) };
}

const boardingAt = (['ln wait', 'ln walk before', 'ln walk after'] as const).map((f) => legFeatures.indexOf(f));

const walkFeature = (seconds: number): number => clampedLn(1 + seconds / 60, 1, 20);

const chord = 60; // m; the path is divided into chords of this length (by hand)
const leastKm = 0.3; // km; a shorter path counts as this (by hand)

/** rad/km by which the path turns, measured on chords of `chord` m, so that errors of locations have little effect */
function turnPerKm(track: Track, { start, end }: Leg): number {
  const [from, to] = [track.positionAt(start), track.positionAt(end)];
  let [x, y] = [from.x, from.y]; // the position up to which the path has been followed
  let [cornerX, cornerY] = [x, y];
  let left = chord; // m to the next corner
  let course = Number.NaN;
  let turned = 0;
  let metres = 0;
  const last = track.firstAfter(end);
  for (let i = track.firstAfter(start); i <= last; i += 1) {
    const nextX = i < last ? track.x[i]! : to.x;
    const nextY = i < last ? track.y[i]! : to.y;
    const dx = nextX - x;
    const dy = nextY - y;
    const step = Math.sqrt(dx * dx + dy * dy);
    metres += step;
    for (; left <= step; left += chord) {
      const atX = x + (left / step) * dx;
      const atY = y + (left / step) * dy;
      const here = Math.atan2(atY - cornerY, atX - cornerX);
      const change = Math.abs(here - course);
      if (change >= 0) turned += Math.min(change, 2 * Math.PI - change);
      course = here;
      cornerX = atX;
      cornerY = atY;
    }
    left -= step;
    x = nextX;
    y = nextY;
  }
  return turned / Math.max(metres / 1000, leastKm);
}

// Constants of `fastestSpeed`, chosen by hand.
const speedStep = 5; // s between two speeds
const speedMean = 6; // number of speeds in a mean
const speedGap = 45; // s; the speed within a longer gap is not known

/** m/s, the 95 % quantile of the speed, each speed a mean over half a minute */
function fastestSpeed(track: Track, { start, end }: Leg): number {
  const speeds: number[] = [];
  const recent: number[] = []; // the latest speeds without a gap between them
  let next = track.firstAfter(start);
  let before = track.positionAt(start);
  for (let ts = start + speedStep; ts <= end; ts += speedStep) {
    while (next < track.ts.length && track.ts[next]! <= ts) next += 1;
    const here = track.positionAt(ts);
    const isInside = next > 0 && next < track.ts.length;
    if (!isInside || track.ts[next]! - track.ts[next - 1]! > speedGap) recent.length = 0;
    else recent.push(apart(before, here) / speedStep);
    before = here;
    if (recent.length > speedMean) recent.shift();
    if (recent.length === speedMean) speeds.push(recent.reduce((sum, speed) => sum + speed) / speedMean);
  }
  if (speeds.length === 0) return end > start ? track.metresBetween(start, end) / (end - start) : 0;
  return new Float64Array(speeds).sort()[Math.round(0.95 * (speeds.length - 1))]!;
}

const tunnelGap = 100; // s; a longer gap between two locations may be a tunnel (by hand)

function gapShare(track: Track, { start, end }: Leg): number {
  let silent = 0;
  const last = track.firstAfter(end);
  for (let i = track.firstAfter(start); i <= last; i += 1) {
    const from = i > 0 ? track.ts[i - 1]! : start;
    const to = i < track.ts.length ? track.ts[i]! : end;
    if (to - from > tunnelGap) silent += Math.max(0, Math.min(to, end) - Math.max(from, start));
  }
  return end > start ? silent / (end - start) : 0;
}

const halting = {
  gap: 45, // s; a longer time between two locations is not covered (for legs; `featureLimits.covered` is for cells)
  speed: 1.5, // m/s; slower movement between two locations belongs to a halt
  least: 10, // s; the shortest halt (all by hand)
};

/** Index of the last location of each halt of a leg, and the share of the leg's time with locations close together. */
export function findHalts(track: Track, { start, end }: Leg): { covered: number; halts: number[] } {
  const halts: number[] = [];
  let [seen, standing] = [0, 0];
  const last = Math.min(track.firstAfter(end), track.ts.length - 1);
  for (let i = Math.max(1, track.firstAfter(start)); i <= last; i += 1) {
    const seconds = track.ts[i]! - track.ts[i - 1]!;
    const slow = track.metres[i]! - track.metres[i - 1]! < halting.speed * seconds;
    if (seconds <= halting.gap) seen += seconds;
    if (slow) standing += seconds;
    else {
      if (standing >= halting.least) halts.push(i - 1);
      standing = 0;
    }
  }
  return { covered: end > start ? Math.min(1, seen / (end - start)) : 0, halts };
}
