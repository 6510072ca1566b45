// Step "bounds": when a journey really began and ended. The first location comes late, the last one stays long.

import { distance } from '../../model/geo/distance.ts';
import { median } from '../../model/geo/speed.ts';
import { transitions } from '../../model/payloads.ts';
import type { Untracked } from '../../model/trip.ts';
import { type Candidate, candidateLimits } from '../clean/candidates.ts';
import {
  isEnd,
  isExit,
  isRestart,
  type Location,
  type Motion,
  type Observations,
  type PhoneEvent,
  restartedBetween,
} from '../clean/observations.ts';
import type { Track } from '../clean/track.ts';
import type { DecodedGroup } from '../decode-group.ts';
import { cellStates, isMoving, readingState } from '../motion-states.ts';
import { positionOf } from '../positions.ts';
import { lookAround, type Stay } from '../segmenter.ts';
import { someWithin, within } from '../sorted-times.ts';
import { cellSeconds } from '../states/features.ts';
import { geofenceDelay, movingSpans, type Segment } from '../states/segments.ts';
import type { Cells } from '../states/viterbi.ts';

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

/** A journey, and what lies around it. */
export interface JourneySpan {
  first: Location;
  last: Location;
  /** The last candidate of it. */
  candidate: Candidate;
  /** Where the user was before; null: not known. */
  stay: Stay | null;
  /** True when nobody saw the way from there. */
  isUnseen: boolean;
  /** When the trip after it starts. */
  notAfter: number;
}

/** When a journey starts and ends, in seconds since the epoch, and the rule backward each. */
export interface Bounds {
  start_ts: number;
  end_ts: number;
  start: BoundaryRule;
  end: BoundaryRule;
  /** How the user moved at the beginning, if only readings show it. */
  lead: Segment[];
}

/** Start and end of a journey. */
export function findBounds(decoded: DecodedGroup, span: JourneySpan): Bounds {
  const moving = movingSpans(decoded.segments);
  const [start_ts, start, lead] = findStart(decoded, span, moving);
  const [end_ts, end] = findEnd(decoded, span, moving);
  // Of a very short journey nothing may be left: then its locations bound it.
  if (end_ts > start_ts) return { start_ts, end_ts, start, end, lead };
  return { start_ts: span.first.ts, end_ts: span.last.ts, start: 'location', end: 'location', lead: [] };
}

type Boundary = [ts: number, rule: BoundaryRule];
type Movements = ReturnType<typeof movingSpans>;

function findStart(decoded: DecodedGroup, span: JourneySpan, moving: Movements): [...Boundary, Segment[]] {
  const { first, last, stay, isUnseen } = span;
  const leftTs = departureTs(decoded, span);
  const segment =
    moving.findLast(({ start, end }) => start <= leftTs && end + boundLimits.lead >= leftTs) ??
    moving.find(({ start }) => start > leftTs && start < last.ts);
  let found: Boundary = [leftTs, 'location'];
  if (segment) found = [clamp(segment.start, leftTs - boundLimits.reach, leftTs + boundLimits.reach), 'movement'];
  const awakeBefore = segment !== undefined && segment.start > first.ts + boundLimits.awake;
  const exitedTs = exitReportedTs(decoded, first);
  if (exitedTs !== null && first.ts - lastFixTs(decoded, first) > boundLimits.silence && !awakeBefore) {
    found = [Math.min(leftTs, exitedTs - geofenceDelay), 'geofence'];
  }
  let lead: Segment[] = [];
  if (decoded.group.sampling === 'distance') {
    const earliest = leftTs - boundLimits.walkingReach;
    // Only readings show when the user left: there is no place before, or a single location.
    if (stay === null || first === last) {
      lead = movementsBefore(within(decoded.motions, first.ts - lookAround, first.ts), found[0], earliest);
    }
    if (lead.length > 0) found = [lead[0]!.start, 'readings'];
    const ts = walkedSince(decoded.cells, found[0], earliest);
    if (ts < found[0]) found = [ts, 'walking readings'];
  }
  // Who moved unseen begins where they turn up, unless the phone says when they left.
  const notBefore =
    isUnseen && exitedTs === null ? first.ts : Math.max(stay?.enter_ts ?? -Infinity, trackedSince(decoded, first));
  return found[0] > notBefore ? [...found, lead] : [notBefore, 'trip before', lead];
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
function movementsBefore(motions: readonly Motion[], to: number, earliest: number): Segment[] {
  const found: Segment[] = [];
  let hole = 0;
  let still = 0; // s of the hole
  let longest = boundLimits.movingHole;
  for (let i = motions.length - 1; i >= 0; i -= 1) {
    const [start, end] = [motions[i]!.ts, Math.min(motions[i + 1]?.ts ?? to, to)];
    const state = readingState(motions[i]!.type);
    if (state === cellStates.motor && end >= to) longest = boundLimits.holeBeforeRide;
    if (end <= start) continue;
    if (start < earliest) break;
    if (isMoving(state) && end - start >= boundLimits.leastMovement) {
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

function findEnd(
  decoded: DecodedGroup,
  { first, last, candidate, notAfter }: JourneySpan,
  moving: Movements,
): Boundary {
  const segment = moving.findLast(({ start, end }) => start < last.ts + boundLimits.reach && end > first.ts);
  const arrived = arrivalTs(decoded.track, first.ts, last.ts);
  const found: Boundary = segment
    ? [clamp(segment.end, arrived - boundLimits.reach, last.ts + boundLimits.reach), 'movement']
    : [last.ts, 'location'];
  const latest = Math.min(notAfter, endReportedTs(decoded, last, candidate));
  return found[0] < latest ? found : [latest, 'trip after'];
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

/** s; of the stay before a trip at least this much remains, or half of it (the original's) */
const leastStay = 180;

/** When the user left the place before, if they came from there to the first location at the trip's usual speed. */
function departureTs({ track, segments }: DecodedGroup, { first, last, stay, isUnseen }: JourneySpan): number {
  if (!stay || isUnseen || stay.enter_ts >= first.ts) return first.ts;
  const firstLeg = segments.find(
    (segment) => segment.state !== cellStates.still && segment.end > first.ts && segment.start < last.ts,
  );
  const speed = (firstLeg && typicalSpeed(track, first.ts, firstLeg.end)) ?? typicalSpeed(track, first.ts, last.ts);
  if (speed === null || speed === undefined) return first.ts;
  const earliest = stay.enter_ts + Math.min((first.ts - stay.enter_ts) / 2, leastStay);
  return Math.max(first.ts - distance(stay.location, track.positionAt(first.ts)) / speed, earliest);
}

/** m/s; the median, without standing where the user stood more than half of the time. null: no movement. */
function typicalSpeed(track: Track, from: number, to: number): number | null {
  const speeds = track.speedsIn(from, to);
  return median(speeds) || median(speeds.filter((speed) => speed > 0)) || null;
}

/**
 * The last location before the trip's first; the trip's own first, if the phone was started in between: it did not
 * sleep.
 */
function lastFixTs({ track, events }: DecodedGroup, { ts }: Location): number {
  const before = track.ts.findLast((one) => one < ts) ?? Number.NEGATIVE_INFINITY;
  return restartedBetween(events, Math.max(before, ts - lookAround), ts) ? ts : before;
}

/** s around the first location in which a phone's geofence is the one that woke it */
const exitWindow = { before: 120, after: 60 };

/** When an Android phone that slept said that the user had left the place; null: it did not sleep. */
function exitReportedTs({ group, events }: DecodedGroup, { ts }: Location): number | null {
  if (group.sampling !== 'time') return null;
  const near = within(events, ts - exitWindow.before, ts + exitWindow.after);
  return near.find((event) => event.transition === transitions.EXITED_GEOFENCE)?.ts ?? null;
}

/** When the user had switched tracking on, or the phone: before that nothing was to be noticed. */
function trackedSince({ events }: DecodedGroup, { ts }: Location): number {
  const on = within(events, ts - lookAround, ts + exitWindow.after).findLast(
    (event) => event.transition === transitions.START_TRACKING || isRestart(event),
  );
  return on ? Math.min(on.ts, ts) : Number.NEGATIVE_INFINITY;
}

/** When a trip that ended by the phone's word did, or the phone was restarted; infinite otherwise. */
function endReportedTs({ events }: DecodedGroup, last: Location, { endedBy }: Candidate): number {
  const isSaid = (event: PhoneEvent): boolean => isRestart(event) || (endedBy === 'phone' && isEnd(event));
  return events.find((event) => event.ts >= last.ts && isSaid(event))?.ts ?? Number.POSITIVE_INFINITY;
}

/** Since when all locations between two times lie near the last one. */
function arrivalTs(track: Track, from: number, to: number): number {
  let i = Math.max(0, track.firstAfter(to) - 1);
  const last = i;
  while (i > 0 && track.ts[i - 1]! >= from && track.apart(i - 1, last) < candidateLimits.timeDistance) i -= 1;
  return Math.min(track.ts[i]!, to);
}

/** Thresholds of the original service, but `late`, `notice` and `awake` (by hand: what phones were seen to do). */
const unseenLimits = {
  /** m; nearer than this the user was not away unseen; by sampling */
  distance: { time: 2500, distance: 1200 },
  /** m/s; farther away, an average up to this means time that was not tracked (3 km/h) */
  speed: 3 / 3.6,
  /** m; so far from the stay a phone may be when it notices that the user has left it */
  late: 5000,
  /** s around the first location in which the phone says that it has just noticed */
  notice: 120,
  /** s before that in which an iPhone that is on sends motion readings, also readings of rest */
  awake: 1200,
};

/**
 * The way from a stay to the first location of a trip, if nobody saw it: too slow and far, or the phone was restarted.
 * A phone that says at the first location that the user has just left, or told of motion until then, was on: it only
 * noticed late, if the user is still under way there.
 */
export function unseenFrom(
  stay: Stay,
  first: Location,
  { events, motions, underWay }: Pick<Observations, 'events' | 'motions'> & { underWay: boolean },
): Untracked | null {
  const metres = distance(stay.location, first);
  const seconds = first.ts - stay.enter_ts;
  const [from, to] = [first.ts - unseenLimits.notice, first.ts + unseenLimits.notice];
  const isOn =
    someWithin(events, from, to, isExit) ||
    (first.sampling === 'distance' && someWithin(motions, from - unseenLimits.awake, from));
  const late = underWay && metres < unseenLimits.late && isOn;
  const seen = late || metres < unseenLimits.distance[first.sampling] || metres > seconds * unseenLimits.speed;
  const restarted = late
    ? someWithin(events, stay.enter_ts, first.ts, isRestart)
    : restartedBetween(events, stay.enter_ts, first.ts);
  if (seen && !restarted) return null;
  return {
    start_ts: stay.enter_ts,
    end_ts: first.ts,
    start_loc: positionOf(stay.location),
    end_loc: positionOf(first),
  };
}
