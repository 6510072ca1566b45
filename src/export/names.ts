// Columns renamed for people's existing notebooks: what other libraries call the same things.
import type { Column, Kind, Row } from './columns.ts';

/** Whose names the columns take. */
export type NameSet = 'trackintel' | 'scikit-mobility';

/** From our column to theirs, in their order; columns that are not named are left out. */
type Renaming = readonly (readonly [ours: string, theirs: string])[];

const sets: Record<NameSet, Partial<Record<Kind, { file: string; columns: Renaming }>>> = {
  // trackintel 1.4: read_positionfixes_csv, read_staypoints_csv, read_triplegs_csv, read_trips_csv
  trackintel: {
    points: {
      file: 'positionfixes',
      columns: [
        ['user_id', 'user_id'],
        ['tracked_at', 'tracked_at'],
        ['latitude', 'latitude'],
        ['longitude', 'longitude'],
        ['altitude_m', 'elevation'],
        ['section_id', 'tripleg_id'],
      ],
    },
    places: {
      file: 'staypoints',
      columns: [
        ['place_id', 'id'],
        ['user_id', 'user_id'],
        ['started_at', 'started_at'],
        ['finished_at', 'finished_at'],
        ['geometry', 'geom'],
        ['location_id', 'location_id'],
      ],
    },
    locations: {
      file: 'locations',
      columns: [
        ['location_id', 'id'],
        ['user_id', 'user_id'],
        ['geometry', 'center'],
      ],
    },
    sections: {
      file: 'triplegs',
      columns: [
        ['section_id', 'id'],
        ['user_id', 'user_id'],
        ['started_at', 'started_at'],
        ['finished_at', 'finished_at'],
        ['trip_id', 'trip_id'],
        ['mode', 'mode'],
        ['geometry', 'geom'],
      ],
    },
    trips: {
      file: 'trips',
      columns: [
        ['trip_id', 'id'],
        ['user_id', 'user_id'],
        ['started_at', 'started_at'],
        ['finished_at', 'finished_at'],
        ['start_place_id', 'origin_staypoint_id'],
        ['end_place_id', 'destination_staypoint_id'],
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
};

/** All sets of names. */
export const nameSets = Object.keys(sets) as NameSet[];

/** Kinds that a set has names for. */
export const kindsNamed = (set: NameSet): Kind[] => Object.keys(sets[set]) as Kind[];

/** A table under the names of a set. */
export interface Renamed {
  file: string;
  columns: Column[];
  row: (row: Row) => Row;
}

/** The columns of a kind under the names of `set`. */
export function renamed(kind: Kind, columns: readonly Column[], set: NameSet): Renamed {
  const { file, columns: pairs } = sets[set][kind]!;
  return {
    file,
    columns: pairs.map(([ours, theirs]) => ({ ...columns.find(({ name }) => name === ours)!, name: theirs })),
    row: (row) => Object.fromEntries(pairs.map(([ours, theirs]) => [theirs, row[ours]])),
  };
}
