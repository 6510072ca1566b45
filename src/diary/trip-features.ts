import type { Feature, GeoJsonProperties, LineString, Point } from 'geojson';
import type { Entry } from '../model/entry.ts';
import { oid, point, timeFields } from '../model/extended-json.ts';
import { entryId } from '../model/ids.ts';
import { formatTime, isTimeZone, localDateTime } from '../model/time.ts';
import type { Place, Section, Stop, Trip } from '../model/trip.ts';
import {
  estimatedField,
  estimatedOf,
  type StayTimes,
  stayFields,
  stopFields,
  zoneWithin,
} from '../model/trip-fields.ts';
import { withFields } from '../model/with-fields.ts';

export type AfterTrip = Pick<StayTimes, 'exit_ts' | 'starting_trip'>;

/** The app of 2016/17 reads a section as a collection with one line. */
export type SectionCollection = { type: 'FeatureCollection'; features: [Feature<LineString>] };

/** A trip in the answer of `/timeline/getTrips` and in the day documents. */
export interface TripFeatureCollection {
  type: 'FeatureCollection';
  id: string;
  properties: NonNullable<GeoJsonProperties>;
  features: (Feature<Point | LineString> | SectionCollection)[];
}

/** Features: start place, end place, stops, sections, incidents. Fields without a value are absent. */
export function tripFeatures(
  trip: Trip,
  after: AfterTrip,
  incidents: readonly Entry[],
  userId: string,
): TripFeatureCollection {
  const departure = { exit_ts: trip.start_ts, starting_trip: trip.id };
  return {
    type: 'FeatureCollection',
    id: trip.id,
    properties: {
      source: trip.source,
      ...timeFields('start', trip.start_ts, trip.start_zone),
      ...timeFields('end', trip.end_ts, trip.end_zone),
      start_loc: point(trip.start_loc),
      end_loc: point(trip.end_loc),
      duration: trip.duration,
      distance: trip.distance,
      ...estimatedField(estimatedOf(trip)),
      start_place: oid(trip.start_place.id),
      end_place: oid(trip.end_place.id),
      raw_trip: oid(trip.raw_trip),
      ...(trip.zone_guessed && { time_zone_guessed: true }),
      ...(trip.corrected && { corrected: true }),
      ...(trip.draft && { draft: true }),
      feature_type: 'trip',
    },
    features: [
      placeFeature(trip.start_place, 'start_place', departure, trip.start_zone),
      placeFeature(trip.end_place, 'end_place', after, trip.end_zone),
      ...trip.stops.map((stop) => stopFeature(stop, trip)),
      ...trip.sections.map((section, i) => sectionCollection(section, trip, i)),
      ...incidents.flatMap((incident) => incidentFeature(incident, trip, userId) ?? []),
    ],
  };
}

function placeFeature(place: Place, kind: 'start_place' | 'end_place', after: AfterTrip, zone: string): Feature<Point> {
  return {
    type: 'Feature',
    id: place.id,
    geometry: point(place.location),
    properties: withFields(stayFields(place, { enter_ts: place.enter_ts, ...after }, zone), { feature_type: kind }),
  };
}

function stopFeature(stop: Stop, trip: Trip): Feature<LineString> {
  return {
    type: 'Feature',
    id: stop.id,
    geometry: { type: 'LineString', coordinates: [stop.enter_loc, stop.exit_loc] },
    properties: withFields(stopFields(stop, trip), { feature_type: 'stop' }),
  };
}

function sectionCollection(section: Section, trip: Trip, index: number): SectionCollection {
  const startStop = trip.stops[index - 1];
  const endStop = trip.stops[index];
  // A line needs two positions (RFC 7946): a single position is repeated.
  const single = section.coordinates.length === 1;
  const aligned = <T>(list: readonly T[]): T[] => (single ? [list[0]!, list[0]!] : [...list]);
  const properties = {
    trip_id: oid(trip.id),
    ...timeFields('start', section.start_ts, zoneWithin(trip, section.start_ts)),
    ...timeFields('end', section.end_ts, zoneWithin(trip, section.end_ts)),
    sensed_mode: section.sensed_mode,
    ...(section.mode_confidence !== undefined && { mode_confidence: section.mode_confidence }),
    ...(section.mode_probabilities && { mode_probabilities: section.mode_probabilities }),
    ...(section.transit && { transit: { ...section.transit } }),
    distance: section.distance,
    ...estimatedField(section.estimated),
    duration: section.duration,
    times: aligned(section.times),
    timestamps: aligned(section.times).map((ts) => Math.round(ts * 1000)), // ms
    speeds: aligned(section.speeds),
    distances: aligned(section.distances),
    ...(startStop && { start_stop: oid(startStop.id) }),
    ...(endStop && { end_stop: oid(endStop.id) }),
    source: section.source,
    feature_type: 'section',
  };
  const geometry: LineString = { type: 'LineString', coordinates: aligned(section.coordinates) };
  return { type: 'FeatureCollection', features: [{ type: 'Feature', id: section.id, geometry, properties }] };
}

const isPosition = (list: readonly unknown[]): list is [number, number] =>
  list.length >= 2 && Number.isFinite(list[0]) && Number.isFinite(list[1]);

function incidentFeature({ metadata, data }: Entry, trip: Trip, userId: string): Feature<Point> | null {
  const coordinates = (data.loc as { coordinates?: unknown } | null | undefined)?.coordinates;
  if (!Array.isArray(coordinates) || !isPosition(coordinates)) return null;
  const ts = data.ts as number;
  const zone = isTimeZone(metadata.time_zone) ? metadata.time_zone : zoneWithin(trip, ts);
  return {
    type: 'Feature',
    id: entryId(userId, metadata),
    geometry: point([coordinates[0], coordinates[1]]),
    properties: {
      ts,
      local_dt: localDateTime(ts, zone),
      fmt_time: formatTime(ts, zone),
      stress: data.stress,
      feature_type: 'incident',
    },
  };
}
