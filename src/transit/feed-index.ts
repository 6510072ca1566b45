import type { LatLon } from '../model/geo/distance.ts';

export type TransitKind = 'bus' | 'tram' | 'subway' | 'rail' | 'ferry';

/** The kinds on rails. They count together as evidence for a train, because their shapes and speeds overlap. */
export const railKinds: readonly TransitKind[] = ['tram', 'subway', 'rail'];

export interface TransitRoute {
  id: string; // `route_id` of the feed
  agency: string;
  short_name: string;
  long_name: string;
  kind: TransitKind;
}

export interface TransitPattern {
  route: number; // index in `routes`
  shape: number; // index in `shapes`; -1: no shape
  stops: readonly number[]; // indexes in `stops`
  seconds: readonly number[]; // median time from the first stop to each stop; empty if the feed has no times
  /** Hours of the day with a trip under way, as bits, for weekdays, Saturdays and Sundays. */
  hours: readonly [number, number, number];
  trips: number; // trips of the pattern per day, the mean over all days of the feed
}

/** The index in `hours` for a day of the week (Monday is 0): workday 0, Saturday 1, Sunday 2. */
export const dayType = (weekday: number): 0 | 1 | 2 => (weekday < 5 ? 0 : weekday === 5 ? 1 : 2);

export interface FeedIndex {
  id: string; // SHA-256 of the zip file, in hex
  agencies: readonly string[];
  zone: string; // IANA zone of the timetable
  first_day: string; // first and last day of service, `2024-03-08`
  last_day: string;
  stops: readonly ({ name: string } & LatLon)[];
  routes: readonly TransitRoute[];
  patterns: readonly TransitPattern[];
  shapes: readonly (readonly number[])[]; // latitude, longitude, latitude, …, simplified to 8 m
}

/**
 * The kind of vehicle of a GTFS route type; null: the analysis does not use this type. Types of 100 and higher are
 * extended types (Hierarchical Vehicle Type codes). Sources: gtfs.org/schedule/reference (`routes.txt`) and
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

/** An index as text. Numbers have five decimals; for positions, that is 1.1 m. */
export const formatIndex = (index: FeedIndex): string =>
  JSON.stringify(index, (_, value) => (typeof value === 'number' ? Math.round(value * 1e5) / 1e5 : value));

export const parseIndex = (text: string): FeedIndex => JSON.parse(text) as FeedIndex;
