import { oid, point, timeFields } from './extended-json.ts';
import type { JsonObject } from './json.ts';
import { allTime, type TimeRange } from './time.ts';
import type { Place, Stop, Trip, TripRecord } from './trip.ts';
import { type BriefRecord, type BriefTrip, briefSectionFields, briefTripFields } from './trip.ts';
import { withFields } from './with-fields.ts';

export type TripLink = TripRecord & { trip: Trip };

export const isTripLink = (link: TripRecord | null | undefined): link is TripLink => (link?.trip ?? null) !== null;

export function rangeOfTrips(trips: readonly Pick<Trip, 'start_ts' | 'end_ts'>[]): TimeRange {
  const span = { from: allTime.to, to: allTime.from };
  for (const { start_ts, end_ts } of trips) {
    span.from = Math.min(span.from, start_ts);
    span.to = Math.max(span.to, end_ts);
  }
  return span;
}

/** Returns the zone of the start in the first half of the trip, then the zone of the end. */
export function zoneWithin(
  { start_ts, end_ts, start_zone, end_zone }: Pick<Trip, 'start_ts' | 'end_ts' | 'start_zone' | 'end_zone'>,
  ts: number,
): string {
  return ts < (start_ts + end_ts) / 2 ? start_zone : end_zone;
}

export function stopFields(stop: Stop, trip: Trip): JsonObject {
  return {
    trip_id: oid(trip.id),
    ending_section: oid(stop.ending_section),
    starting_section: oid(stop.starting_section),
    ...timeFields('enter', stop.enter_ts, zoneWithin(trip, stop.enter_ts)),
    enter_loc: point(stop.enter_loc),
    ...timeFields('exit', stop.exit_ts, zoneWithin(trip, stop.exit_ts)),
    exit_loc: point(stop.exit_loc),
    duration: stop.duration,
    distance: stop.distance,
    source: stop.source,
  };
}

/** `zone`: the time zone at the end of the stay */
export function stayFields(
  { source, name, raw_places, enter_zone, ending_trip }: Place,
  { enter_ts, exit_ts, starting_trip }: StayTimes,
  zone: string,
): JsonObject {
  return {
    source,
    ...(name !== undefined && { display_name: name }),
    raw_places: raw_places.map(oid),
    ...(enter_ts !== null && timeFields('enter', enter_ts, enter_zone ?? zone)),
    ...(exit_ts !== null && timeFields('exit', exit_ts, zone)),
    ...(enter_ts !== null && exit_ts !== null && { duration: exit_ts - enter_ts }),
    ...(ending_trip !== null && { ending_trip: oid(ending_trip) }),
    ...(starting_trip !== null && { starting_trip: oid(starting_trip) }),
  };
}

export interface StayTimes {
  enter_ts: number | null;
  exit_ts: number | null;
  starting_trip: string | null;
}

/** m; the part of the distance where locations are missing */
export const estimatedOf = ({ sections }: Pick<BriefTrip, 'sections'>): number =>
  Math.round(100 * sections.reduce((sum, { estimated = 0 }) => sum + estimated, 0)) / 100;

export const estimatedField = (metres = 0): { estimated?: number } => (metres > 0 ? { estimated: metres } : {});

export function metresBy<K, S extends { distance: number }>(
  sections: readonly S[],
  keyOf: (section: S) => K,
): Map<K, number> {
  const metres = new Map<K, number>();
  for (const section of sections) metres.set(keyOf(section), (metres.get(keyOf(section)) ?? 0) + section.distance);
  return metres;
}

export function briefOf({ kind, chain_ts, start_ts, end_ts, day, silences, trip, untracked }: TripRecord): BriefRecord {
  const left = untracked && { start_ts: untracked.start_ts };
  const brief = { kind, chain_ts, start_ts, end_ts, day, trip: trip && briefTrip(trip), untracked: left };
  return silences === undefined ? brief : { ...brief, silences };
}

function briefTrip(trip: Trip): BriefTrip {
  const { sections = [], start_place, end_place, evidence } = trip;
  return withFields(pick(trip, briefTripFields), {
    start_place: { id: start_place?.id },
    end_place: { id: end_place?.id },
    sections: sections.map((section) => pick(section, briefSectionFields)),
    ...(evidence && { evidence: { left_out: evidence.left_out } }),
  });
}

function pick<T, Field extends keyof T>(object: T, fields: readonly Field[]): Pick<T, Field> {
  const picked: Partial<Pick<T, Field>> = {};
  for (const field of fields) if (object[field] !== undefined) picked[field] = object[field];
  return picked as Pick<T, Field>;
}
