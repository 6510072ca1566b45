// Builds the path of a trip from the stay before it and the smoothed track, and resamples it to a vertex every 30 s.
//
//   stay   first location                      end
//    #  - - - - o----o--------o---------o-------o      lead: straight line * 1.25 if it took more than 60 s
//    |    |    |    |    |    |    |    |    |  |      vertices at the start, every 30 s, and at the end
import { between, distance } from '../../model/geo/distance.ts';
import { median } from '../../model/geo/quantile.ts';
import type { Section } from '../../model/trip.ts';
import { withFields } from '../../model/with-fields.ts';
import { type Track, trackLimits } from '../clean/track.ts';
import { cellStates } from '../motion-states.ts';
import type { PathPoint, Stay } from '../segmenter.ts';
import { firstAtOrAfter } from '../sorted-times.ts';
import type { Leg } from '../states/segments.ts';

/** Chosen by hand on the developers' own recorded days. */
const limits = {
  late: 60, // s from the start; if the first location is later, the path before it was not recorded
  detour: 1.25, // length of a real path divided by the straight line
  walking: 1.2, // m/s on a path that was not recorded
  beginning: 300, // s after a path that was not recorded; its speed is the median of this time, except on foot
  cycling: { least: 2, most: 6 }, // m/s, bounds of the median speed on a bicycle
  riding: { least: 3, most: 15 }, // m/s, bounds of the median speed in a vehicle
};

/** Builds the path of a trip: from the stay before it if known, otherwise from its first location at `firstTs`. */
export function buildPath(track: Track, legs: readonly Leg[], firstTs: number, stay: Stay | null): PathPoint[] {
  const [start, end] = [legs[0]!.start, legs.at(-1)!.end];
  const first = track.firstAfter(stay ? start : Math.max(start, Math.min(firstTs, end) - 1e-3));
  const rest: PathPoint[] = [];
  for (let i = first; i < track.ts.length && track.ts[i]! < end; i += 1) rest.push(pointAt(track, track.ts[i]!));
  rest.push(pointAt(track, end));
  const next = { ...rest[0]! };
  const from = stay?.location ?? pointAt(track, Math.max(start, firstTs));
  const straight = distance(from, next);
  let lead = straight; // m from the start to the first location
  if (next.ts - start > limits.late)
    lead = stay ? straight * limits.detour : Math.max(straight, metresUntil(track, legs, next.ts));
  const begin = { ts: start, latitude: from.latitude, longitude: from.longitude, altitude: next.altitude, length: 0 };
  for (const point of rest) point.length = point.length - next.length + lead;
  return [begin, ...rest];
}

function pointAt(track: Track, ts: number): PathPoint {
  const { latitude, longitude, altitude, length } = track.positionAt(ts);
  return { ts, latitude, longitude, altitude, length };
}

/** m from the start to the beginning of the track, estimated from the time and speed of the legs */
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
  const { least, most } = state === cellStates.cycle ? limits.cycling : limits.riding;
  return Math.min(most, Math.max(least, median(track.speedsIn(from, from + limits.beginning)) || 0));
}

/** m; the estimated part of a path's length between two times: before the first location, and in long gaps */
export function estimatedMetres(path: readonly PathPoint[], from: number, to: number): number {
  let metres = 0;
  for (let i = 1; i < path.length; i += 1) {
    const [a, b] = [path[i - 1]!, path[i]!];
    const seconds = b.ts - a.ts;
    const step = b.length - a.length;
    const isGap = seconds > trackLimits.gap && step > trackLimits.bridge;
    const inside = Math.min(b.ts, to) - Math.max(a.ts, from);
    if (inside > 0 && (isGap || (i === 1 && seconds > limits.late))) metres += (step * inside) / seconds;
  }
  return metres;
}

export function slicePath(path: readonly PathPoint[], from: number, to: number): PathPoint[] {
  const slice = [pointOn(path, from)];
  for (const point of path) if (point.ts > from && point.ts < to) slice.push(point);
  slice.push(pointOn(path, to));
  return slice;
}

/** Returns the point of a path at `ts`. Before the path begins and after it ends, returns its first or last point. */
function pointOn(path: readonly PathPoint[], ts: number): PathPoint {
  const i = Math.min(firstAtOrAfter(path, ts), path.length - 1);
  const point = path[i]!;
  if (i > 0 && point.ts > ts) return pointBetween(path[i - 1]!, point, ts);
  return withFields(point, { ts });
}

export type Line = Pick<Section, 'coordinates' | 'altitudes' | 'times' | 'speeds' | 'distances'>;

const resampleInterval = 30; // s between vertices

const mostVertices = 20_000; // of a section; if it lasts more than a week, its vertices are more than 30 s apart

/**
 * Makes the line of a section: vertices at the start, every `resampleInterval` s after it, and at the exact end. Speed
 * and distance are along the path since the previous vertex; both are 0 at the first.
 */
export function resample(path: readonly PathPoint[]): Line {
  const line: Line = { coordinates: [], altitudes: [], times: [], speeds: [], distances: [] };
  const [first, last] = [path[0]!, path.at(-1)!];
  const [start, end] = [first.ts, last.ts];
  const step = Math.max(resampleInterval, (end - start) / mostVertices);
  let before = start < end ? first : last;
  if (start < end) addVertex(line, first, before);
  let next = 1; // the point at or after the vertex
  for (let k = 1; start + k * step < end; k += 1) {
    const at = start + k * step;
    while (next < path.length - 1 && path[next]!.ts < at) next += 1;
    const point = pointBetween(path[next - 1]!, path[next]!, at);
    addVertex(line, point, before);
    before = point;
  }
  addVertex(line, last, before);
  return line;
}

function addVertex(line: Line, point: PathPoint, before: PathPoint): void {
  const metres = point.length - before.length;
  const seconds = point.ts - before.ts;
  line.coordinates.push([point.longitude, point.latitude]);
  line.altitudes.push(point.altitude);
  line.times.push(point.ts);
  line.distances.push(metres);
  line.speeds.push(seconds > 0 ? metres / seconds : 0);
}

function pointBetween(a: PathPoint, b: PathPoint, ts: number): PathPoint {
  const share = (ts - a.ts) / (b.ts - a.ts);
  const altitude = a.altitude === null || b.altitude === null ? null : a.altitude + share * (b.altitude - a.altitude);
  const { latitude, longitude } = between(a, b, share);
  return { ts, latitude, longitude, altitude, length: a.length + share * (b.length - a.length) };
}
