// Renames columns to the names of other libraries, for existing notebooks.
import type { Position } from '../model/trip.ts';
import type { Column, ColumnType, Kind, Row, Value } from './columns.ts';
import { instantText } from './instants.ts';

/** The libraries and programs with their own names. */
export type NameSet = 'trackintel' | 'scikit-mobility' | 'dawarich' | 'geopulse' | 'gpsbabel';

/** The columns of a table in the library's order: a column of this program or a computed one, and its library name. */
type Renaming = readonly (readonly [ours: string | Made, theirs: string])[];

const same = (...names: string[]): Renaming => names.map((name) => [name, name]);

/** A column that only the library has. It is computed from a row of this program. */
type Made = Omit<Column, 'name'> & { of: (row: Row) => Value };

const activitySeconds = 15 * 60; // the shortest activity, as in trackintel's `create_activity_flag`

const made = (type: ColumnType, meaning: string, of: Made['of']): Made => ({ type, meaning, of });

const pointId = made('text', 'id of the point', ({ section_id, number }) => `${section_id}-${number}`);
const fixId = made('text', 'id of the location', (row) => `${row.user_id}-${row.source}-${row.tracked_at}`);
const csvSource = made('text', 'kind of source', () => 'CSV');
const battery = made('number', 'charge of the battery, always empty', () => null);
const kmh: Made = {
  ...made('number', 'speed', ({ speed_ms }) => (typeof speed_ms === 'number' ? speed_ms * 3.6 : null)),
  unit: 'km/h',
};
const utc = (meaning: string, part: (iso: string) => string): Made =>
  made('text', meaning, ({ tracked_at }) => part(instantText(Number(tracked_at)) ?? ''));
/**
 * An id as a number, which trackintel needs for tours: the first 52 bits of the id. In one of ten thousand exports with
 * a million trips, two ids are equal.
 */
const numbered = (name: string, meaning: string): Made =>
  made('integer', meaning, ({ [name]: id }) => (typeof id === 'string' ? Number.parseInt(id.slice(0, 13), 16) : null));

const ends = made('geometry', 'start and end of the trip', ({ geometry }) => {
  const { coordinates } = geometry as { coordinates: readonly Position[] };
  return { type: 'MultiPoint', coordinates: [coordinates[0]!, coordinates.at(-1)!] };
});
const isActivity = made(
  'boolean',
  'true for a stay of at least 15 minutes, or of unknown length',
  ({ duration_s }) => typeof duration_s !== 'number' || duration_s >= activitySeconds,
);

/** A table for programs that read points: the locations of one person that the analysis can use. */
const usedFixes = (...columns: Renaming): Partial<Record<Kind, NamedTable>> => ({
  fixes: { file: 'locations', columns: [...columns, ['user_id', 'user_id']], where: ({ used }) => used === true },
});

/** A table with other names. `where`: the rows to keep; default: all. */
interface NamedTable {
  file: string;
  columns: Renaming;
  where?: (row: Row) => boolean;
}

const sets: Record<NameSet, Partial<Record<Kind, NamedTable>>> = {
  // trackintel 1.4: read_positionfixes_csv, read_staypoints_csv, read_triplegs_csv, read_trips_csv
  trackintel: {
    fixes: {
      file: 'positionfixes',
      where: ({ used }) => used === true,
      columns: [
        [fixId, 'id'],
        ...same('user_id', 'tracked_at', 'latitude', 'longitude'),
        ['altitude_m', 'elevation'],
        ['accuracy_m', 'accuracy'],
      ],
    },
    // For a coarse export, which hides where people stay.
    points: {
      file: 'positionfixes',
      columns: [
        [pointId, 'id'],
        ...same('user_id', 'tracked_at', 'latitude', 'longitude'),
        ['altitude_m', 'elevation'],
        [numbered('section_id', 'section to which the point belongs'), 'tripleg_id'],
      ],
    },
    places: {
      file: 'staypoints',
      columns: [
        [numbered('place_id', 'id of the stay'), 'id'],
        ...same('user_id', 'started_at', 'finished_at'),
        [isActivity, 'is_activity'],
        ['geometry', 'geom'],
        [numbered('location_id', 'location of the stay'), 'location_id'],
      ],
    },
    locations: {
      file: 'locations',
      columns: [
        [numbered('location_id', 'id of the location'), 'id'],
        ['user_id', 'user_id'],
        ['geometry', 'center'],
      ],
    },
    sections: {
      file: 'triplegs',
      columns: [
        [numbered('section_id', 'id of the section'), 'id'],
        ...same('user_id', 'started_at', 'finished_at'),
        [numbered('trip_id', 'trip to which the section belongs'), 'trip_id'],
        ['mode', 'mode'],
        ['geometry', 'geom'],
      ],
    },
    trips: {
      file: 'trips',
      columns: [
        [numbered('trip_id', 'id of the trip'), 'id'],
        ...same('user_id', 'started_at', 'finished_at'),
        [numbered('start_place_id', 'stay before the trip'), 'origin_staypoint_id'],
        [numbered('end_place_id', 'stay after the trip'), 'destination_staypoint_id'],
        [ends, 'geom'],
      ],
    },
  },
  // scikit-mobility: TrajDataFrame
  'scikit-mobility': {
    points: {
      file: 'trajectories',
      columns: [
        ['user_id', 'uid'],
        ['latitude', 'lat'],
        ['longitude', 'lng'],
        ['tracked_at', 'datetime'],
        ['section_id', 'tid'],
      ],
    },
  },
  // The CSV imports of Dawarich and GeoPulse, and `unicsv` of GPSBabel
  dawarich: usedFixes(
    ['tracked_at', 'timestamp'],
    ...same('latitude', 'longitude'),
    ['accuracy_m', 'accuracy'],
    ['altitude_m', 'altitude'],
    ['speed_ms', 'velocity'],
    ['bearing_deg', 'course'],
  ),
  // GeoPulse reads columns by their position.
  geopulse: usedFixes(
    ['tracked_at', 'timestamp'],
    ...same('latitude', 'longitude'),
    ['accuracy_m', 'accuracy'],
    [kmh, 'velocity'],
    ['altitude_m', 'altitude'],
    [battery, 'battery'],
    ['source', 'device_id'],
    [csvSource, 'source_type'],
  ),
  gpsbabel: usedFixes(
    [utc('day, UTC', (iso) => iso.slice(0, 10).replaceAll('-', '/')), 'utc_d'],
    [utc('time of the day, UTC', (iso) => iso.slice(11, 23)), 'utc_t'],
    ['latitude', 'lat'],
    ['longitude', 'lon'],
    ['altitude_m', 'alt'],
    ['speed_ms', 'speed'],
    ['bearing_deg', 'course'],
  ),
};

/** All sets of names. */
export const nameSets = Object.keys(sets) as NameSet[];

/** The kinds that a set has names for. */
export const kindsNamed = (set: NameSet): Kind[] => Object.keys(sets[set]) as Kind[];

/** The file name of a kind in a set of names. */
export const fileNamed = (kind: Kind, set: NameSet): string => sets[set][kind]!.file;

/** A kind with the columns and names of `set`. `where`: true for the rows to keep. */
export function renamed(kind: Kind, columns: readonly Column[], set: NameSet) {
  const { file, columns: pairs, where = () => true } = sets[set][kind]!;
  return {
    file,
    where,
    columns: pairs.map(([ours, theirs]): Column => {
      if (typeof ours === 'string') return { ...columns.find(({ name }) => name === ours)!, name: theirs };
      const { of: _, ...column } = ours;
      return { ...column, name: theirs };
    }),
    row: (row: Row): Row =>
      Object.fromEntries(pairs.map(([ours, theirs]) => [theirs, typeof ours === 'string' ? row[ours] : ours.of(row)])),
  };
}
