import type { LatLon } from '../model/geo/distance.ts';

/** The kind of vehicle of a route, if the analysis uses it. */
export type TransitKind = 'bus' | 'tram' | 'subway' | 'rail' | 'ferry';

/** The kinds on rails. They share one evidence, because their shapes and speeds overlap. */
export const railKinds: readonly TransitKind[] = ['tram', 'subway', 'rail'];

/** A line of a feed (a GTFS route). */
export interface TransitRoute {
  /** `route_id` of the feed. */
  id: string;
  agency: string;
  short_name: string;
  long_name: string;
  kind: TransitKind;
}

/** The trips of a route with the same stops in the same order. */
export interface TransitPattern {
  /** Index in `routes`. */
  route: number;
  /** Index in `shapes`; -1: no shape. */
  shape: number;
  /** Indexes in `stops`, in the order in which a trip passes them. */
  stops: readonly number[];
  /** Median seconds from the first stop to each stop; empty if the feed has no times. */
  seconds: readonly number[];
  /** Hours of the day with a trip under way, as bits, for weekdays, Saturdays and Sundays. */
  hours: readonly [number, number, number];
  /** Mean number of trips per day over the days of the feed. */
  trips: number;
}

/** Index in `hours` of a day of the week (Monday is 0). */
export const dayType = (weekday: number): 0 | 1 | 2 => (weekday < 5 ? 0 : weekday === 5 ? 1 : 2);

/** The index of a transit feed. It has a few per cent of the size of the feed. */
export interface FeedIndex {
  /** SHA-256 of the zip file, in hex. */
  id: string;
  agencies: readonly string[];
  /** IANA zone of the timetable. */
  zone: string;
  /** First and last day of service, `2024-03-08`. */
  first_day: string;
  last_day: string;
  stops: readonly ({ name: string } & LatLon)[];
  routes: readonly TransitRoute[];
  patterns: readonly TransitPattern[];
  /** Shapes as lists latitude, longitude, latitude, …, simplified to 8 m. */
  shapes: readonly (readonly number[])[];
}

/**
 * The kind of vehicle of a GTFS route type; null: the analysis does not use it. Types from 100 on are the extended ones
 * (Hierarchical Vehicle Type codes). Sources: gtfs.org/schedule/reference (`routes.txt`) and
 * developers.google.com/transit/gtfs/reference/extended-route-types.
 */
export function kindOfType(type: number): TransitKind | null {
  if (type === 0 || type === 5 || (type >= 900 && type < 1000)) return 'tram';
  if (type === 1 || (type >= 400 && type < 405) || type === 500 || type === 600) return 'subway';
  if (type === 2 || type === 7 || type === 12 || (type >= 100 && type < 200) || type === 405 || type === 1400)
    return 'rail';
  if (type === 3 || type === 11 || (type >= 200 && type < 300) || (type >= 700 && type <= 800)) return 'bus';
  if (type === 4 || type === 1000 || type === 1200) return 'ferry';
  return null;
}

const degree = 1e5; // positions are kept to 1.1 m

/** Packs an index as text. Positions are stored as differences, which makes them a third as long. */
export function formatIndex(index: FeedIndex): string {
  const steps = (values: readonly number[], stride: number): number[] => {
    const whole = values.map((value) => Math.round(value * degree));
    return whole.map((value, at) => (at < stride ? value : value - whole[at - stride]!));
  };
  const { stops, patterns, shapes, ...facts } = index;
  return JSON.stringify({
    ...facts,
    stops: stops.map(({ name }) => name),
    positions: steps(
      stops.flatMap(({ latitude, longitude }) => [latitude, longitude]),
      2,
    ),
    patterns: patterns.map(({ route, shape, hours, trips, ...pattern }) => {
      return [
        route,
        shape,
        hours,
        trips,
        steps(
          pattern.stops.map((stop) => stop / degree),
          1,
        ),
        pattern.seconds,
      ];
    }),
    shapes: shapes.map((shape) => steps(shape, 2)),
  });
}

/** Reads an index from a text of `formatIndex`. */
export function parseIndex(text: string): FeedIndex {
  const sums = (steps: readonly number[], stride: number): number[] => {
    const values: number[] = [];
    for (const step of steps) values.push(step + (values[values.length - stride] ?? 0));
    return values;
  };
  type Packed = [number, number, [number, number, number], number, number[], number[]];
  const { stops, positions, patterns, shapes, ...facts } = JSON.parse(text) as Omit<FeedIndex, 'stops' | 'patterns'> & {
    stops: string[];
    positions: number[];
    patterns: Packed[];
  };
  const places = sums(positions, 2);
  return {
    ...facts,
    stops: stops.map((name, at) => ({
      name,
      latitude: places[2 * at]! / degree,
      longitude: places[2 * at + 1]! / degree,
    })),
    patterns: patterns.map(([route, shape, hours, trips, stopSteps, seconds]) => {
      return { route, shape, hours, trips, stops: sums(stopSteps, 1), seconds };
    }),
    shapes: shapes.map((shape) => sums(shape, 2).map((value) => value / degree)),
  };
}
