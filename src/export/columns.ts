// The tables of an export. Files of all formats, the data dictionary and the docs follow them.
import { refusals } from '../analysis/clean/observations.ts';
import { flagMeanings } from '../diary/flags.ts';
import { correctionKinds } from '../model/correction.ts';
import { travelModes } from '../model/modes.ts';
import type { Position } from '../model/trip.ts';

const fixReasons = { ...refusals, outlier: 'too far from the locations around it' };
const reasonList = Object.entries(fixReasons)
  .map(([reason, meaning]) => `${reason} (${meaning})`)
  .join(', ');
export const memberships = ['before_joining', 'member', 'after_leaving'] as const;
const correctionNames = Object.keys(correctionKinds).join(', ');

export type Kind =
  | ('trips' | 'sections' | 'stops' | 'places' | 'locations' | 'points' | 'fixes')
  | ('people' | 'days' | 'labels' | 'answers' | 'entries');

/** `instant`: UTC. `local`: a time without offset. `geometry`: degrees WGS84. `json`: any value. */
export type ColumnType = 'text' | 'integer' | 'number' | 'boolean' | 'instant' | 'local' | 'day' | 'geometry' | 'json';

export type Geometry =
  | { type: 'Point'; coordinates: Position }
  | { type: 'LineString' | 'MultiPoint'; coordinates: readonly Position[] };

/** An instant is a number of seconds since the epoch. */
export type Value = string | number | boolean | Geometry | object | null;

export interface Column {
  name: string;
  type: ColumnType;
  unit?: string; // unit of a number, such as `m`
  values?: readonly string[]; // all values that a text can have
  meaning: string;
}

/** Values by column name. A missing column has the value null. */
export type Row = Record<string, Value | undefined>;

/** `write` resolves when there is room for more. */
export type Writer = { write(piece: string | Uint8Array): Promise<void> };

/** Writes a table in parts, so that its memory is bounded. */
export interface TableWriter {
  begin(): Promise<void>;
  rows(rows: readonly Row[]): Promise<void>;
  end(): Promise<void>;
}

export type MakeTableWriter = (writer: Writer, columns: readonly Column[]) => TableWriter;

export const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);
export const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

const column = (name: string, type: ColumnType, meaning: string, unit?: string): Column =>
  unit === undefined ? { name, type, meaning } : { name, type, meaning, unit };

const seconds = (name: string, meaning: string): Column => column(name, 'number', meaning, 's');
const metres = (name: string, meaning: string): Column => column(name, 'number', meaning, 'm');

const choice = (name: string, meaning: string, values: readonly string[]): Column => {
  return { ...column(name, 'text', meaning), values };
};

const modeNames = travelModes.map(({ name }) => name);
const mode = (name: string, meaning: string): Column => choice(name, meaning, modeNames);
const draft = column('draft', 'boolean', 'true if the trip has not ended: later data may change it');
const weekday = column('weekday', 'integer', 'day of the week, 1 (Monday) to 7 (Sunday)');

const user: Column[] = [
  column('user_id', 'text', 'UUID of the person, or their pseudonym'),
  column('user_name', 'text', 'name the person logs in with, or their pseudonym'),
  column('subgroup', 'text', 'subgroup of the study that the person joined; empty if there is none'),
];

const times = (begun: string, ended: string): Column[] => [
  column('started_at', 'instant', `${begun}, UTC`),
  column('finished_at', 'instant', `${ended}, UTC`),
  column('started_local', 'local', `${begun}, local time without offset`),
  column('finished_local', 'local', `${ended}, local time without offset`),
  column('time_zone', 'text', 'IANA zone of the start'),
];

const figures: Column[] = [
  seconds('duration_s', 'seconds from start to end'),
  metres('distance_m', 'length of the path; sections and stops sum to their trip'),
  metres('estimated_m', 'part of `distance_m` that no location shows'),
];

const flagList = Object.keys(flagMeanings).join(', ');
const flags = column('flags', 'text', `flags, separated by blanks: ${flagList}; empty if there are none`);

const labelNote = 'a label replaces the mode of the only ride of a trip';
const modes: Column[] = [
  mode('mode', `mode in plain words: walking, car, bus, …; ${labelNote}`),
  column('mode_confirmed', 'text', 'mode that the participant confirmed; empty if there is none'),
  column('mode_confidence', 'number', 'probability of `sensed_mode`, 0 to 1; empty if it is not known'),
  column('sensed_mode', 'text', 'mode as the phone app gets it, without labels, such as PredictedModeTypes.WALKING'),
  column('mode_probabilities', 'json', 'probability of each mode by the analysis, such as {"CAR": 0.8, "BUS": 0.2}'),
];

export const tables: Record<Kind, readonly Column[]> = {
  trips: [
    ...user,
    column('trip_id', 'text', 'id of the trip'),
    column('day', 'day', 'local day on which the trip begins'),
    weekday,
    ...times('departure', 'arrival'),
    column(
      'start_rule',
      'text',
      'rule of the departure; `location`: estimated from the distance to the first location',
    ),
    seconds(
      'start_inferred_s',
      'seconds from the start to the first location; 0 if `start_rule` is `location` or empty; empty if removed',
    ),
    ...figures,
    mode('mode', `mode with the greatest distance in the trip, in plain words; ${labelNote}`),
    mode('analysed_mode', 'mode with the greatest distance in the trip, without labels'),
    mode('main_mode', 'main mode by rank: rail, bus, ferry, plane, car, other motors, bicycle, scooter, foot'),
    metres('access_m', 'metres in any mode before the first public transport; empty without it'),
    metres('egress_m', 'metres in any mode after the last public transport; empty without it'),
    column('mode_confirmed', 'text', 'mode that the participant confirmed; empty if there is none'),
    column('purpose_confirmed', 'text', 'purpose that the participant confirmed; empty if there is none'),
    column('origin_purpose', 'text', 'confirmed purpose of the trip before, which ended at the place'),
    column('tour_id', 'text', 'id of the first trip since the person left home; empty where the home is not known'),
    column('sections', 'integer', 'number of sections'),
    column('start_place_id', 'text', 'place where the trip begins; empty if it follows another trip at once'),
    column('end_place_id', 'text', 'place where the trip ends; empty if another trip follows at once'),
    column('corrected', 'boolean', 'true if a correction made or changed the trip'),
    column('correction', 'text', `kinds of its corrections, separated by blanks: ${correctionNames}`),
    draft,
    flags,
    column('geometry', 'geometry', 'line of the trip through all its sections'),
  ],
  sections: [
    ...user,
    column('section_id', 'text', 'id of the section'),
    column('trip_id', 'text', 'trip to which the section belongs'),
    column('number', 'integer', 'number of the section within its trip, from 1'),
    ...times('start', 'end'),
    ...figures,
    ...modes,
    column('start_place_id', 'text', 'place where the section begins, if it is the first of its trip; else empty'),
    column('end_place_id', 'text', 'place where the section ends, if it is the last of its trip; else empty'),
    draft,
    flags,
    column('agency', 'text', 'transit agency of the line that was probably used; empty without a feed'),
    column('route', 'text', 'short name of the line, or its long name if it has none'),
    choice('route_type', 'kind of line', ['bus', 'tram', 'subway', 'rail', 'ferry']),
    column('from_stop', 'text', 'stop where the person probably boarded'),
    column('to_stop', 'text', 'stop where the person probably alighted'),
    column('route_probability', 'number', 'probability of this line, 0 to 1, given the mode'),
    column('geometry', 'geometry', 'line of the section'),
  ],
  stops: [
    ...user,
    column('stop_id', 'text', 'id of the stop between two sections of a trip: a wait or a transfer'),
    column('trip_id', 'text', 'trip to which the stop belongs'),
    column('number', 'integer', 'number of the section before the stop'),
    ...times('end of the section before', 'start of the section after'),
    seconds('duration_s', 'seconds between the sections'),
    metres('distance_m', 'straight-line metres between its two sections'),
    column('ending_section_id', 'text', 'section before the stop'),
    column('starting_section_id', 'text', 'section after the stop'),
    mode('mode_before', 'mode of the section before'),
    mode('mode_after', 'mode of the section after'),
    column('transfer', 'boolean', 'true if the section before or after is public transport'),
    column('geometry', 'geometry', 'position of the stop'),
  ],
  places: [
    ...user,
    column('place_id', 'text', 'id of this stay; for the place itself see location_id'),
    column('location_id', 'text', 'location of the stay: the same for all stays at one spot'),
    ...times('arrival; empty for the first place', 'departure; empty while the person is there'),
    seconds('duration_s', 'seconds from arrival to departure'),
    seconds('observed_s', 'part of `duration_s` in which the stay was observed'),
    column('ending_trip_id', 'text', 'trip that ends at the place'),
    column('starting_trip_id', 'text', 'trip that begins at the place'),
    flags,
    column('geometry', 'geometry', 'position of the place'),
  ],
  locations: [
    ...user,
    column('location_id', 'text', 'id of the location, which later data rarely change'),
    column('location_name', 'text', 'name that a person gave; empty if there is none'),
    column('stays', 'integer', 'number of stays there in the exported days'),
    column('home', 'number', 'probability that the next night is spent there, 0 to 1, for the guessed home'),
    column('geometry', 'geometry', 'middle of the stays'),
  ],
  points: [
    ...user,
    column('section_id', 'text', 'section to which the point belongs'),
    column('trip_id', 'text', 'trip to which the point belongs'),
    column('number', 'integer', 'number of the point within its section, from 1'),
    column('tracked_at', 'instant', 'time of the point, UTC'),
    column('tracked_local', 'local', 'time of the point, local time without offset'),
    column('time_zone', 'text', 'IANA zone at the point'),
    column('longitude', 'number', 'longitude, WGS84', 'degree'),
    column('latitude', 'number', 'latitude, WGS84', 'degree'),
    metres('altitude_m', 'height above sea level; empty if the phone did not report it'),
    column('speed_ms', 'number', 'average speed since the previous point', 'm/s'),
    mode('mode', 'mode of the section in plain words'),
    column('geometry', 'geometry', 'position of the point'),
  ],
  fixes: [
    ...user,
    column('tracked_at', 'instant', 'time of the location, UTC'),
    column('tracked_local', 'local', 'time of the location, local time without offset'),
    column('time_zone', 'text', 'IANA zone of the phone'),
    column('longitude', 'number', 'longitude, WGS84', 'degree'),
    column('latitude', 'number', 'latitude, WGS84', 'degree'),
    metres('altitude_m', 'height above sea level'),
    metres('accuracy_m', 'radius that contains the true position with 68 % probability'),
    column('speed_ms', 'number', 'speed as the phone reports it', 'm/s'),
    column('bearing_deg', 'number', 'direction, clockwise from north', 'degree'),
    column('source', 'text', 'android, ios, or the program that sent it'),
    column('used', 'boolean', 'true if the analysis can use the location; it may prefer another phone'),
    choice('reason', `why the analysis cannot use it: ${reasonList}`, Object.keys(fixReasons)),
    column('geometry', 'geometry', 'position'),
  ],
  people: [
    ...user,
    column('joined_at', 'instant', 'when the person joined the study by its link, UTC; else empty'),
    column('left_at', 'instant', 'when the last token of the person was revoked, UTC'),
    column('app', 'text', 'program that sent the first location; without locations: the kinds of the tokens'),
    column('app_version', 'text', 'version of the app of e-mission'),
    column('platform', 'text', 'android or ios'),
    column('first_day', 'day', 'first local day with data'),
    column('last_day', 'day', 'last local day with data'),
    column('observed_days', 'integer', 'days with observed time (person-days)'),
    column('complete_days', 'integer', 'days with at least 20 hours of observed time'),
    seconds('observed_s', 'seconds of observed time'),
    column('trips', 'integer', 'number of trips'),
    column('labelled_share', 'number', 'share of the trips with a label or a survey, 0 to 1'),
  ],
  answers: [
    ...user,
    column('survey', 'text', 'name of the survey'),
    column('key', 'text', 'kind of entry, such as manual/demographic_survey'),
    column('about_from', 'instant', 'start of the trip or place that the survey is about, UTC; else empty'),
    column('about_to', 'instant', 'end of the trip or place that the survey is about, UTC; else empty'),
    column('question', 'text', 'path of the question in the form, such as household.cars'),
    column('answer', 'text', 'answer; a question with several answers has a row for each'),
    column('written_at', 'instant', 'time when the person answered, UTC'),
  ],
  labels: [
    ...user,
    column('trip_id', 'text', 'trip to which the label belongs; empty if it belongs to a place or to no trip'),
    column('key', 'text', 'kind of label, such as manual/mode_confirm'),
    column('label', 'text', 'text of the label; empty for surveys'),
    ...times('start of the labelled trip or place', 'end of the labelled trip or place'),
    column('written_at', 'instant', 'time when the participant wrote the label, UTC'),
    column('data', 'json', 'label as the app sent it'),
  ],
  days: [
    ...user,
    column('day', 'day', 'local day; all days from the first to the last with data'),
    weekday,
    choice('membership', 'whether the person was a member of the study on this day', memberships),
    column('time_zone', 'text', 'IANA zone at the start of the day'),
    column('trips', 'integer', 'number of trips that begin on the day'),
    ...figures,
    metres('walking_m', 'metres on foot'),
    metres('bicycling_m', 'metres by bicycle or scooter'),
    metres('car_m', 'metres by car'),
    metres('public_transport_m', 'metres by bus, tram, train or subway'),
    metres('other_m', 'metres by any other or an unknown mode'),
    seconds('observed_s', 'seconds in which the person is known to move or to stay'),
    seconds('silent_s', 'seconds not observed although the phone was on: it sent no location'),
    seconds('off_s', 'seconds with tracking, its permission or the phone off, or that were excluded'),
    seconds('inferred_stay_s', 'seconds of observed_s inferred from two locations at one place'),
    metres('moved_unobserved_m', 'straight-line metres across gaps in which the person moved, in no trip or mode'),
    column('draft', 'boolean', 'true if a trip of the day has not ended: later data may change it'),
    flags,
  ],
  entries: [
    ...user,
    column('key', 'text', 'kind of entry, such as background/location'),
    column('written_at', 'instant', 'time when the phone wrote the entry, UTC'),
    column('occurred_at', 'instant', 'time that the entry describes, UTC; empty if it describes none'),
    column('time_zone', 'text', 'IANA zone of the phone'),
    column('platform', 'text', 'android, ios or other'),
    column('data', 'json', 'payload as the converter reads it'),
  ],
};

export const kinds = Object.keys(tables) as Kind[];
