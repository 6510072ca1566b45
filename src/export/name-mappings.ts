// Renames columns to the names of other libraries, for existing notebooks.
import type { Position } from '../model/trip.ts';
import type { Column, ColumnType, Kind, Row, Value } from './columns.ts';
import { instantText } from './instants.ts';

export type NameSet = 'trackintel' | 'scikit-mobility' | 'dawarich' | 'geopulse' | 'gpsbabel';

/** A column that only the other library has, computed from a row of this program. */
type Made = Omit<Column, 'name'> & { of: (row: Row) => Value };

/** By the other library's name of a column: this program's name, or a computed column. */
type Renaming = Readonly<Record<string, string | Made>>;

const same = (...names: string[]): Renaming => Object.fromEntries(names.map((name) => [name, name]));

const activitySeconds = 15 * 60; // as in trackintel's `create_activity_flag`

const made = (type: ColumnType, meaning: string, of: Made['of']): Made => ({ type, meaning, of });

const pointId = made('text', 'id of the point', ({ section_id, number }) => `${section_id}-${number}`);
const fixId = made('text', 'id of the location', (row) => `${row.user_id}-${row.source}-${row.tracked_at}`);
const csvSource = made('text', 'kind of source', () => 'CSV');
const battery = made('number', 'charge of the battery, always empty', () => null);
const inKmh = ({ speed_ms }: Row): Value => (typeof speed_ms === 'number' ? speed_ms * 3.6 : null);
const kmh: Made = { ...made('number', 'speed', inKmh), unit: 'km/h' };
const utc = (meaning: string, part: (iso: string) => string): Made =>
  made('text', meaning, ({ tracked_at }) => part(instantText(Number(tracked_at)) ?? ''));
/** trackintel needs numbers: the first 52 bits of an id, which are rarely equal for two trips. */
const numbered = (name: string, meaning: string): Made =>
  made('integer', meaning, ({ [name]: id }) => (typeof id === 'string' ? Number.parseInt(id.slice(0, 13), 16) : null));

const ends = made('geometry', 'start and end of the trip', ({ geometry }) => {
  const { coordinates } = geometry as { coordinates: readonly Position[] };
  return { type: 'MultiPoint', coordinates: [coordinates[0]!, coordinates.at(-1)!] };
});
const isLong = ({ duration_s }: Row): boolean => typeof duration_s !== 'number' || duration_s >= activitySeconds;
const isActivity = made('boolean', 'true for a stay of at least 15 minutes, or of unknown length', isLong);

type NamedTable = { file: string; columns: Renaming; where?: (row: Row) => boolean };

/** The table of locations for other programs: only the locations that the analysis can use. */
const usedFixes = (columns: Renaming, file = 'locations'): NamedTable => {
  return { file, columns, where: ({ used }) => used === true };
};

const span = same('user_id', 'started_at', 'finished_at');
const point = same('user_id', 'tracked_at', 'latitude', 'longitude');

const sets: Record<NameSet, Partial<Record<Kind, NamedTable>>> = {
  // trackintel 1.4: read_positionfixes_csv, read_staypoints_csv, read_triplegs_csv, read_trips_csv
  trackintel: {
    fixes: usedFixes({ id: fixId, ...point, elevation: 'altitude_m', accuracy: 'accuracy_m' }, 'positionfixes'),
    // For a coarse export, which has no fixes because they would show where people stay.
    points: {
      file: 'positionfixes',
      columns: {
        id: pointId,
        ...point,
        elevation: 'altitude_m',
        tripleg_id: numbered('section_id', 'section to which the point belongs'),
      },
    },
    places: {
      file: 'staypoints',
      columns: {
        id: numbered('place_id', 'id of the stay'),
        ...span,
        is_activity: isActivity,
        geom: 'geometry',
        location_id: numbered('location_id', 'location of the stay'),
      },
    },
    locations: {
      file: 'locations',
      columns: { id: numbered('location_id', 'id of the location'), user_id: 'user_id', center: 'geometry' },
    },
    sections: {
      file: 'triplegs',
      columns: {
        id: numbered('section_id', 'id of the section'),
        ...span,
        trip_id: numbered('trip_id', 'trip to which the section belongs'),
        mode: 'mode',
        geom: 'geometry',
      },
    },
    trips: {
      file: 'trips',
      columns: {
        id: numbered('trip_id', 'id of the trip'),
        ...span,
        origin_staypoint_id: numbered('start_place_id', 'stay before the trip'),
        destination_staypoint_id: numbered('end_place_id', 'stay after the trip'),
        geom: ends,
      },
    },
  },
  'scikit-mobility': {
    points: {
      file: 'trajectories',
      columns: { uid: 'user_id', lat: 'latitude', lng: 'longitude', datetime: 'tracked_at', tid: 'section_id' },
    },
  },
  // The CSV imports of Dawarich and GeoPulse, and `unicsv` of GPSBabel
  dawarich: {
    fixes: usedFixes({
      timestamp: 'tracked_at',
      ...same('latitude', 'longitude'),
      accuracy: 'accuracy_m',
      altitude: 'altitude_m',
      velocity: 'speed_ms',
      course: 'bearing_deg',
      user_id: 'user_id',
    }),
  },
  // GeoPulse reads columns by their position.
  geopulse: {
    fixes: usedFixes({
      timestamp: 'tracked_at',
      ...same('latitude', 'longitude'),
      accuracy: 'accuracy_m',
      velocity: kmh,
      altitude: 'altitude_m',
      battery,
      device_id: 'source',
      source_type: csvSource,
      user_id: 'user_id',
    }),
  },
  gpsbabel: {
    fixes: usedFixes({
      utc_d: utc('day, UTC', (iso) => iso.slice(0, 10).replaceAll('-', '/')),
      utc_t: utc('time of the day, UTC', (iso) => iso.slice(11, 23)),
      lat: 'latitude',
      lon: 'longitude',
      alt: 'altitude_m',
      speed: 'speed_ms',
      course: 'bearing_deg',
      user_id: 'user_id',
    }),
  },
};

export const nameSets = Object.keys(sets) as NameSet[];

export const kindsNamed = (set: NameSet): Kind[] => Object.keys(sets[set]) as Kind[];

export const fileNamed = (kind: Kind, set: NameSet): string => sets[set][kind]!.file;

export function renamed(kind: Kind, columns: readonly Column[], set: NameSet) {
  const { file, columns: names, where = () => true } = sets[set][kind]!;
  const pairs = Object.entries(names);
  return {
    file,
    where,
    columns: pairs.map(([theirs, ours]): Column => {
      if (typeof ours === 'string') return { ...columns.find(({ name }) => name === ours)!, name: theirs };
      const { of: _, ...column } = ours;
      return { ...column, name: theirs };
    }),
    row: (row: Row): Row =>
      Object.fromEntries(pairs.map(([theirs, ours]) => [theirs, typeof ours === 'string' ? row[ours] : ours.of(row)])),
  };
}
