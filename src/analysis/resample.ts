// Step "resample": a section's locations -> a line with a vertex every so many seconds.
import { between, distance } from '../geo/distance.ts';
import type { Position } from '../model/trip.ts';
import type { Location } from './observations.ts';

/** The vertices of a section, aligned. */
export interface Line {
  coordinates: Position[];
  altitudes: (number | null)[];
  times: number[];
  speeds: number[];
  distances: number[];
}

/** s between vertices */
export const resampleInterval = 30;

/** A line longer than this many vertices gets a wider interval: a night without fixes needs no point every half minute. */
const mostVertices = 20_000;

/**
 * Vertices at the start, every `interval` s after it, and at the exact end; position and altitude linear in time. Speed and
 * distance are those since the vertex before, 0 at the first. `locations` ascend by `ts`; at least one.
 */
export function resample(locations: readonly Location[], interval = resampleInterval): Line {
  const line: Line = { coordinates: [], altitudes: [], times: [], speeds: [], distances: [] };
  const start = locations[0]!.ts;
  const end = locations.at(-1)!.ts;
  const step = Math.max(interval, (end - start) / mostVertices);
  let next = 1; // the location at or after the vertex
  for (let k = 0; start + k * step < end; k += 1) {
    const ts = start + k * step;
    while (next < locations.length - 1 && locations[next]!.ts < ts) next += 1;
    addVertex(line, k === 0 ? locations[0]! : interpolate(locations[next - 1]!, locations[next]!, ts));
  }
  addVertex(line, locations.at(-1)!);
  return line;
}

interface Vertex {
  ts: number;
  latitude: number;
  longitude: number;
  altitude: number | null;
}

function interpolate(a: Location, b: Location, ts: number): Vertex {
  const share = (ts - a.ts) / (b.ts - a.ts);
  const altitude = a.altitude === null || b.altitude === null ? null : a.altitude + share * (b.altitude - a.altitude);
  return { ts, ...between(a, b, share), altitude };
}

function addVertex(line: Line, { ts, latitude, longitude, altitude }: Vertex): void {
  const last = line.coordinates.at(-1);
  const metres = last ? distance({ longitude: last[0], latitude: last[1] }, { latitude, longitude }) : 0;
  const seconds = last ? ts - line.times.at(-1)! : 0;
  line.coordinates.push([longitude, latitude]);
  line.altitudes.push(altitude);
  line.times.push(ts);
  line.distances.push(metres);
  line.speeds.push(seconds > 0 ? metres / seconds : 0);
}
