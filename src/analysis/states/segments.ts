// Runs of cells in one state: what the decoder says of a stretch of time, and questions about it.

import { transitions } from '../../model/payloads.ts';
import type { PhoneEvent } from '../clean/observations.ts';
import { apart, type Track } from '../clean/track.ts';
import { cellStates } from '../motion-states.ts';
import { cellSeconds } from './features.ts';
import type { Cells } from './viterbi.ts';

/** Cells in one state that follow each other without a hole. */
export interface Segment {
  state: number;
  /** s since the epoch: from half a cell before the first to half a cell after the last */
  start: number;
  end: number;
}

const half = cellSeconds / 2;

/**
 * s; delay with which the geofence of an Android phone reports that the user left (by hand, a property of the phones)
 */
export const geofenceDelay = 165;

/** A phone's sleep: from its word that the user rests to its geofence's that they left. */
interface Sleep {
  start: number;
  end: number;
}

/** Sleeps of an Android phone, in order of time. */
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

/** The segments of an group: those of its cells; who stays in the geofence stands, and so does who rides nowhere. */
export function toSegments(cells: Cells, track: Track, sleeps: readonly Sleep[]): Segment[] {
  let segments = splitByState(cells);
  for (const sleep of sleeps) segments = applySleep(segments, sleep, track);
  return segments.map((segment) => (leadsNowhere(segment, track) ? { ...segment, state: cellStates.still } : segment));
}

/** m; a ride that ends this near to its start, and stays within the extent, leads nowhere: receivers drift so far */
const nowhere = { apart: 100, extent: 200 };

/** True for a ride, by vehicle or bicycle, that leads nowhere, as far as there are locations in it: the user stands. */
function leadsNowhere({ state, start, end }: Segment, track: Track): boolean {
  if (state !== cellStates.motor && state !== cellStates.cycle) return false;
  if (track.firstAfter(start) === track.firstAfter(end)) return false;
  return (
    apart(track.positionAt(start), track.positionAt(end)) < nowhere.apart && track.extent(start, end) < nowhere.extent
  );
}

/** The segments, at rest in a sleep up to when the user left, and then as after it. */
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

/** m/s; no way through a sleep is faster on average (physical, but for flights) */
const fastestWay = 25;

/** When the user left in a sleep: by the geofence's delay, or earlier if they got too far for that. */
function departureTs({ start, end }: Sleep, track: Track): number {
  const first = Math.min(track.firstAfter(end), track.ts.length - 1);
  const metres = track.metres[first]! - track.positionAt(start).metres;
  return Math.max(start, Math.min(end - geofenceDelay, track.ts[first]! - metres / fastestWay));
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

/** Runs that move, joined where they touch. */
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

/** The parts of moving segments between two times, ascending. */
export function movingBetween(segments: readonly Segment[], from: number, to: number): Segment[] {
  return segmentsBetween(segments, from, to).filter((segment) => segment.state !== cellStates.still);
}

/** s; who stands for longer at the first location had arrived there (physical) */
const standing = 45;

/** True when the user moves at a time, or soon after it. */
export function isUnderWay(segments: readonly Segment[], ts: number): boolean {
  return segments.some(
    (segment) => segment.state !== cellStates.still && segment.end > ts && segment.start < ts + standing,
  );
}

/** The parts of segments between two times, ascending. */
export function segmentsBetween(segments: readonly Segment[], from: number, to: number): Segment[] {
  const parts: Segment[] = [];
  for (const { state, start, end } of segments)
    if (end > from && start < to) parts.push({ state, start: Math.max(start, from), end: Math.min(end, to) });
  return parts;
}

/** s of the segments in one state */
export function secondsIn(segments: readonly Segment[], state: number): number {
  let sum = 0;
  for (const segment of segments) if (segment.state === state) sum += segment.end - segment.start;
  return sum;
}

// Step "legs": the states of a journey -> its legs, each in one state, with the waits between them.

/** s, all set by hand */
const limits = {
  /** Legs of one state nearer together than this are one: a vehicle stops longer than feet do. */
  sameMotor: 180,
  same: 90,
  /** A shorter pause between legs of different states is no stop: it goes to the earlier one. */
  pause: 90,
};

/** A part of a journey in one state. */
export type Leg = Segment;

/** Legs in order of time between two times; the first begins and the last ends there. Empty when nothing moves. */
export function joinLegs(segments: readonly Segment[], from: number, to: number): Leg[] {
  const legs: Leg[] = [];
  for (const segment of movingBetween(segments, from, to)) {
    const before = legs.at(-1);
    const near = segment.state === cellStates.motor ? limits.sameMotor : limits.same;
    if (before && before.state === segment.state && segment.start - before.end < near) before.end = segment.end;
    else legs.push({ ...segment });
  }
  legs.forEach((leg, i) => {
    const next = legs[i + 1];
    if (next && next.start - leg.end < limits.pause) leg.end = next.start;
  });
  if (legs.length > 0) {
    legs[0]!.start = from;
    legs.at(-1)!.end = to;
  }
  return legs;
}
