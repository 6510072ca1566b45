// Runs of equal motion within a trip, and the smoothing that merges flip-flops between them.
import { median, speedsAlong } from '../../geo/speed.ts';
import { motionTypes } from '../../model/payloads.ts';
import { within } from '../in-time.ts';
import type { Location, Motion, Sampling } from '../observations.ts';

/** Motion that says how the user travels, from one reading to another. */
export interface MotionRun {
  type: number;
  /** s since the epoch, both ends included */
  from: number;
  to: number;
  /** Number of steps between readings from the first to the last. */
  steps: number;
}

export interface MotionRunsOptions {
  /** Percent; readings at or below are left out. */
  confidenceAbove: Record<Sampling, number>;
  /** m/s; highest median speed of a walk, and of a ride on a bicycle */
  walkingSpeed: number;
  cyclingSpeed: number;
  /** s; shorter rides in a vehicle, and on a bicycle, are doubted */
  shortestVehicle: number;
  shortestCycling: number;
  /** A run longer than this share of all is no flip-flop. */
  largeShare: number;
}

/** Thresholds of the original service's flip-flop detection. */
export const motionRunsDefaults: MotionRunsOptions = {
  confidenceAbove: { time: 60, distance: 49 },
  walkingSpeed: 1.7,
  cyclingSpeed: 8.5,
  shortestVehicle: 300,
  shortestCycling: 60,
  largeShare: 0.25,
};

const { IN_VEHICLE, BICYCLING, ON_FOOT, WALKING, RUNNING, AIR_OR_HSR } = motionTypes;
const telling = new Set<number>([IN_VEHICLE, BICYCLING, ON_FOOT, WALKING, RUNNING]);

export const isMotorised = (type: number): boolean => type === IN_VEHICLE || type === AIR_OR_HSR;
export const isOnFoot = (type: number): boolean => type === ON_FOOT || type === WALKING || type === RUNNING;

/** Runs of a trip from its motion readings, smoothed. Empty when no reading tells how the user travelled. */
export function motionRuns(
  motions: readonly Motion[],
  locations: readonly Location[],
  sampling: Sampling,
  options = motionRunsDefaults,
): MotionRun[] {
  const readings = motions.filter((m) => telling.has(m.type) && m.confidence > options.confidenceAbove[sampling]);
  return joinEqual(mergeFlipFlops(runsOf(oneWordForWalking(readings)), locations, options));
}

/** Phones say walking and on foot of one and the same walk: the word that a trip has more often stands for both. */
function oneWordForWalking(readings: readonly Motion[]): { ts: number; type: number }[] {
  const onFoot = readings.filter((m) => m.type === ON_FOOT).length;
  const walking = readings.filter((m) => m.type === WALKING || m.type === RUNNING).length;
  const word = walking > onFoot ? WALKING : ON_FOOT;
  return readings.map(({ ts, type }) => ({ ts, type: isOnFoot(type) ? word : type }));
}

/**
 * Runs of equal type. Between two runs one reading is the boundary: travel in a vehicle (and on a bicycle after a walk) begins
 * with the last reading before it, any other with its own first.
 */
function runsOf(readings: readonly { ts: number; type: number }[]): MotionRun[] {
  const runs: MotionRun[] = [];
  let first = 0;
  for (let i = 1; i <= readings.length; i += 1) {
    const previous = readings[i - 1]!;
    const here = readings[i];
    if (here && here.type === previous.type) continue;
    const boundary = here && startsEarly(previous.type, here.type) ? i - 1 : i;
    const end = here ? boundary : i - 1;
    runs.push({ type: previous.type, from: readings[first]!.ts, to: readings[end]!.ts, steps: end - first });
    first = end;
  }
  return runs;
}

function startsEarly(before: number, after: number): boolean {
  if (!isMotorised(before) && isMotorised(after)) return true;
  return isOnFoot(before) && after === BICYCLING;
}

/** What the smoothing asks of a run and of the locations in it. */
interface Judged extends MotionRun {
  locations: Location[];
  speed: number;
  flipFlop: boolean;
}

function judge(runs: readonly MotionRun[], locations: readonly Location[], options: MotionRunsOptions): Judged[] {
  const total = runs.at(-1)!.to - runs[0]!.from;
  return runs.map((run) => {
    const inRun = within(locations, run.from, run.to);
    const speed = median(speedsAlong(inRun).slice(1));
    const judged: Judged = { ...run, locations: inRun, speed, flipFlop: false };
    const seconds = run.to - run.from;
    const shortRide = isMotorised(run.type) && seconds < options.shortestVehicle;
    if (total > 0 && seconds / total > options.largeShare && !shortRide) return judged;
    judged.flipFlop =
      run.steps <= 1 || (!isOnFoot(run.type) && run.steps <= 2) || !isPlausible(judged, options) || inRun.length === 0;
    return judged;
  });
}

function isPlausible(run: Judged, options: MotionRunsOptions): boolean {
  const seconds = run.to - run.from;
  if (isMotorised(run.type)) return seconds >= options.shortestVehicle;
  if (run.type === BICYCLING) return seconds >= options.shortestCycling && !(run.speed > options.cyclingSpeed);
  return !(run.speed > options.walkingSpeed);
}

/** Gives each streak of flip-flops to the neighbour it fits, where it is not travel of its own. */
function mergeFlipFlops(runs: MotionRun[], locations: readonly Location[], options: MotionRunsOptions): MotionRun[] {
  if (runs.length < 2) return runs;
  const judged = judge(runs, locations, options);
  if (judged.every((run) => run.flipFlop)) return runs;
  const out: MotionRun[] = [];
  for (let s = 0; s < judged.length; ) {
    if (!judged[s]!.flipFlop) {
      out.push(plain(judged[s]!));
      s += 1;
      continue;
    }
    let e = s;
    while (judged[e + 1]?.flipFlop) e += 1;
    const streak = judged.slice(s, e + 1);
    const before = judged[s - 1];
    const after = judged[e + 1];
    const fate = fateOf(streak, before, after, options);
    if (fate === 'keep') out.push(...streak.map(plain));
    else if (fate === 'cycling') out.push(joined(streak, BICYCLING));
    else if (fate === 'before') extend(out.at(-1)!, streak.at(-1)!.to, streak);
    else {
      // The following run begins where the streak began.
      judged[e + 1] = { ...after!, from: streak[0]!.from, steps: after!.steps + steps(streak) };
    }
    s = e + 1;
  }
  return out;
}

const steps = (streak: readonly MotionRun[]): number => streak.reduce((sum, run) => sum + run.steps, 0);
const plain = ({ type, from, to, steps }: MotionRun): MotionRun => ({ type, from, to, steps });

function joined(streak: readonly MotionRun[], type: number): MotionRun {
  return { type, from: streak[0]!.from, to: streak.at(-1)!.to, steps: steps(streak) };
}

function extend(run: MotionRun, to: number, streak: readonly MotionRun[]): void {
  run.to = to;
  run.steps += steps(streak);
}

type Fate = 'keep' | 'cycling' | 'before' | 'after';

function fateOf(
  streak: readonly Judged[],
  before: Judged | undefined,
  after: Judged | undefined,
  options: MotionRunsOptions,
): Fate {
  if (streak.length <= 2) {
    if (isFastCyclist(streak)) return 'cycling';
    if (streak.every((run) => isOnFoot(run.type)) && streak.some((run) => run.locations.length > 1)) return 'keep';
  } else {
    if (streak.length > 4) return 'cycling';
    if (streak.every((run) => isPlausible(run, options))) return 'keep';
  }
  return direction(streak, before, after, options);
}

/** A short ride on a bicycle that the phone went on to call a vehicle. */
function isFastCyclist(streak: readonly Judged[]): boolean {
  const [ride, vehicle] = streak;
  if (!ride || !vehicle || ride.type !== BICYCLING || ride.steps > 1 || !isMotorised(vehicle.type) || vehicle.steps > 2)
    return false;
  if (vehicle.from - ride.to >= 60) return false;
  return ride.steps === 0 || (ride.to - ride.from) / (vehicle.to - vehicle.from) > 0.75;
}

function direction(
  streak: readonly Judged[],
  before: Judged | undefined,
  after: Judged | undefined,
  options: MotionRunsOptions,
): Fate {
  if (!before || !after) return before ? 'before' : after ? 'after' : 'keep';
  if (streak.every((run) => isOnFoot(run.type)) && isMotorised(before.type) && isMotorised(after.type)) return 'keep';
  if (before.type === after.type) return 'before';
  const own = streakSpeed(streak, before, after);
  if (own > options.walkingSpeed) {
    if (isOnFoot(before.type)) return 'after';
    if (isOnFoot(after.type)) return 'before';
  }
  const toBefore = Math.abs(own - before.speed);
  const toAfter = Math.abs(own - after.speed);
  return toAfter < toBefore ? 'after' : 'before';
}

function streakSpeed(streak: readonly Judged[], before: Judged, after: Judged): number {
  const own = streak.flatMap((run) => run.locations);
  const path = own.length >= 2 ? own : [...before.locations.slice(-1), ...after.locations.slice(0, 1)];
  return median(speedsAlong(path).slice(1));
}

/** Joins neighbours of equal type. */
function joinEqual(runs: readonly MotionRun[]): MotionRun[] {
  const out: MotionRun[] = [];
  for (const run of runs) {
    const last = out.at(-1);
    if (last && last.type === run.type) extend(last, run.to, [run]);
    else out.push({ ...run });
  }
  return out;
}
