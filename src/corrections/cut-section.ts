// A section cut in two at a time within it.
import { degrees, metres, speed } from '../analysis/digits.ts';
import type { Position, Section } from '../model/trip.ts';

/** The parts before and after `ts`, which both have a vertex there, on the line. The second part gets the id. */
export function cutSection(section: Section, ts: number, id: string): [Section, Section] {
  const { times, coordinates, altitudes, distances, speeds } = section;
  const at = times.findIndex((time) => time >= ts); // the first vertex at or behind the cut
  const share = (ts - times[at - 1]!) / (times[at]! - times[at - 1]!);
  const [a, b] = [coordinates[at - 1]!, coordinates[at]!];
  const vertex: Position =
    share === 1 ? b : [degrees(a[0] + share * (b[0] - a[0])), degrees(a[1] + share * (b[1] - a[1]))];
  const step = metres(distances[at]! * share);
  const rest = share === 1 ? at + 1 : at; // where the second part goes on
  const restStep = metres(distances[at]! - step);
  const before = {
    coordinates: [...coordinates.slice(0, at), vertex],
    altitudes: [...altitudes.slice(0, at), altitudes[at] ?? null],
    times: [...times.slice(0, at), ts],
    distances: [...distances.slice(0, at), step],
    speeds: [...speeds.slice(0, at), speed(speeds[at]!)],
  };
  const behind = {
    coordinates: [vertex, ...coordinates.slice(rest)],
    altitudes: [altitudes[at] ?? null, ...altitudes.slice(rest)],
    times: [ts, ...times.slice(rest)],
    distances: [0, ...(rest === at ? [restStep] : []), ...distances.slice(at + 1)],
    speeds: [0, ...speeds.slice(rest)],
  };
  return [withSums(section, before), withSums({ ...section, id }, behind)];
}

type Line = Pick<Section, 'coordinates' | 'altitudes' | 'times' | 'distances' | 'speeds'>;

/** Of what was estimated, each part has its share. */
function withSums({ estimated = 0, ...section }: Section, line: Line): Section {
  const [start_ts, end_ts] = [line.times[0]!, line.times.at(-1)!];
  const distance = metres(line.distances.reduce((sum, one) => sum + one, 0));
  const own = section.distance > 0 ? metres((estimated * distance) / section.distance) : 0;
  const { estimated: _, ...rest } = { ...section, estimated };
  return {
    ...rest,
    ...line,
    start_ts,
    end_ts,
    duration: end_ts - start_ts,
    distance,
    ...(own >= 1 && { estimated: own }),
  };
}
