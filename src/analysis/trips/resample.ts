// Step "resample": the path of a section -> a line with a vertex every so many seconds, its lengths those of the path.
import { between } from '../../model/geo/distance.ts';
import type { Position } from '../../model/trip.ts';
import type { PathPoint } from '../segmenter.ts';

/** The vertices of a section, aligned. */
export interface Line {
  coordinates: Position[];
  altitudes: (number | null)[];
  times: number[];
  speeds: number[];
  distances: number[];
}

/** s between vertices */
const resampleInterval = 30;

/**
 * A line longer than this many vertices gets a wider interval: a night without fixes needs no point every half minute.
 */
const mostVertices = 20_000;

/**
 * Vertices at the start, every `resampleInterval` s after it, and at the exact end; position and altitude linear in
 * time. Speed and distance are those along the path since the vertex before, 0 at the first. `path` ascends by `ts`; at
 * least one point.
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

/** `before`: the vertex before; of the first, itself. */
function addVertex(line: Line, point: PathPoint, before: PathPoint): void {
  const metres = point.length - before.length;
  const seconds = point.ts - before.ts;
  line.coordinates.push([point.longitude, point.latitude]);
  line.altitudes.push(point.altitude);
  line.times.push(point.ts);
  line.distances.push(metres);
  line.speeds.push(seconds > 0 ? metres / seconds : 0);
}

/** The point of the path at `ts`, linear between two of its points. */
export function pointBetween(a: PathPoint, b: PathPoint, ts: number): PathPoint {
  const share = (ts - a.ts) / (b.ts - a.ts);
  const altitude = a.altitude === null || b.altitude === null ? null : a.altitude + share * (b.altitude - a.altitude);
  const { latitude, longitude } = between(a, b, share);
  return { ts, latitude, longitude, altitude, length: a.length + share * (b.length - a.length) };
}
