// Step "path": where a trip went and how long its way was: the smoothed track, with the way before its first location.
import { distance } from '../../model/geo/distance.ts';
import { median } from '../../model/geo/speed.ts';
import { withFields } from '../../model/with-fields.ts';
import { firstAfter, positionAt, speedsIn, type Track, trackLimits } from '../clean/track.ts';
import type { PathPoint, Stay } from '../segmenter.ts';
import { firstAtOrAfter } from '../sorted-times.ts';
import { cellStates } from '../states/states.ts';
import type { Leg } from './legs.ts';
import { pointBetween } from './resample.ts';

/** All set by hand on the developers' days. */
const limits = {
  /** s; a first location later than this leaves a way that was not recorded */
  late: 60,
  /** The way to the first location over the straight line. */
  detour: 1.25,
  /** m/s on foot; s at the beginning that tell the speed of a ride, with its least and most by state */
  walking: 1.2,
  beginning: 300,
  cycling: [2, 6] as const,
  riding: [3, 15] as const,
};

/**
 * The way of a trip with these legs: from the stay before it, if known, over the track's locations; else from its own
 * first location, at `firstTs`.
 */
export function pathOf(track: Track, legs: readonly Leg[], firstTs: number, stay: Stay | null): PathPoint[] {
  const [start, end] = [legs[0]!.start, legs.at(-1)!.end];
  const first = firstAfter(track, stay ? start : Math.max(start, Math.min(firstTs, end) - 1e-3));
  const rest: PathPoint[] = [];
  for (let i = first; i < track.ts.length && track.ts[i]! < end; i += 1) rest.push(pointAt(track, track.ts[i]!));
  rest.push(pointAt(track, end));
  const next = { ...rest[0]! };
  const from = stay?.location ?? pointAt(track, Math.max(start, firstTs));
  const straight = distance(from, next);
  let lead = straight; // m up to the first location
  if (next.ts - start > limits.late)
    lead = stay ? straight * limits.detour : Math.max(straight, metresUntil(track, legs, next.ts));
  const begin = { ts: start, latitude: from.latitude, longitude: from.longitude, altitude: next.altitude, length: 0 };
  for (const point of rest) point.length = point.length - next.length + lead;
  return [begin, ...rest];
}

function pointAt(track: Track, ts: number): PathPoint {
  const { latitude, longitude, altitude, length } = positionAt(track, ts);
  return { ts, latitude, longitude, altitude, length };
}

/** m of the way up to a time at which the track begins, by how long it took */
function metresUntil(track: Track, legs: readonly Leg[], until: number): number {
  let metres = 0;
  for (const leg of legs) {
    const seconds = Math.min(leg.end, until) - leg.start;
    if (seconds > 0) metres += seconds * speedAtBeginning(track, leg, until);
  }
  return metres;
}

function speedAtBeginning(track: Track, { state }: Leg, from: number): number {
  if (state === cellStates.walk) return limits.walking;
  const [least, most] = state === cellStates.cycle ? limits.cycling : limits.riding;
  return Math.min(most, Math.max(least, median(speedsIn(track, from, from + limits.beginning)) || 0));
}

/** m of a path between two times that no location shows: before its first one, and over long silences. */
export function estimatedIn(path: readonly PathPoint[], from: number, to: number): number {
  let metres = 0;
  for (let i = 1; i < path.length; i += 1) {
    const [a, b] = [path[i - 1]!, path[i]!];
    const seconds = b.ts - a.ts;
    const step = b.length - a.length;
    const isSilence = seconds > trackLimits.silence && step > trackLimits.bridge;
    const inside = Math.min(b.ts, to) - Math.max(a.ts, from);
    if (inside > 0 && (isSilence || (i === 1 && seconds > limits.late))) metres += (step * inside) / seconds;
  }
  return metres;
}

/** The part of a path between two times that lie within it. */
export function sliceOf(path: readonly PathPoint[], from: number, to: number): PathPoint[] {
  const slice = [pointOn(path, from)];
  for (const point of path) if (point.ts > from && point.ts < to) slice.push(point);
  slice.push(pointOn(path, to));
  return slice;
}

/** The point of a path at `ts`; its first and last point stand for what lies beyond them. */
function pointOn(path: readonly PathPoint[], ts: number): PathPoint {
  const i = Math.min(firstAtOrAfter(path, ts), path.length - 1);
  const point = path[i]!;
  if (i > 0 && point.ts > ts) return pointBetween(path[i - 1]!, point, ts);
  return withFields(point, { ts });
}
