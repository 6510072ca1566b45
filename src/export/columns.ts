// The tables of an export: one list of columns makes CSV, Parquet, GeoJSON, the data dictionary and the docs.
import { flagMeanings } from '../diary/flags.ts';
import type { Position } from '../model/trip.ts';

/** What a table is about. */
export type Kind = 'trips' | 'sections' | 'places' | 'locations' | 'points' | 'labels' | 'days' | 'entries';

/**
 * What a column holds: `instant` is a UTC time, `local` the local time without offset, `geometry` a point or a line in
 * degrees WGS84, `json` any value.
 */
export type ColumnType = 'text' | 'integer' | 'number' | 'boolean' | 'instant' | 'local' | 'day' | 'geometry' | 'json';

/** A point, a line, or several points. */
export type Geometry =
  | { type: 'Point'; coordinates: Position }
  | { type: 'LineString' | 'MultiPoint'; coordinates: readonly Position[] };

/** A value of a column; null if missing. Instants are seconds since the epoch. */
export type Value = string | number | boolean | Geometry | object | null;

/** One column of a table. */
export interface Column {
  name: string;
  type: ColumnType;
  /** Unit of a number, such as `m`. */
  unit?: string;
  meaning: string;
}

/** A row by column name. A missing name is null. */
export type Row = Record<string, Value | undefined>;

const user: Column[] = [
  { name: 'user_id', type: 'text', meaning: 'UUID of the person, or their pseudonym' },
  { name: 'user_name', type: 'text', meaning: 'name the person logs in with, or their pseudonym' },
  { name: 'subgroup', type: 'text', meaning: 'subgroup of the study that the person joined; empty if there is none' },
];

const times = (begun: string, ended: string): Column[] => [
  { name: 'started_at', type: 'instant', meaning: `${begun}, UTC` },
  { name: 'finished_at', type: 'instant', meaning: `${ended}, UTC` },
  { name: 'started_local', type: 'local', meaning: `${begun}, local time without offset` },
  { name: 'finished_local', type: 'local', meaning: `${ended}, local time without offset` },
  { name: 'time_zone', type: 'text', meaning: 'IANA zone of the start' },
];

const figures: Column[] = [
  { name: 'duration_s', type: 'number', unit: 's', meaning: 'seconds from start to end' },
  { name: 'distance_m', type: 'number', unit: 'm', meaning: 'length of the way; sections and stops sum to their trip' },
  { name: 'estimated_m', type: 'number', unit: 'm', meaning: 'part of `distance_m` that no location shows' },
];

const flags: Column = {
  name: 'flags',
  type: 'text',
  meaning: `what is doubtful, with blanks between: ${Object.keys(flagMeanings).join(', ')}; empty if nothing is`,
};

const modes: Column[] = [
  { name: 'mode', type: 'text', meaning: 'mode in plain words: walking, bicycling, car, bus, train, vehicle, …' },
  { name: 'mode_confirmed', type: 'text', meaning: 'mode that the participant confirmed; empty if there is none' },
  { name: 'mode_confidence', type: 'number', meaning: 'probability of `mode`, 0 to 1; empty if it is not known' },
  { name: 'sensed_mode', type: 'text', meaning: 'mode as the phone app gets it, such as PredictedModeTypes.WALKING' },
];

/** Columns of every kind, in the order in which they are written. */
export const tables: Record<Kind, readonly Column[]> = {
  trips: [
    ...user,
    { name: 'trip_id', type: 'text', meaning: 'id of the trip' },
    { name: 'day', type: 'day', meaning: 'local day on which the trip begins' },
    ...times('departure', 'arrival'),
    ...figures,
    { name: 'mode', type: 'text', meaning: 'mode with the greatest distance in the trip, in plain words' },
    { name: 'mode_confirmed', type: 'text', meaning: 'mode that the participant confirmed; empty if there is none' },
    {
      name: 'purpose_confirmed',
      type: 'text',
      meaning: 'purpose that the participant confirmed; empty if there is none',
    },
    { name: 'sections', type: 'integer', meaning: 'number of sections' },
    {
      name: 'start_place_id',
      type: 'text',
      meaning: 'place where the trip begins; empty where it follows another at once',
    },
    { name: 'end_place_id', type: 'text', meaning: 'place where the trip ends; empty where another follows at once' },
    flags,
    { name: 'geometry', type: 'geometry', meaning: 'line of the trip through all its sections' },
  ],
  sections: [
    ...user,
    { name: 'section_id', type: 'text', meaning: 'id of the section' },
    { name: 'trip_id', type: 'text', meaning: 'trip to which the section belongs' },
    { name: 'number', type: 'integer', meaning: 'number of the section within its trip, from 1' },
    ...times('start', 'end'),
    ...figures,
    ...modes,
    {
      name: 'start_place_id',
      type: 'text',
      meaning: 'place where the section begins, if it is the first of its trip and the trip has one; else empty',
    },
    {
      name: 'end_place_id',
      type: 'text',
      meaning: 'place where the section ends, if it is the last of its trip and the trip has one; else empty',
    },
    flags,
    { name: 'geometry', type: 'geometry', meaning: 'line of the section' },
  ],
  places: [
    ...user,
    { name: 'place_id', type: 'text', meaning: 'id of the place; each stay has its own' },
    { name: 'location_id', type: 'text', meaning: 'location of the stay: the same for all stays at one spot' },
    ...times('arrival; empty for the first place', 'departure; empty while the person is there'),
    { name: 'duration_s', type: 'number', unit: 's', meaning: 'seconds from arrival to departure' },
    { name: 'observed_s', type: 'number', unit: 's', meaning: 'part of `duration_s` in which the stay was observed' },
    { name: 'ending_trip_id', type: 'text', meaning: 'trip that ends at the place' },
    { name: 'starting_trip_id', type: 'text', meaning: 'trip that begins at the place' },
    flags,
    { name: 'geometry', type: 'geometry', meaning: 'position of the place' },
  ],
  locations: [
    ...user,
    { name: 'location_id', type: 'text', meaning: 'id of the location, which stays as later data come' },
    { name: 'location_name', type: 'text', meaning: 'name that somebody gave it; empty if nobody did' },
    { name: 'stays', type: 'integer', meaning: 'stays there in the exported days' },
    {
      name: 'home',
      type: 'number',
      meaning: 'chance that the next night is spent there, 0 to 1: a guess that it is home; empty of others',
    },
    { name: 'geometry', type: 'geometry', meaning: 'middle of the stays' },
  ],
  points: [
    ...user,
    { name: 'section_id', type: 'text', meaning: 'section to which the point belongs' },
    { name: 'trip_id', type: 'text', meaning: 'trip to which the point belongs' },
    { name: 'number', type: 'integer', meaning: 'number of the point within its section, from 1' },
    { name: 'tracked_at', type: 'instant', meaning: 'time of the point, UTC' },
    { name: 'tracked_local', type: 'local', meaning: 'time of the point, local time without offset' },
    { name: 'time_zone', type: 'text', meaning: 'IANA zone at the point' },
    { name: 'longitude', type: 'number', unit: 'degree', meaning: 'longitude, WGS84' },
    { name: 'latitude', type: 'number', unit: 'degree', meaning: 'latitude, WGS84' },
    {
      name: 'altitude_m',
      type: 'number',
      unit: 'm',
      meaning: 'height above sea level; empty if the phone did not report it',
    },
    { name: 'speed_ms', type: 'number', unit: 'm/s', meaning: 'average speed since the previous point' },
    { name: 'mode', type: 'text', meaning: 'mode of the section in plain words' },
    { name: 'geometry', type: 'geometry', meaning: 'position of the point' },
  ],
  labels: [
    ...user,
    {
      name: 'trip_id',
      type: 'text',
      meaning: 'trip to which the label belongs; empty if it belongs to a place or to no trip',
    },
    { name: 'key', type: 'text', meaning: 'kind of label, such as manual/mode_confirm' },
    { name: 'label', type: 'text', meaning: 'text of the label; empty for surveys' },
    ...times('start of the labelled trip or place', 'end of the labelled trip or place'),
    { name: 'written_at', type: 'instant', meaning: 'time at which the participant wrote the label, UTC' },
    { name: 'data', type: 'json', meaning: 'label as the app sent it' },
  ],
  days: [
    ...user,
    {
      name: 'day',
      type: 'day',
      meaning: 'local day; every one from the first to the last of which something is known',
    },
    { name: 'time_zone', type: 'text', meaning: 'IANA zone at the start of the day' },
    { name: 'trips', type: 'integer', meaning: 'trips that begin on the day' },
    ...figures,
    { name: 'walking_m', type: 'number', unit: 'm', meaning: 'metres on foot' },
    { name: 'bicycling_m', type: 'number', unit: 'm', meaning: 'metres by bicycle or scooter' },
    { name: 'car_m', type: 'number', unit: 'm', meaning: 'metres by car' },
    { name: 'public_transport_m', type: 'number', unit: 'm', meaning: 'metres by bus, tram, train or subway' },
    { name: 'other_m', type: 'number', unit: 'm', meaning: 'metres by any other or an unknown mode' },
    {
      name: 'observed_s',
      type: 'number',
      unit: 's',
      meaning: 'seconds in which the person is known to move or to stay',
    },
    { name: 'silent_s', type: 'number', unit: 's', meaning: 'seconds of which the phone told nothing' },
    {
      name: 'off_s',
      type: 'number',
      unit: 's',
      meaning: 'seconds in which tracking, its permission or the phone was off, or that were taken out',
    },
    flags,
  ],
  entries: [
    ...user,
    { name: 'key', type: 'text', meaning: 'kind of entry, such as background/location' },
    { name: 'written_at', type: 'instant', meaning: 'time at which the phone wrote the entry, UTC' },
    { name: 'occurred_at', type: 'instant', meaning: 'time that the entry describes, UTC; empty if it describes none' },
    { name: 'time_zone', type: 'text', meaning: 'IANA zone of the phone' },
    { name: 'platform', type: 'text', meaning: 'android, ios or other' },
    { name: 'data', type: 'json', meaning: 'payload as the converter reads it' },
  ],
};

/** All kinds, in the order in which a folder lists them. */
export const kinds = Object.keys(tables) as Kind[];
