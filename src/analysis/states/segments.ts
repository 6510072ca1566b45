// Makes segments (consecutive cells in one state) and joins them into legs (the parts of a trip in one state).
//
//   cells      s s s w w w s m m m m m s s m m m w w s        s still, w walk, m motor; 15 s each
//   segments   s     w     s m         s   m     w   s
//   legs             |----||-------------------||---|         joined over a short halt; no gaps shorter than 90 s
//
// Before legs are joined, events of an Android phone correct the segments. The phone is asleep between "stopped moving"
// and the exit of the geofence, so the cells in between show only a straight line to the next location.
import { transitions } from '../../model/payloads.ts';
import type { PhoneEvent } from '../clean/observations.ts';
import { apart, type Track } from '../clean/track.ts';
import { cellStates } from '../motion-states.ts';
import { cellSeconds } from './features.ts';
import type { Cells } from './viterbi.ts';

export interface Segment {
  state: number;
  start: number;
  end: number;
}

const half = cellSeconds / 2;

/** s; an Android phone reports a geofence exit this long after the user left (by hand, observed on phones) */
export const geofenceDelay = 165;

/** The time in which an Android phone sleeps: from `STOPPED_MOVING` to `EXITED_GEOFENCE`. */
type Sleep = Pick<Segment, 'start' | 'end'>;

export function sleepsIn(events: readonly PhoneEvent[]): Sleep[] {
  const sleeps: Sleep[] = [];
  let since: number | null = null;
  for (const { ts, transition } of events) {
    if (transition === transitions.STOPPED_MOVING) since ??= ts;
    else if (transition === transitions.EXITED_GEOFENCE && since !== null) sleeps.push({ start: since, end: ts });
    if (transition !== transitions.STOPPED_MOVING) since = null;
  }
  return sleeps;
}

/** The segments of a group, corrected by the phone's sleeps. Movement that is drift of the receiver becomes rest. */
export function toSegments(cells: Cells, track: Track, sleeps: readonly Sleep[]): Segment[] {
  let segments = splitByState(cells);
  for (const sleep of sleeps) segments = applySleep(segments, sleep, track);
  return segments.map((segment) => (isDrift(segment, track) ? { ...segment, state: cellStates.still } : segment));
}

/** m; a ride is drift if its ends are nearer than `apart` and its bounding box is smaller than `extent` (by hand) */
const drift = { apart: 100, extent: 200 };

function isDrift({ state, start, end }: Segment, track: Track): boolean {
  if (state !== cellStates.motor && state !== cellStates.cycle) return false;
  if (track.firstAfter(start) === track.firstAfter(end)) return false;
  return apart(track.positionAt(start), track.positionAt(end)) < drift.apart && track.extent(start, end) < drift.extent;
}

/** Replaces the states during a sleep: still until the user left, then the state of the next moving segment. */
function applySleep(segments: readonly Segment[], sleep: Sleep, track: Track): Segment[] {
  const { start, end } = sleep;
  const next = segments.find(
    (segment) => segment.state !== cellStates.still && segment.start < end + cellSeconds && segment.end > end,
  );
  if (!next) return [...segments];
  const left = departureTs(sleep, track);
  return segments.flatMap((segment) => {
    if (segment.end <= start || segment.start >= end) return [segment];
    const parts: Segment[] = [{ ...segment, end: start }];
    parts.push({ state: cellStates.still, start: Math.max(segment.start, start), end: Math.min(segment.end, left) });
    parts.push({ state: next.state, start: Math.max(segment.start, left), end: Math.min(segment.end, end) });
    parts.push({ ...segment, start: Math.max(segment.start, end) });
    return parts.filter((part) => part.end > part.start);
  });
}

/** m/s; the highest average speed of a user while the phone sleeps (physical; flights are faster) */
const fastestAsleep = 25;

/** When the user left: `geofenceDelay` before the end of the sleep, or earlier if the next location is too far away. */
function departureTs({ start, end }: Sleep, track: Track): number {
  const first = Math.min(track.firstAfter(end), track.ts.length - 1);
  const metres = track.metres[first]! - track.positionAt(start).metres;
  return Math.max(start, Math.min(end - geofenceDelay, track.ts[first]! - metres / fastestAsleep));
}

function splitByState({ ts, state }: Cells): Segment[] {
  const segments: Segment[] = [];
  for (let i = 0; i < ts.length; i += 1) {
    const segment = segments.at(-1);
    if (segment && segment.state === state[i] && segment.end === ts[i]! - half) segment.end = ts[i]! + half;
    else segments.push({ state: state[i]!, start: ts[i]! - half, end: ts[i]! + half });
  }
  return segments;
}

export function movingSpans(segments: readonly Segment[]): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  for (const { state, start, end } of segments) {
    if (state === cellStates.still) continue;
    const before = found.at(-1);
    if (before && before.end === start) before.end = end;
    else found.push({ start, end });
  }
  return found;
}

export function movingBetween(segments: readonly Segment[], from: number, to: number): Segment[] {
  return segmentsBetween(segments, from, to).filter((segment) => segment.state !== cellStates.still);
}

/** s; a user who begins to move within this time after a location was not at rest at the location (physical) */
const shortRest = 45;

export function isUnderWay(segments: readonly Segment[], ts: number): boolean {
  return segments.some(
    (segment) => segment.state !== cellStates.still && segment.end > ts && segment.start < ts + shortRest,
  );
}

export function segmentsBetween(segments: readonly Segment[], from: number, to: number): Segment[] {
  const parts: Segment[] = [];
  for (const { state, start, end } of segments)
    if (end > from && start < to) parts.push({ state, start: Math.max(start, from), end: Math.min(end, to) });
  return parts;
}

export function secondsIn(segments: readonly Segment[], state: number): number {
  let sum = 0;
  for (const segment of segments) if (segment.state === state) sum += segment.end - segment.start;
  return sum;
}

/** s, by hand */
const legGaps = {
  sameMotor: 180, // two legs by vehicle that are closer than this are joined: vehicles halt longer than walkers
  same: 90, // two legs in another state that are closer than this are joined
  pause: 90, // a shorter pause between two legs belongs to the earlier leg
};

export type Leg = Segment;

/** Joins segments into legs. The first leg begins at `from`, the last ends at `to`. Empty if the user does not move. */
export function joinLegs(segments: readonly Segment[], from: number, to: number): Leg[] {
  const legs: Leg[] = [];
  for (const segment of movingBetween(segments, from, to)) {
    const before = legs.at(-1);
    const near = segment.state === cellStates.motor ? legGaps.sameMotor : legGaps.same;
    if (before && before.state === segment.state && segment.start - before.end < near) before.end = segment.end;
    else legs.push({ ...segment });
  }
  legs.forEach((leg, i) => {
    const next = legs[i + 1];
    if (next && next.start - leg.end < legGaps.pause) leg.end = next.start;
  });
  if (legs.length > 0) {
    legs[0]!.start = from;
    legs.at(-1)!.end = to;
  }
  return legs;
}
