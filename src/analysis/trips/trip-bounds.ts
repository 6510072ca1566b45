// Finds when a journey really began and ended: its first location is late, and its last locations belong to the rest.
//
//   locations          |            o   o  o  o   o ooooo
//   states             still   walk walk  motor motor walk still
//   geofence exit                 !                                Android: 165 s after the departure
//   start, end              |<--------------------------->|
//
// The states move a bound by up to 240 s. A late geofence exit (Android) or readings of walking (iPhone) set an earlier
// start. A trip cannot begin before the stay before it, nor end after the next trip begins.
import { distance } from '../../model/geo/distance.ts';
import { median } from '../../model/geo/quantile.ts';
import { transitions } from '../../model/payloads.ts';
import type { Untracked } from '../../model/trip.ts';
import { type Candidate, candidateLimits } from '../clean/candidates.ts';
import {
  isEnd,
  isExit,
  isRestart,
  type Location,
  type Motion,
  movingSince,
  type Observations,
  type PhoneEvent,
  restartedBetween,
} from '../clean/observations.ts';
import type { Track } from '../clean/track.ts';
import type { DecodedGroup } from '../decode-group.ts';
import { cellStates, isMoving, readingState } from '../motion-states.ts';
import { positionOf } from '../positions.ts';
import { lookAround, type Stay } from '../segmenter.ts';
import { firstAtOrAfter, someWithin, within } from '../sorted-times.ts';
import { cellSeconds } from '../states/features.ts';
import { geofenceDelay, isUnderWay, movingSpans, type Segment } from '../states/segments.ts';
import type { Cells } from '../states/viterbi.ts';

/** By hand on the developers' own recorded days, except where marked physical. */
export const boundLimits = {
  reach: 240, // s; the states move a bound by at most this
  lead: 30, // s; movement that ended at most this long before the start is part of the trip
  silence: 300, // s; an Android phone without a location for this long noticed the departure late
  awake: 45, // s; a phone noticed the departure at once if it sent a location this long before the movement (physical)
  // For a walk that an iPhone reports without locations:
  walking: 0.3, // 0 to 1; the lowest share of walking among the readings of a cell
  walkingGap: 90, // s; the longest gap between two walking cells of the walk
  walkingReach: 1200, // s; the walk may begin at most this long before the start
  // If an iPhone has no locations before the start, its motion readings alone show when the user left:
  movingGap: 90, // s; the longest gap between two movements of one trip
  gapBeforeRide: 420, // s; the longest gap before a ride: the user may wait in the vehicle
  stillInGap: 20, // s; the longest rest in a gap between two movements of one trip
  leastMovement: 30, // s; shorter movement does not count: people get up from their chairs
};

/** The rule that set the start or end of a trip. Stored with trips: do not rename. */
export type BoundaryRule =
  | 'location'
  | 'movement'
  | 'geofence'
  | 'walking readings'
  | 'readings'
  | 'trip before'
  | 'trip after';

interface JourneySpan {
  first: Location;
  last: Location;
  candidate: Candidate; // the last candidate of the journey
  stay: Stay | null; // the stay before the journey; null: not known
  isUnseen: boolean; // true if the move from the stay was not recorded
  notAfter: number; // start of the next trip
}

export interface Bounds {
  start_ts: number;
  end_ts: number;
  start: BoundaryRule; // the rule that set the start
  end: BoundaryRule;
  lead: Segment[]; // segments at the beginning that are known from motion readings alone
}

export function findBounds(decoded: DecodedGroup, span: JourneySpan): Bounds {
  const moving = movingSpans(decoded.segments);
  const { lead, ...start } = findStart(decoded, span, moving);
  const end = findEnd(decoded, span, moving);
  // If the bounds leave nothing of a very short journey, use its first and last location.
  if (end.ts > start.ts) return { start_ts: start.ts, end_ts: end.ts, start: start.rule, end: end.rule, lead };
  return { start_ts: span.first.ts, end_ts: span.last.ts, start: 'location', end: 'location', lead: [] };
}

interface Boundary {
  ts: number;
  rule: BoundaryRule;
}

type Movements = ReturnType<typeof movingSpans>;

function findStart(decoded: DecodedGroup, span: JourneySpan, moving: Movements): Boundary & Pick<Bounds, 'lead'> {
  const { first, last, stay, isUnseen } = span;
  const leftTs = departureTs(decoded, span);
  const segment =
    moving.findLast(({ start, end }) => start <= leftTs && end + boundLimits.lead >= leftTs) ??
    moving.find(({ start }) => start > leftTs && start < last.ts);
  let found: Boundary = { ts: leftTs, rule: 'location' };
  if (segment) {
    const ts = clamp(segment.start, leftTs - boundLimits.reach, leftTs + boundLimits.reach);
    found = { ts, rule: 'movement' };
  }
  const awakeBefore = segment !== undefined && segment.start > first.ts + boundLimits.awake;
  const exitedTs = exitReportedTs(decoded, first);
  if (exitedTs !== null && first.ts - lastLocationTs(decoded, first) > boundLimits.silence && !awakeBefore) {
    found = { ts: Math.min(leftTs, exitedTs - geofenceDelay), rule: 'geofence' };
  }
  let lead: Segment[] = [];
  if (decoded.group.sampling === 'distance') {
    const earliest = leftTs - boundLimits.walkingReach;
    // If there is no stay before the trip, or only one location, only motion readings show when the user left.
    if (stay === null || first === last) {
      lead = movementsBefore(within(decoded.motions, first.ts - lookAround, first.ts), found.ts, earliest);
    }
    if (lead.length > 0) found = { ts: lead[0]!.start, rule: 'readings' };
    const ts = walkedSince(decoded.cells, found.ts, earliest);
    if (ts < found.ts) found = { ts, rule: 'walking readings' };
  }
  // After a move that was not recorded, and at the beginning of a recording, the trip begins at its first location,
  // unless the phone reported a geofence exit.
  const notBefore =
    (isUnseen || (stay === null && beginsRecording(decoded, first))) && exitedTs === null
      ? first.ts
      : Math.max(stay?.enter_ts ?? -Infinity, trackedSince(decoded, first));
  return { ...(found.ts > notBefore ? found : { ts: notBefore, rule: 'trip before' }), lead };
}

/** True if a recording without motion readings, such as an imported file, begins with this location. */
function beginsRecording({ locations, motions, events }: DecodedGroup, { ts }: Location): boolean {
  const isSilent = (list: readonly { ts: number }[]): boolean => !someWithin(list, ts - lookAround, ts - 1);
  return motions.length === 0 && isSilent(locations) && isSilent(events);
}

function walkedSince({ ts, state, walking }: Cells, from: number, earliest: number): number {
  let since = from;
  for (let i = ts.length - 1; i >= 0; i -= 1) {
    if (ts[i]! >= from) continue;
    if (ts[i]! < earliest || since - ts[i]! > boundLimits.walkingGap + cellSeconds) break;
    if (state[i] !== cellStates.still && walking[i]! > boundLimits.walking) since = ts[i]! - cellSeconds / 2;
  }
  return Math.max(since, Math.min(from, earliest));
}

/** Returns the movement up to `to` that an iPhone's motion readings show. A reading is valid until the next reading. */
function movementsBefore(motions: readonly Motion[], to: number, earliest: number): Segment[] {
  const found: Segment[] = [];
  let gap = 0;
  let still = 0; // seconds of rest within the gap
  let longest = boundLimits.movingGap;
  for (let i = motions.length - 1; i >= 0; i -= 1) {
    const [start, end] = [motions[i]!.ts, Math.min(motions[i + 1]?.ts ?? to, to)];
    const state = readingState(motions[i]!.type);
    if (state === cellStates.motor && end >= to) longest = boundLimits.gapBeforeRide;
    if (end <= start) continue;
    if (start < earliest) break;
    if (isMoving(state) && end - start >= boundLimits.leastMovement) {
      const vehicle = found[0]?.state === cellStates.motor ? found[0] : null;
      if (vehicle) vehicle.start = end; // the user stayed in the vehicle in between
      found.unshift({ state, start, end });
      [gap, still] = [0, 0];
      longest = state === cellStates.motor ? boundLimits.gapBeforeRide : boundLimits.movingGap;
      continue;
    }
    gap += end - start;
    if (state === cellStates.still) still += end - start;
    if (gap > longest || still > boundLimits.stillInGap) break;
  }
  // The last movement lasts until `to`, because the states show movement after `to`.
  const last = found.at(-1);
  if (last) last.end = to;
  return found;
}

function findEnd(decoded: DecodedGroup, span: JourneySpan, moving: Movements): Boundary {
  const { first, last, candidate, notAfter } = span;
  const segment = moving.findLast(({ start, end }) => start < last.ts + boundLimits.reach && end > first.ts);
  const arrived = arrivalTs(decoded.track, first.ts, last.ts);
  const found: Boundary = segment
    ? { ts: clamp(segment.end, arrived - boundLimits.reach, last.ts + boundLimits.reach), rule: 'movement' }
    : { ts: last.ts, rule: 'location' };
  const latest = Math.min(notAfter, endReportedTs(decoded, last, candidate));
  return found.ts < latest ? found : { ts: latest, rule: 'trip after' };
}

const clamp = (value: number, least: number, most: number): number => Math.min(Math.max(value, least), most);

/** s; a stay lasts at least this long, or half of the time to the trip's first location if less (as in e-mission) */
const leastStay = 180;

/** Estimates when the user left the stay, if they moved to the first location at the typical speed of the trip. */
function departureTs(decoded: DecodedGroup, { first, last, stay, isUnseen }: JourneySpan): number {
  const { track, segments } = decoded;
  if (!stay || isUnseen || stay.enter_ts >= first.ts) return first.ts;
  const firstLeg = segments.find(
    (segment) => segment.state !== cellStates.still && segment.end > first.ts && segment.start < last.ts,
  );
  const speed = (firstLeg && typicalSpeed(track, first.ts, firstLeg.end)) ?? typicalSpeed(track, first.ts, last.ts);
  if (speed === null || speed === undefined) return first.ts;
  const rested = stay.enter_ts + Math.min((first.ts - stay.enter_ts) / 2, leastStay);
  const earliest = Math.max(rested, first.ts - longestLead(decoded, first));
  return Math.max(first.ts - distance(stay.location, track.positionAt(first.ts)) / speed, earliest);
}

/** m/s; the median speed, or the median without rest if the user mostly rested; null: no movement */
function typicalSpeed(track: Track, from: number, to: number): number | null {
  const speeds = track.speedsIn(from, to);
  return median(speeds) || median(speeds.filter((speed) => speed > 0)) || null;
}

/** Time of the last location before the trip; `ts` if the phone restarted since, within `lookAround`. */
function lastLocationTs({ track, events }: DecodedGroup, { ts }: Location): number {
  const before = track.ts.findLast((one) => one < ts) ?? Number.NEGATIVE_INFINITY;
  return restartedBetween(events, Math.max(before, ts - lookAround), ts) ? ts : before;
}

/** s before and after a trip's first location. A geofence exit in this time may have woken the phone (by hand). */
const exitWindow = { before: 120, after: 60 };

function exitReportedTs({ group, events }: DecodedGroup, { ts }: Location): number | null {
  if (group.sampling !== 'time') return null;
  const near = within(events, ts - exitWindow.before, ts + exitWindow.after);
  return near.find((event) => event.transition === transitions.EXITED_GEOFENCE)?.ts ?? null;
}

/** When the phone or its tracking was switched on; nothing was recorded before. Minus infinity: not known. */
function trackedSince({ events }: DecodedGroup, { ts }: Location): number {
  const on = within(events, ts - lookAround, ts + exitWindow.after).findLast(
    (event) => event.transition === transitions.START_TRACKING || isRestart(event),
  );
  return on ? Math.min(on.ts, ts) : Number.NEGATIVE_INFINITY;
}

function endReportedTs({ events }: DecodedGroup, last: Location, { endedBy }: Candidate): number {
  const isArrivalEvent = (event: PhoneEvent): boolean => isRestart(event) || (endedBy === 'phone' && isEnd(event));
  return events.find((event) => event.ts >= last.ts && isArrivalEvent(event))?.ts ?? Number.POSITIVE_INFINITY;
}

function arrivalTs(track: Track, from: number, to: number): number {
  let i = Math.max(0, track.firstAfter(to) - 1);
  const last = i;
  while (i > 0 && track.ts[i - 1]! >= from && track.apart(i - 1, last) < candidateLimits.timeDistance) i -= 1;
  return Math.min(track.ts[i]!, to);
}

/** Limits that show whether the move from the stay to the trip was recorded. Counted on recorded days. */
const unseenLimits = {
  distance: 1000, // m; a trip whose first location is nearer to the stay began there: true of 124 of 129 starts
  late: 5000, // m; a phone that is on may notice a departure late, at most this far from the stay
  notice: 120, // s; the phone reports the departure at most this long before or after the first location
  awake: 1200, // s; an iPhone that is on sends a motion reading at least this often, also at rest
  /** m/s; if a move needs a higher average speed, readings show only a part of it (physical: a fast train) */
  fastest: 55,
  /** s; the longest time for the path before the first location, unless readings show a longer movement */
  lead: 1200,
};

type MoveSources = Observations & Pick<DecodedGroup, 'segments'>;

/**
 * Returns the unrecorded move from a stay to the first location of a trip, or null if the phone recorded the move. The
 * phone recorded the move if it did not restart in between, and if one of the following holds:
 *
 * - the location is near the stay;
 * - the phone was on, and noticed the move late;
 * - readings show movement for long enough;
 * - the gap before the location is as short as gaps within a trip.
 */
export function unseenBefore(decoded: MoveSources, stay: Stay, first: Location): Untracked | null {
  const { locations, events, motions, segments } = decoded;
  const metres = distance(stay.location, first);
  const [from, to] = [first.ts - unseenLimits.notice, first.ts + unseenLimits.notice];
  const isOn =
    someWithin(events, from, to, isExit) ||
    (first.sampling === 'distance' && someWithin(motions, from - unseenLimits.awake, from));
  const late = isUnderWay(segments, first.ts) && metres < unseenLimits.late && isOn;
  const seen =
    late ||
    metres <= unseenLimits.distance ||
    metres <= unseenLimits.fastest * (first.ts - movingSince(motions, first.ts)) ||
    first.ts - lastBefore(locations, first.ts) <= candidateLimits.longestGap;
  const restarted = late
    ? someWithin(events, stay.enter_ts, first.ts, isRestart)
    : restartedBetween(events, stay.enter_ts, first.ts);
  if (seen && !restarted) return null;
  const [start_loc, end_loc] = [positionOf(stay.location), positionOf(first)];
  return { start_ts: stay.enter_ts, end_ts: first.ts, start_loc, end_loc };
}

function lastBefore(locations: readonly Location[], ts: number): number {
  const before = locations[firstAtOrAfter(locations, ts) - 1]?.ts ?? Number.NEGATIVE_INFINITY;
  return before >= ts - lookAround ? before : Number.NEGATIVE_INFINITY;
}

function longestLead({ locations, motions }: DecodedGroup, first: Location): number {
  const gap = first.ts - lastBefore(locations, first.ts);
  const short = gap <= candidateLimits.longestGap ? gap : 0;
  return Math.max(unseenLimits.lead, first.ts - movingSince(motions, first.ts), short);
}
