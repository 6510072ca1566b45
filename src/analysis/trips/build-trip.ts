// Builds a trip from a segmented trip: the lines, lengths and modes of its sections, and the stops between them.
import { distance } from '../../model/geo/distance.ts';
import { idOf } from '../../model/ids.ts';
import type { Place, Position, Section, Stop, Trip } from '../../model/trip.ts';
import { degrees, locationOf, metres, speed } from '../positions.ts';
import type { SegmentedSection, SegmentedTrip } from '../segmenter.ts';
import { resample } from './trip-path.ts';

export type BuiltTrip = Pick<Trip, 'start_ts' | 'end_ts' | 'start_loc' | 'end_loc' | 'distance' | 'sections' | 'stops'>;

export function buildTrip(userId: string, found: SegmentedTrip): BuiltTrip | null {
  const sections = found.sections.map((section, i) =>
    buildSection(section, idOf(userId, 'section', found.first.ts, i), found.source),
  );
  if (sections.length === 0) return null;
  const stops = sections
    .slice(1)
    .map((section, i) => stopBetween(sections[i]!, section, idOf(userId, 'stop', found.first.ts, i), found.source));
  return { ...measureTrip(sections, stops), sections, stops };
}

export function measureTrip(sections: readonly Section[], stops: readonly Stop[]) {
  const [first, last] = [sections[0]!, sections.at(-1)!];
  return {
    start_ts: first.start_ts,
    end_ts: last.end_ts,
    start_loc: first.coordinates[0]!,
    end_loc: last.coordinates.at(-1)!,
    distance: metres(stops.reduce(addDistance, sections.reduce(addDistance, 0))),
  };
}

const addDistance = (sum: number, part: { distance: number }): number => sum + part.distance;

function buildSection(found: SegmentedSection, id: string, source: string): Section {
  const { path, sensed_mode, mode_confidence, mode_probabilities, estimated = 0, transit } = found;
  const { coordinates, altitudes, times, speeds, distances } = resample(path);
  roundAll(distances, metres);
  roundAll(speeds, speed);
  for (const point of coordinates) roundAll(point, degrees);
  const start_ts = path[0]!.ts;
  const end_ts = path.at(-1)!.ts;
  let length = 0;
  for (const step of distances) length += step;
  return {
    id,
    start_ts,
    end_ts,
    sensed_mode,
    mode_confidence,
    mode_probabilities,
    source,
    duration: end_ts - start_ts,
    distance: metres(length),
    ...(estimated >= 1 && { estimated: metres(Math.min(estimated, length)) }),
    coordinates,
    altitudes: altitudes.map(shownAltitude),
    times,
    speeds,
    distances,
    ...(transit && { transit }),
  };
}

/** Rounds in place: no other object uses these lists. */
function roundAll(numbers: number[], rounded: (value: number) => number): void {
  for (let i = 0; i < numbers.length; i += 1) numbers[i] = rounded(numbers[i]!);
}

const shownAltitude = (altitude: number | null): number | null => altitude && metres(altitude);

/** Makes the stop between two sections, from the last vertex of `before` to the first vertex of `after`. */
export function stopBetween(before: Section, after: Section, id: string, source: string): Stop {
  const enter_loc = before.coordinates.at(-1)!;
  const exit_loc = after.coordinates[0]!;
  return {
    id,
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

/** Lets a trip start at the previous place, up to `leadIn` s earlier, but not before the user entered that place. */
export function startAtPlace<T extends BuiltTrip>(trip: T, place: Place, leadIn: number): T {
  const start_ts = Math.max(trip.start_ts - leadIn, place.enter_ts ?? Number.NEGATIVE_INFINITY);
  if (!(start_ts < trip.start_ts)) return trip;
  const lead = metres(distance(locationOf(place.location), locationOf(trip.start_loc)));
  return {
    ...trip,
    start_ts,
    start_loc: place.location,
    distance: metres(trip.distance + lead),
    sections: [withLead(trip.sections[0]!, place.location, start_ts, lead), ...trip.sections.slice(1)],
  };
}

function withLead(section: Section, from: Position, start_ts: number, lead: number): Section {
  const seconds = section.start_ts - start_ts;
  return {
    ...section,
    start_ts,
    duration: section.duration + seconds,
    distance: metres(section.distance + lead),
    estimated: metres((section.estimated ?? 0) + lead),
    coordinates: [from, ...section.coordinates],
    altitudes: [section.altitudes[0] ?? null, ...section.altitudes],
    times: [start_ts, ...section.times],
    distances: [0, lead, ...section.distances.slice(1)],
    speeds: [0, speed(lead / seconds), ...section.speeds.slice(1)],
  };
}
