// Step "rides": what speaks for one mode or another of each leg of an group: its shape, and what lies around it.

import { fastestIn } from '../../model/modes.ts';
import { apart, type Track } from '../clean/track.ts';
import { cellStates } from '../motion-states.ts';
import { joinLegs, type Leg, type Segment, secondsIn, segmentsBetween } from '../states/segments.ts';
import type { Cells } from '../states/viterbi.ts';

/** Modes that a leg is decided between. */
export const modes = ['WALKING', 'BICYCLING', 'CAR', 'BUS', 'TRAIN'] as const;

/** Figures of a leg, in the order of the models. */
export const legFeatures = [
  'one',
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
  'fast',
] as const;

/** A leg with its figures and how it follows the leg by vehicle or bicycle before it. */
export interface LegEvidence extends Leg {
  features: number[];
  /** By mode: false where nobody moves so fast in it. */
  possible: boolean[];
  /** m/s, the 95 % quantile */
  fastest: number;
  /** Index of the ride before it; null: none, or too long ago. */
  before: number | null;
  /**
   * 0 to 1: how far it begins where the ride before it ended; `parked`: how far the user came back to what they had left
   * there, which is never more.
   */
  near: number;
  parked: number;
  /** s that the user stood before it, as far as they had not left it there: nobody waits for that */
  waited: number;
}

/** Physical limits, and s beyond which a rest is a stay (by hand: few people wait longer at a stop). */
export const legLimits = {
  /** m/s by mode on average, over at least `least` m */
  limits: modes.map(fastestIn),
  least: 500,
  stay: 1200,
  /** m; a vehicle waits where it was left: what locations of its end and of the next start err by */
  parked: 60,
  /** s; who stood so long before a ride waited for it */
  waited: 60,
  /**
   * Who goes on with what they left walked so many s, went m away (a train is left along a platform, physical) and
   * turned back, by a share of the way. Each speaks by its share. s of any stop that says as much (by hand).
   */
  walked: 60,
  away: 80,
  turnedBack: 0.3,
  stayed: 900,
};

/** The legs of an group between two times, with their figures. */
export function collectEvidence(
  { segments, track, cells }: { segments: readonly Segment[]; track: Track; cells: Cells },
  from: number,
  to: number,
): LegEvidence[] {
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
    const metres = track.metresBetween(leg.start, leg.end);
    evidence.push({
      ...leg,
      features: [...figures.own, around.boarded, waitFigure(waited), ...around.walks, ...figures.shape],
      possible: legLimits.limits.map((limit) => metres < legLimits.least || metres <= limit * (leg.end - leg.start)),
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

/**
 * m between where one ride ended and the last location before the next: through a silence nobody went from its
 * beginning.
 */
function unseenBetween(track: Track, end: number, start: number): number {
  const i = Math.max(0, track.firstAfter(start) - 1);
  return apart(track.positionAt(end), { x: track.x[i]!, y: track.y[i]! });
}

/**
 * 0 to 1: how far the user left a vehicle that they had not waited for where they then went on from: for long, or on
 * foot, away and back. Who changes vehicles at one platform goes on.
 */
function parkedScore(segments: readonly Segment[], track: Track, before: LegEvidence, next: Leg): number {
  if (before.waited >= legLimits.waited) return 0;
  const [end, start] = [before.end, next.start];
  const at = (ts: number) => track.positionAt(ts);
  // A state changes half a minute too early or late.
  const around = (ts: number) => [-30, -15, 0, 15, 30].map((s) => at(ts + s));
  const there = around(start);
  const off = Math.min(...around(end).flatMap((a) => there.map((b) => apart(a, b))));
  const back = gaussianKernel(off / legLimits.parked);
  if (start - end >= legLimits.stayed) return back;
  const way = apart(at(before.start), at(end)) + apart(at(start), at(next.end));
  const shorter = way > 0 ? 1 - apart(at(before.start), at(next.end)) / way : 0;
  const turned = Math.min(1, Math.max(0, shorter / legLimits.turnedBack));
  const walked = Math.min(1, secondsIn(segmentsBetween(segments, end, start), cellStates.walk) / legLimits.walked);
  return back * turned * walked * (1 - gaussianKernel(farthest(track, end, start) / legLimits.away));
}

/** 1 at 0, and 0.6 at 1: how likely locations err so far, as a share of what they usually err by. */
const gaussianKernel = (x: number): number => Math.exp(-(x ** 2) / 2);

/** m that the locations of a stop lie from where it began, at most */
function farthest(track: Track, start: number, end: number): number {
  const from = track.positionAt(start);
  let most = 0;
  for (let i = track.firstAfter(start); i < track.ts.length && track.ts[i]! < end; i += 1)
    most = Math.max(most, apart(from, { x: track.x[i]!, y: track.y[i]! }));
  return most;
}

const log = (value: number, least: number, most: number): number => Math.log(Math.min(most, Math.max(least, value)));

function measureLeg(track: Track, cells: Cells, leg: Leg) {
  const seconds = Math.max(1, leg.end - leg.start);
  const km = track.metresBetween(leg.start, leg.end) / 1000;
  const average = (1000 * km) / seconds;
  const fastest = fastestSpeed(track, leg);
  const { covered, halts } = haltsIn(track, leg);
  const own = [1, leg.state === cellStates.walk ? 1 : 0, leg.state === cellStates.cycle ? 1 : 0];
  for (const share of movingShares(leg, cells)) own.push(log(share, 0.01, 1));
  const shape = [
    covered,
    covered * log(turnPerKm(track, leg) / 0.6, 0.25, 10),
    covered * log(halts / Math.max(km, 0.3), 0.1, 10),
    silentShare(track, leg),
    log(average / 8, 0.05, 10),
    log(fastest / 12, 0.05, 10),
    Math.max(0, fastest - 27) / 10,
  ];
  return { own, shape, fastest };
}

/** Mean probabilities of walking, cycling and riding in the leg's cells, without rest; they sum to 1. */
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

/** How much a wait says: from `stayed` on less, as who stands so long may be staying. */
function waitFigure(waited: number): number {
  const doubt = (legLimits.stay - waited) / (legLimits.stay - legLimits.stayed);
  return log(1 + waited / 30, 1, 40) * Math.min(1, Math.max(0, doubt));
}

/** Whether the user boarded on foot, and how long they stood and walked before, and walked after it. */
function measureAround(segments: readonly Segment[], legs: readonly Leg[], i: number, from: number) {
  const leg = legs[i]!;
  let [walked, stood, waited] = [0, 0, 0];
  const before = segmentsBetween(segments, Math.max(from, leg.start - 2 * legLimits.stay), leg.start);
  for (const { state, start, end } of before.reverse()) {
    if (state === cellStates.walk) {
      walked += end - start;
      waited = stood;
    } else if (state !== cellStates.still) {
      waited = stood; // since the ride before
      walked = Math.max(walked, 1);
      break;
    } else {
      stood += end - start;
      if (end - start > legLimits.stay) break;
    }
  }
  const next = legs[i + 1];
  const after = next?.state === cellStates.walk ? next.end - next.start : 0;
  const walks = [log(1 + walked / 60, 1, 20), log(1 + after / 60, 1, 20)];
  return { boarded: walked > 0 ? 1 : 0, waited, walks };
}

// The shape of a leg's way: how it turns, how fast it gets, how often it halts, and how much of it is silence.

/** m along the way from one corner of the chords to the next, and km that a way counts at least */
const chord = 60;
const leastKm = 0.3;

/** rad/km that the course of chords along the way changes; who stands about turns, too, as receivers err */
function turnPerKm(track: Track, { start, end }: Leg): number {
  const [from, to] = [track.positionAt(start), track.positionAt(end)];
  let [x, y] = [from.x, from.y]; // where the way has been followed to
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

/** s between speeds, how many are averaged, and the silence in which there are none */
const speedStep = 5;
const speedMean = 6;
const speedSilence = 45;

/** m/s, the 95 % quantile of the speed over half a minute */
function fastestSpeed(track: Track, { start, end }: Leg): number {
  const speeds: number[] = [];
  const recent: number[] = []; // the last speeds without a silence between
  let next = track.firstAfter(start);
  let before = track.pointAt(next, start);
  for (let ts = start + speedStep; ts <= end; ts += speedStep) {
    while (next < track.ts.length && track.ts[next]! <= ts) next += 1;
    const here = track.pointAt(next, ts);
    const isInside = next > 0 && next < track.ts.length;
    if (!isInside || track.ts[next]! - track.ts[next - 1]! > speedSilence) recent.length = 0;
    else recent.push(apart(before, here) / speedStep);
    before = here;
    if (recent.length > speedMean) recent.shift();
    if (recent.length === speedMean) speeds.push(recent.reduce((sum, speed) => sum + speed) / speedMean);
  }
  if (speeds.length === 0) return end > start ? track.metresBetween(start, end) / (end - start) : 0;
  return new Float64Array(speeds).sort()[Math.round(0.95 * (speeds.length - 1))]!;
}

/** s of a silence as a tunnel makes it */
const tunnelSilence = 100;

/** Share of a leg's time in such silences. */
function silentShare(track: Track, { start, end }: Leg): number {
  let silent = 0;
  const last = track.firstAfter(end);
  for (let i = track.firstAfter(start); i <= last; i += 1) {
    const from = i > 0 ? track.ts[i - 1]! : start;
    const to = i < track.ts.length ? track.ts[i]! : end;
    if (to - from > tunnelSilence) silent += Math.max(0, Math.min(to, end) - Math.max(from, start));
  }
  return end > start ? silent / (end - start) : 0;
}

/** s between locations up to which halts show, m/s below which a vehicle stands, and s that a halt takes at least */
const halting = { gap: 45, speed: 1.5, least: 10 };

/** Share of a leg's time in which halts show, and how many there are. */
function haltsIn(track: Track, { start, end }: Leg): { covered: number; halts: number } {
  let [seen, halts, standing] = [0, 0, 0];
  const last = Math.min(track.firstAfter(end), track.ts.length - 1);
  for (let i = Math.max(1, track.firstAfter(start)); i <= last; i += 1) {
    const seconds = track.ts[i]! - track.ts[i - 1]!;
    const slow = track.metres[i]! - track.metres[i - 1]! < halting.speed * seconds;
    if (seconds <= halting.gap) seen += seconds;
    if (slow) standing += seconds;
    else {
      if (standing >= halting.least) halts += 1;
      standing = 0;
    }
  }
  return { covered: end > start ? Math.min(1, seen / (end - start)) : 0, halts };
}
