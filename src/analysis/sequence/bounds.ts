// Step "bounds": when a journey really began and ended. The first location comes late, the last one stays long.
import type { Motion, Sampling } from '../observations.ts';
import type { Cells } from './decode.ts';
import { cellSeconds, readingKind } from './features.ts';
import { cellStates } from './model.ts';
import { geofenceDelay, movements, type Run } from './runs.ts';

/** All set by hand on the developers' days. */
export const boundLimits = {
  /** s; the states move a start or an end at most this far */
  reach: 240,
  /** s; a movement that ended this little before the start still leads into it */
  lead: 30,
  /** s; Android, silent for longer than this before the first location, noticed late that the user left */
  silence: 300,
  /** s; a phone that was awake for so long before the user moved did not notice it late (physical) */
  awake: 45,
  /**
   * iPhones tell of walking while their locations sleep: least share of it in a cell, the longest hole, and how far
   * back, s
   */
  walking: 0.3,
  walkingHole: 90,
  walkingReach: 1200,
  /**
   * Where nothing tells the way to the first location, an iPhone's readings alone tell since when the user moved: the
   * longest hole between them, and before a ride (who walked to a vehicle and waits in it is under way), and the
   * longest stillness in a hole, s
   */
  movingHole: 90,
  holeBeforeRide: 420,
  stillInHole: 20,
  /** s; shorter movement does not count: people get up from their chairs */
  leastMovement: 30,
};

/** What set a boundary; kept with the trip. */
export type BoundaryRule =
  | 'location'
  | 'movement'
  | 'geofence'
  | 'walking readings'
  | 'readings'
  | 'trip before'
  | 'trip after';

/** What the start and end of a journey are found from. */
export interface BoundsInput {
  sampling: Sampling;
  cells: Cells;
  runs: readonly Run[];
  /** The first and the last location of the journey. */
  firstTs: number;
  lastTs: number;
  /** Since when all its locations lie near the last one: the user had arrived. */
  arrivedTs: number;
  /** When the user left by the way from the place before and their usual speed. */
  leftTs: number;
  /** The last location before the first; negative infinity: none. */
  silentSince: number;
  /** When the phone said that the user had left the place; null: it did not. */
  exitedTs: number | null;
  /** Motion readings, and true if only they show when the user left: no place before, or a single location. */
  motions: readonly Motion[];
  noWay: boolean;
  /** End of the trip before, and start of the trip after. */
  notBefore: number;
  notAfter: number;
}

/** When a journey starts and ends, in seconds since the epoch, and the rule behind each. */
export interface Bounds {
  start_ts: number;
  end_ts: number;
  start: BoundaryRule;
  end: BoundaryRule;
  /** How the user moved at the beginning, if only readings show it. */
  lead: Run[];
}

/** Start and end of a journey. */
export function boundsOf(input: BoundsInput): Bounds {
  const moving = movements(input.runs);
  const [start_ts, start, lead] = startOf(input, moving);
  const [end_ts, end] = endOf(input, moving);
  // Of a very short journey nothing may be left: then its locations bound it.
  if (end_ts > start_ts) return { start_ts, end_ts, start, end, lead };
  return { start_ts: input.firstTs, end_ts: input.lastTs, start: 'location', end: 'location', lead: [] };
}

type Boundary = [ts: number, rule: BoundaryRule];

function startOf(input: BoundsInput, moving: readonly { start: number; end: number }[]): [...Boundary, Run[]] {
  const { leftTs, firstTs, lastTs } = input;
  const run =
    moving.findLast(({ start, end }) => start <= leftTs && end + boundLimits.lead >= leftTs) ??
    moving.find(({ start }) => start > leftTs && start < lastTs);
  let found: Boundary = [leftTs, 'location'];
  if (run) found = [clamp(run.start, leftTs - boundLimits.reach, leftTs + boundLimits.reach), 'movement'];
  const awakeBefore = run !== undefined && run.start > firstTs + boundLimits.awake;
  if (input.exitedTs !== null && firstTs - input.silentSince > boundLimits.silence && !awakeBefore) {
    found = [Math.min(leftTs, input.exitedTs - geofenceDelay), 'geofence'];
  }
  let lead: Run[] = [];
  if (input.sampling === 'distance') {
    if (input.noWay) lead = movementsBefore(input.motions, found[0], leftTs - boundLimits.walkingReach);
    if (lead.length > 0) found = [lead[0]!.start, 'readings'];
    const ts = walkedSince(input.cells, found[0], leftTs - boundLimits.walkingReach);
    if (ts < found[0]) found = [ts, 'walking readings'];
  }
  return found[0] > input.notBefore ? [...found, lead] : [input.notBefore, 'trip before', lead];
}

/** The earliest cell back to which the user moves and the phone says that they walk. */
function walkedSince({ ts, state, walking }: Cells, from: number, earliest: number): number {
  let since = from;
  for (let i = ts.length - 1; i >= 0; i -= 1) {
    if (ts[i]! >= from) continue;
    if (ts[i]! < earliest || since - ts[i]! > boundLimits.walkingHole + cellSeconds) break;
    if (state[i] !== cellStates.still && walking[i]! > boundLimits.walking) since = ts[i]! - cellSeconds / 2;
  }
  return Math.max(since, Math.min(from, earliest));
}

/** What an iPhone's readings say of movement that leads up to `to`, in order of time; one holds until the next. */
function movementsBefore(motions: readonly Motion[], to: number, earliest: number): Run[] {
  const found: Run[] = [];
  let hole = 0;
  let still = 0; // s of the hole
  let longest = boundLimits.movingHole;
  for (let i = motions.length - 1; i >= 0; i -= 1) {
    const [start, end] = [motions[i]!.ts, Math.min(motions[i + 1]?.ts ?? to, to)];
    const state = stateOf[readingKind(motions[i]!.type)]!;
    if (state === cellStates.motor && end >= to) longest = boundLimits.holeBeforeRide;
    if (end <= start) continue;
    if (start < earliest) break;
    if (state !== null && state !== cellStates.still && end - start >= boundLimits.leastMovement) {
      const ride = found[0]?.state === cellStates.motor ? found[0] : null;
      if (ride) ride.start = end; // the user sat in it
      found.unshift({ state, start, end });
      [hole, still] = [0, 0];
      longest = state === cellStates.motor ? boundLimits.holeBeforeRide : boundLimits.movingHole;
      continue;
    }
    hole += end - start;
    if (state === cellStates.still) still += end - start;
    if (hole > longest || still > boundLimits.stillInHole) break;
  }
  // The last movement goes on to where the states have it.
  const last = found.at(-1);
  if (last) last.end = to;
  return found;
}

/** States by kind of reading: still, walk, bike, motor, none. */
const stateOf = [cellStates.still, cellStates.walk, cellStates.cycle, cellStates.motor, null] as const;

function endOf(input: BoundsInput, moving: readonly { start: number; end: number }[]): Boundary {
  const { lastTs, firstTs } = input;
  const run = moving.findLast(({ start, end }) => start < lastTs + boundLimits.reach && end > firstTs);
  const found: Boundary = run
    ? [clamp(run.end, input.arrivedTs - boundLimits.reach, lastTs + boundLimits.reach), 'movement']
    : [lastTs, 'location'];
  return found[0] < input.notAfter ? found : [input.notAfter, 'trip after'];
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);
