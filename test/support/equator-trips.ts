// Trips along the equator, written down by hand in seconds since 1970 and metres east of Greenwich.
import { earthRadius } from '../../src/model/geo/distance.ts';
import type { Place, Position, Section, Trip, TripRecord } from '../../src/model/trip.ts';

export const metresPerDegree = (earthRadius * Math.PI) / 180;
/** A position on the equator, m east of Greenwich. */
export const at = (east: number): Position => [east / metresPerDegree, 0];
export const eastOf = ([longitude]: Position): number => Math.round(longitude * metresPerDegree);

const place = (east: number, enter_ts: number | null): Place => ({
  id: `at ${east}`,
  location: at(east),
  raw_places: [],
  enter_ts,
  enter_zone: enter_ts === null ? null : 'UTC',
  ending_trip: null,
  source: 'test',
});

interface Ride {
  /** s of each vertex, and m east of Greenwich. */
  times: number[];
  easts: number[];
  mode?: string;
}

export function section(id: string, { times, easts, mode = 'CAR' }: Ride): Section {
  const distances = easts.map((east, i) => Math.abs(east - (easts[i - 1] ?? east)));
  const distance = distances.reduce((sum, one) => sum + one, 0);
  return {
    id,
    start_ts: times[0]!,
    end_ts: times.at(-1)!,
    sensed_mode: `PredictedModeTypes.${mode}`,
    duration: times.at(-1)! - times[0]!,
    distance,
    coordinates: easts.map(at),
    altitudes: easts.map(() => null),
    times,
    speeds: distances.map((metres, i) => (i === 0 ? 0 : metres / (times[i]! - times[i - 1]!))),
    distances,
    source: 'test',
  };
}

/** A trip of one ride or more, with a stop between two rides. */
export function trip(name: string, rides: Ride[], more: Partial<TripRecord> = {}, zones = ['UTC', 'UTC']): TripRecord {
  const sections = rides.map((ride, i) => section(`${name}${i}`, ride));
  const [first, last] = [sections[0]!, sections.at(-1)!];
  const stops = sections.slice(1).map((next, i) => ({
    id: `stop ${name}${i}`,
    enter_ts: sections[i]!.end_ts,
    exit_ts: next.start_ts,
    enter_loc: sections[i]!.coordinates.at(-1)!,
    exit_loc: next.coordinates[0]!,
    distance: 0,
    duration: next.start_ts - sections[i]!.end_ts,
    ending_section: sections[i]!.id,
    starting_section: next.id,
    source: 'test',
  }));
  const [start_loc, end_loc] = [first.coordinates[0]!, last.coordinates.at(-1)!];
  const entered = more.untracked?.end_ts ?? null;
  const made: Trip = {
    id: name,
    raw_trip: `raw ${name}`,
    source: 'test',
    start_ts: first.start_ts,
    end_ts: last.end_ts,
    start_zone: zones[0]!,
    end_zone: zones[1]!,
    zone_guessed: false,
    start_loc,
    end_loc,
    duration: last.end_ts - first.start_ts,
    distance: sections.reduce((sum, { distance }) => sum + distance, 0),
    start_place: place(eastOf(start_loc), entered),
    end_place: place(eastOf(end_loc), last.end_ts),
    sections,
    stops,
  };
  return {
    id: name,
    kind: 'trip',
    chain_ts: made.start_ts,
    start_ts: made.start_ts,
    end_ts: made.end_ts,
    day: '1970-01-01',
    settled_ts: null,
    trip: made,
    untracked: null,
    carry: { resume_ts: made.end_ts, started: false, raw_place: null, place: null },
    ...more,
  };
}

export const untracked = (start_ts: number, end_ts: number, from: number, to: number) => ({
  ...{ start_ts, end_ts },
  ...{ start_loc: at(from), end_loc: at(to) },
});

/** Trips in order: each begins at the place where the trip before ended, unless unseen time is between them. */
export function chained(...trips: TripRecord[]): TripRecord[] {
  const links: TripRecord[] = [];
  for (const link of trips) {
    const place = links.at(-1)?.trip?.end_place;
    const isSame = place !== undefined && link.untracked === null;
    links.push(isSame ? { ...link, trip: { ...link.trip!, start_place: place } } : link);
  }
  return links;
}
