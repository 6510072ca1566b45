// Step "rides": what speaks for one mode or another of each leg of an outing: its shape, and what lies around it.
import { fastest } from '../../model/mode-class.ts';
import { type Cells, movingShares } from './decode.ts';
import { type Leg, legsOf } from './legs.ts';
import { cellStates } from './model.ts';
import { type Run, runsBetween, secondsIn } from './runs.ts';
import { fastestSpeed, haltsIn, silentShare, turnPerKm } from './shape.ts';
import { apart, firstAfter, metresBetween, positionAt, type Track } from './track.ts';

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
export interface Ride {
  leg: Leg;
  features: number[];
  /** By mode: false where nobody moves so fast in it. */
  possible: boolean[];
  /** m/s, the 95 % quantile */
  fastest: number;
  /** Index of the ride before it; null: none, or too long ago. */
  before: number | null;
  /** It begins where the ride before it ended; `left`: the user walked away in between, or stayed for long. */
  near: boolean;
  left: boolean;
  /** s that the user stood before it; 0 where they left it: nobody waits for that */
  waited: number;
}

/** Physical limits, and s beyond which a rest is a stay (by hand: few people wait longer at a stop). */
export const rideLimits = {
  /** m/s by mode on average, over at least `least` m */
  limits: [fastest.walk, fastest.bike, fastest.car, fastest.bus, fastest.rail],
  least: 500,
  stay: 1200,
  /** m; a vehicle waits where it was left */
  parked: 60,
  /**
   * s on foot, m away, and a way so much shorter than its parts, or s of any stop: then who goes on left it (by hand)
   */
  walked: 60,
  /** s; who stood so long before a ride waited for it */
  waited: 60,
  away: 80,
  turnedBack: 0.85,
  stayed: 900,
};

/** The legs of an outing between two times, with their figures. */
export function ridesOf(
  { runs, track, cells }: { runs: readonly Run[]; track: Track; cells: Cells },
  from: number,
  to: number,
): Ride[] {
  const rides: Ride[] = [];
  let last: number | null = null;
  const legs = legsOf(runs, from, to);
  for (const [i, leg] of legs.entries()) {
    const onFoot = leg.state === cellStates.walk;
    const before = last === null || onFoot ? null : rides[last]!;
    const linked = before !== null && leg.start - before.leg.end <= 2 * rideLimits.stay;
    const figures = figuresOf(track, cells, leg);
    const left = linked && wasLeft(runs, track, before, leg);
    const around = onFoot ? { boarded: 0, waited: 0, walks: [0, 0] } : aroundOf(runs, legs, i, from);
    const waited = left ? 0 : around.waited;
    const metres = metresBetween(track, leg.start, leg.end);
    rides.push({
      leg,
      features: [...figures.own, around.boarded, waitFigure(waited), ...around.walks, ...figures.shape],
      possible: rideLimits.limits.map((limit) => metres < rideLimits.least || metres <= limit * (leg.end - leg.start)),
      fastest: figures.fastest,
      before: linked ? last : null,
      near: left || (linked && unseenBetween(track, before.leg.end, leg.start) <= rideLimits.parked),
      left,
      waited,
    });
    if (!onFoot) last = rides.length - 1;
  }
  return rides;
}

/**
 * m between where one ride ended and the last location before the next: through a silence nobody went from its
 * beginning.
 */
function unseenBetween(track: Track, end: number, start: number): number {
  const i = Math.max(0, firstAfter(track, start) - 1);
  return apart(positionAt(track, end), { x: track.x[i]!, y: track.y[i]! });
}

/**
 * True when the user left a vehicle that they had not waited for where they then went on from: for long, or on foot and
 * to turn back. Who changes vehicles at one platform goes on.
 */
function wasLeft(runs: readonly Run[], track: Track, ride: Ride, next: Leg): boolean {
  const before = ride.leg;
  const [end, start] = [before.end, next.start];
  const at = (ts: number) => positionAt(track, ts);
  if (ride.waited >= rideLimits.waited) return false;
  if (start - end < rideLimits.stayed) {
    const way = apart(at(before.start), at(end)) + apart(at(start), at(next.end));
    if (apart(at(before.start), at(next.end)) > rideLimits.turnedBack * way) return false;
    if (secondsIn(runsBetween(runs, end, start), cellStates.walk) < rideLimits.walked) return false;
    if (farthest(track, end, start) < rideLimits.away) return false;
  }
  // A state changes half a minute too early or late.
  const around = (ts: number) => [-30, -15, 0, 15, 30].map((s) => at(ts + s));
  const there = around(start);
  return around(end).some((a) => there.some((b) => apart(a, b) <= rideLimits.parked));
}

/** m that the locations of a stop lie from where it began, at most */
function farthest(track: Track, start: number, end: number): number {
  const from = positionAt(track, start);
  let most = 0;
  for (let i = firstAfter(track, start); i < track.ts.length && track.ts[i]! < end; i += 1)
    most = Math.max(most, apart(from, { x: track.x[i]!, y: track.y[i]! }));
  return most;
}

const log = (value: number, least: number, most: number): number => Math.log(Math.min(most, Math.max(least, value)));

function figuresOf(track: Track, cells: Cells, leg: Leg) {
  const seconds = Math.max(1, leg.end - leg.start);
  const km = metresBetween(track, leg.start, leg.end) / 1000;
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

/** How much a wait says: from `stayed` on less, as who stands so long may be staying. */
function waitFigure(waited: number): number {
  const doubt = (rideLimits.stay - waited) / (rideLimits.stay - rideLimits.stayed);
  return log(1 + waited / 30, 1, 40) * Math.min(1, Math.max(0, doubt));
}

/** Whether the user boarded on foot, and how long they stood and walked before, and walked after it. */
function aroundOf(runs: readonly Run[], legs: readonly Leg[], i: number, from: number) {
  const leg = legs[i]!;
  let [walked, stood, waited] = [0, 0, 0];
  const before = runsBetween(runs, Math.max(from, leg.start - 2 * rideLimits.stay), leg.start);
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
      if (end - start > rideLimits.stay) break;
    }
  }
  const next = legs[i + 1];
  const after = next?.state === cellStates.walk ? next.end - next.start : 0;
  const walks = [log(1 + walked / 60, 1, 20), log(1 + after / 60, 1, 20)];
  return { boarded: walked > 0 ? 1 : 0, waited, walks };
}
