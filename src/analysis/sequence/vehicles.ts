// Step "vehicles": car, bus or rail from what lies around a ride and the shape of its way, by weights that can be read.

import type { Leg } from './legs.ts';
import { cellStates } from './model.ts';
import { type Run, runsBetween, secondsIn } from './runs.ts';
import { firstAfter, metresAt, positionAt, type Track } from './track.ts';

/**
 * Weights of log odds. Set by hand on the developers' days, but a classifier fitted to such days knows its route: a
 * ride of another route it called by the speeds of the first. What is physical: rails bend slowly and run in tunnels;
 * nobody waits for a car.
 */
export interface VehicleOptions {
  /** Public transport (a bus or rail) against car: at the beginning, then what speaks for it. */
  start: number;
  /** s of standing before the ride, and its weight; each of two limits adds */
  waits: readonly (readonly [seconds: number, weight: number])[];
  /** An earlier ride of so many s in the same trip. */
  earlierRide: number;
  earlierWeight: number;
  /** s on foot before and after it, and their weights */
  walk: number;
  walkBefore: number;
  walkAfter: number;
  /** Another ride of the trip speaks clearly for public transport. */
  clear: number;
  company: number;
  /** Rail against bus: rad/km at which a way says nothing, weight of its logarithm, most that it counts. */
  straight: number;
  turning: number;
  mostTurning: number;
  /** Share of time in silences of a tunnel, the least speed, m/s, and the weight of both. */
  tunnelShare: number;
  tunnelSpeed: number;
  tunnel: number;
  /** m/s faster than buses run, and its weight */
  fast: number;
  fastWeight: number;
  /** m; a ride that begins where the one before it ended, which led this far, goes on in the same vehicle (physical) */
  parked: number;
  leastRide: number;
}

/** The weights in use, in log-odds, set by hand on the training days. */
const vehicleDefaults: VehicleOptions = {
  start: -2,
  waits: [
    [60, 2.5],
    [180, 1],
  ],
  earlierRide: 150,
  earlierWeight: 2,
  walk: 300,
  walkBefore: 1,
  walkAfter: 0.8,
  clear: 1,
  company: 1.5,
  straight: 0.6,
  turning: -2.2,
  mostTurning: 3,
  tunnelShare: 0.3,
  tunnelSpeed: 12,
  tunnel: 1,
  fast: 27,
  fastWeight: 0.8,
  parked: 60,
  leastRide: 400,
};

/** Probabilities of a ride's vehicle; they sum to 1. */
export interface VehicleOdds {
  car: number;
  bus: number;
  rail: number;
}

/** What speaks for one vehicle or another. */
export interface RideFigures {
  /** s standing between the ride and the one before it (or the start of the trip), and s on foot in that time */
  wait: number;
  walkBefore: number;
  /** s of the walk right after it */
  walkAfter: number;
  /** True with an earlier ride in the trip. */
  earlier: boolean;
  /** rad/km */
  turn: number;
  /** m/s, 95 % of the speeds are below it */
  fastest: number;
  /** Share of its time in silences of more than 100 s. */
  silent: number;
}

/** Odds of the vehicle for each leg; null for legs that are no rides. `fastest`: as `fastestSpeed` says of each leg. */
export function vehiclesOf(
  track: Track,
  runs: readonly Run[],
  legs: readonly Leg[],
  fastest: readonly number[],
  start: number,
  options = vehicleDefaults,
): (VehicleOdds | null)[] {
  const figures = legs.map((leg, i) =>
    leg.state === cellStates.motor ? rideFigures(track, runs, legs, i, fastest[i]!, start, options) : null,
  );
  const shared: (number | null)[] = [];
  figures.forEach((ride, i) => {
    const same = ride && sameVehicle(track, legs, i, options);
    shared.push(typeof same === 'number' ? shared[same]! : ride && publicOdds(ride, options));
  });
  return figures.map((ride, i) => {
    if (!ride) return null;
    const company = shared.some((odds, k) => k !== i && odds !== null && odds > options.clear);
    const inPublic = sigmoid(shared[i]! + (company ? options.company : 0));
    const byRail = sigmoid(railOdds(ride, options));
    return { car: 1 - inPublic, bus: inPublic * (1 - byRail), rail: inPublic * byRail };
  });
}

/** The ride before leg `i`, if the user rested at it and went on from where it stood; null: in another vehicle. */
function sameVehicle(track: Track, legs: readonly Leg[], i: number, options: VehicleOptions): number | null {
  const previous = legs.findLastIndex((leg, k) => k < i && leg.state !== cellStates.walk);
  if (previous < 0 || legs[previous]!.state !== cellStates.motor) return null;
  const [came, left] = [positionAt(track, legs[previous]!.start), positionAt(track, legs[previous]!.end)];
  if (left.metres - came.metres < options.leastRide) return null;
  // At the last location before the ride: through a silence the user did not go from its beginning on.
  const last = Math.max(0, firstAfter(track, legs[i]!.start) - 1);
  const boarded = { x: track.x[last]!, y: track.y[last]! };
  return Math.sqrt((left.x - boarded.x) ** 2 + (left.y - boarded.y) ** 2) <= options.parked ? previous : null;
}

const sigmoid = (odds: number): number => 1 / (1 + Math.exp(-odds));

/** Log odds of a bus or rail against a car. */
function publicOdds(ride: RideFigures, options: VehicleOptions): number {
  let odds = options.start;
  for (const [seconds, weight] of options.waits) if (ride.wait >= seconds) odds += weight;
  if (ride.earlier) odds += options.earlierWeight;
  if (ride.walkBefore >= options.walk) odds += options.walkBefore;
  if (ride.walkAfter >= options.walk) odds += options.walkAfter;
  return odds;
}

/** Log odds of rail against a bus. */
function railOdds(ride: RideFigures, options: VehicleOptions): number {
  const turning = options.turning * Math.log(Math.max(ride.turn, 0.05) / options.straight);
  let odds = Math.max(-options.mostTurning, Math.min(options.mostTurning, turning));
  if (ride.silent > options.tunnelShare && ride.fastest > options.tunnelSpeed) odds += options.tunnel;
  if (ride.fastest > options.fast) odds += options.fastWeight;
  return odds;
}

function rideFigures(
  track: Track,
  runs: readonly Run[],
  legs: readonly Leg[],
  i: number,
  fastest: number,
  tripStart: number,
  options: VehicleOptions,
): RideFigures {
  const ride = legs[i]!;
  const previous = legs.slice(0, i).findLast((leg) => leg.state !== cellStates.walk);
  const since = previous ? previous.end : tripStart;
  const walkBefore = secondsIn(runsBetween(runs, since, ride.start), cellStates.walk);
  const after = legs[i + 1];
  const earlier = legs
    .slice(0, i)
    .some((leg) => leg.state === cellStates.motor && leg.end - leg.start >= options.earlierRide);
  return {
    wait: Math.max(0, ride.start - since - walkBefore),
    walkBefore,
    walkAfter: after?.state === cellStates.walk ? after.end - after.start : 0,
    earlier,
    turn: turnPerKm(track, ride),
    fastest,
    silent: silentShare(track, ride),
  };
}

/** m along the way from one corner of the chords to the next, and km that a way counts at least */
const chord = 60;
const leastKm = 0.3;

/** rad/km that the course of chords along the way changes; who stands about turns, too, as receivers err */
function turnPerKm(track: Track, { start, end }: Leg): number {
  const [from, to] = [positionAt(track, start), positionAt(track, end)];
  let [x, y] = [from.x, from.y]; // where the way has been followed to
  let [cornerX, cornerY] = [x, y];
  let left = chord; // m to the next corner
  let course = Number.NaN;
  let turned = 0;
  let metres = 0;
  const last = firstAfter(track, end);
  for (let i = firstAfter(track, start); i <= last; i += 1) {
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
export function fastestSpeed(track: Track, { start, end }: Leg): number {
  const { ts: times, x, y } = track;
  const lastFix = times.length - 1;
  const speeds = new Float64Array(Math.max(0, Math.ceil((end - start) / speedStep) + 1));
  let count = 0;
  const recent = new Float64Array(speedMean); // the last speeds without a silence between, in a ring
  let steps = 0;
  let next = firstAfter(track, start);
  const { x: startX, y: startY } = positionAt(track, start);
  let [beforeX, beforeY] = [startX, startY];
  for (let ts = start + speedStep; ts <= end; ts += speedStep) {
    while (next <= lastFix && times[next]! <= ts) next += 1;
    // The same position as `positionAt` gives.
    const i = Math.max(0, Math.min(next - 1, lastFix));
    const j = Math.min(next, lastFix);
    const share = j > i ? (ts - times[i]!) / (times[j]! - times[i]!) : 0;
    const hereX = x[i]! + share * (x[j]! - x[i]!);
    const hereY = y[i]! + share * (y[j]! - y[i]!);
    const isSilent = next === 0 || next > lastFix || times[next]! - times[next - 1]! > speedSilence;
    if (isSilent) steps = 0;
    else {
      recent[steps % speedMean] = Math.sqrt((hereX - beforeX) ** 2 + (hereY - beforeY) ** 2) / speedStep;
      steps += 1;
    }
    beforeX = hereX;
    beforeY = hereY;
    if (steps >= speedMean) {
      let sum = 0;
      for (let k = 0; k < speedMean; k += 1) sum += recent[(steps + k) % speedMean]!;
      speeds[count] = sum / speedMean;
      count += 1;
    }
  }
  if (count === 0) {
    const metres = metresAt(track, end) - metresAt(track, start);
    return end > start ? metres / (end - start) : 0;
  }
  return speeds.subarray(0, count).sort()[Math.round(0.95 * (count - 1))]!;
}

/** s of a silence as a tunnel makes it */
const tunnelSilence = 100;

function silentShare(track: Track, { start, end }: Leg): number {
  let silent = 0;
  const last = firstAfter(track, end);
  for (let i = firstAfter(track, start); i <= last; i += 1) {
    const from = i > 0 ? track.ts[i - 1]! : start;
    const to = i < track.ts.length ? track.ts[i]! : end;
    if (to - from > tunnelSilence) silent += Math.max(0, Math.min(to, end) - Math.max(from, start));
  }
  return end > start ? silent / (end - start) : 0;
}
