// A segmented trip -> a trip with its sections' lines, lengths and modes, and the stops between them.
import { distance } from '../geo/distance.ts';
import { idOf } from '../model/ids.ts';
import type { Place, Position, Section, Stop, Trip } from '../model/trip.ts';
import { metres, position, speed } from './digits.ts';
import { locationOf } from './places.ts';
import { type Line, resample } from './resample.ts';
import type { SegmentedTrip } from './segmenter.ts';

/** The parts of a trip that follow from its segmentation. */
export type BuiltTrip = Pick<Trip, 'start_ts' | 'end_ts' | 'start_loc' | 'end_loc' | 'distance' | 'sections' | 'stops'>;

/** The trip; null when nothing of it was travel. */
export function buildTrip(userId: string, found: SegmentedTrip): BuiltTrip | null {
  const sections = found.sections.map(({ path, ...rest }, i): Section => {
    const line = shown(resample(path));
    const [start_ts, end_ts] = [path[0]!.ts, path.at(-1)!.ts];
    return {
      id: idOf(userId, 'section', found.first.ts, i),
      start_ts,
      end_ts,
      ...rest,
      duration: end_ts - start_ts,
      distance: metres(line.distances.reduce((sum, d) => sum + d, 0)),
      ...line,
    };
  });
  if (sections.length === 0) return null;
  const stops = sections.slice(1).map((section, i) => stopBetween(userId, found, sections[i]!, section, i));
  return {
    start_ts: sections[0]!.start_ts,
    end_ts: sections.at(-1)!.end_ts,
    start_loc: sections[0]!.coordinates[0]!,
    end_loc: sections.at(-1)!.coordinates.at(-1)!,
    distance: metres([...sections, ...stops].reduce((sum, part) => sum + part.distance, 0)),
    sections,
    stops,
  };
}

/** The line with as many digits as the diary says. */
function shown({ coordinates, altitudes, times, speeds, distances }: Line): Line {
  return {
    coordinates: coordinates.map(position),
    altitudes: altitudes.map((altitude) => altitude && metres(altitude)),
    times,
    speeds: speeds.map(speed),
    distances: distances.map(metres),
  };
}

function stopBetween(
  userId: string,
  { first, source }: SegmentedTrip,
  before: Section,
  after: Section,
  i: number,
): Stop {
  const enter_loc = before.coordinates.at(-1)!;
  const exit_loc = after.coordinates[0]!;
  return {
    id: idOf(userId, 'stop', first.ts, i),
    enter_ts: before.end_ts,
    exit_ts: after.start_ts,
    enter_loc,
    exit_loc,
    distance: metres(distance(locationOf(enter_loc), locationOf(exit_loc))),
    duration: after.start_ts - before.end_ts,
    ending_section: before.id,
    starting_section: after.id,
    source,
  };
}

/** The trip with the place in front of its first section, `leadIn` s earlier where the stay leaves room. */
export function startAtPlace(trip: BuiltTrip, place: Place, leadIn: number): BuiltTrip {
  const start_ts = Math.max(trip.start_ts - leadIn, place.enter_ts ?? Number.NEGATIVE_INFINITY);
  if (!(start_ts < trip.start_ts)) return trip;
  const lead = metres(distance(locationOf(place.location), locationOf(trip.start_loc)));
  return {
    ...trip,
    start_ts,
    start_loc: place.location,
    distance: metres(trip.distance + lead),
    sections: [ledBy(trip.sections[0]!, place.location, start_ts, lead), ...trip.sections.slice(1)],
  };
}

/** The section with a vertex in front of it, so many metres away. */
function ledBy(section: Section, from: Position, start_ts: number, lead: number): Section {
  const seconds = section.start_ts - start_ts;
  return {
    ...section,
    start_ts,
    duration: section.duration + seconds,
    distance: metres(section.distance + lead),
    coordinates: [from, ...section.coordinates],
    altitudes: [section.altitudes[0] ?? null, ...section.altitudes],
    times: [start_ts, ...section.times],
    distances: [0, lead, ...section.distances.slice(1)],
    speeds: [0, speed(lead / seconds), ...section.speeds.slice(1)],
  };
}
