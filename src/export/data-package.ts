// Writes `datapackage.json` (Frictionless): the manifest and the data dictionary of an export.
import type { Column, ColumnType, Kind } from './columns.ts';
import type { Format } from './formats/export-formats.ts';
import { isFeature } from './formats/geojson.ts';

export interface WrittenTable {
  kind: Kind;
  path: string;
  format: Format;
  columns: readonly Column[];
  rows: number;
  bytes: number;
  sha256: string; // SHA-256 of the file, in hex
}

/** What an export hides. `coarse`: m, size of the cells; null: places are exact. */
export type Treatment = { pseudonyms: boolean; coarse: number | null; names: string | null };

function protection({ pseudonyms, coarse }: Treatment): { protected: string[]; not_protected: string[] } {
  const [hidden, open]: [string[], string[]] = [[], []];
  if (pseudonyms) hidden.push('names, UUIDs and ids of people and rows, for readers without the key');
  else open.push('names and UUIDs of people');
  if (coarse === null) open.push('places where people stay, paths and times: they are exact');
  else {
    const shown = 'the ends, crossings, lengths, times and speeds of paths';
    hidden.push(`where in its cell of ${coarse} m a stay lies: ${shown} do not reveal it`);
    open.push(
      `the cells themselves: a cell of ${coarse} m in which few people live or work`,
      `the paths that the export shows, and their times: more than ${1.5 * coarse} m away from every cell with stays of the person`,
      'people whose paths or times are known from other data, such as another export of the same people',
    );
  }
  return { protected: hidden, not_protected: open };
}

const fieldTypes: Record<Exclude<ColumnType, 'geometry'>, { type: string; format?: string }> = {
  text: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  instant: { type: 'datetime', format: 'any' },
  local: { type: 'datetime', format: 'any' },
  day: { type: 'date' },
  json: { type: 'object' },
};

/** The primary key of each table, and the tables that its foreign keys refer to. */
const keysOf: Partial<Record<Kind, { primary: readonly string[]; foreign?: Readonly<Record<string, Kind>> }>> = {
  trips: { primary: ['trip_id'], foreign: { start_place_id: 'places', end_place_id: 'places' } },
  sections: { primary: ['section_id'], foreign: { trip_id: 'trips' } },
  places: { primary: ['place_id'], foreign: { location_id: 'locations' } },
  locations: { primary: ['location_id'] },
  stops: {
    primary: ['stop_id'],
    foreign: { trip_id: 'trips', ending_section_id: 'sections', starting_section_id: 'sections' },
  },
  people: { primary: ['user_id'] },
  points: { primary: ['section_id', 'number'], foreign: { section_id: 'sections', trip_id: 'trips' } },
  labels: { primary: [], foreign: { trip_id: 'trips' } },
  days: { primary: ['user_id', 'day'] },
};

/**
 * The manifest as text. It omits JSON lines files without rows, because an empty file is not a
 * valid table. `versions`: the versions of the analysis that made the trips. The manifest has keys
 * only for all days, since ids may refer to rows of other days, and only without renamed columns.
 */
export function dataPackage(
  written: readonly WrittenTable[],
  treatment: Treatment,
  { created, versions, isWhole }: { created: string; versions: readonly string[]; isWhole: boolean },
): string {
  const tables = written.filter(({ format, rows }) => format.ending !== 'jsonl' || rows > 0);
  const hasKeys = isWhole && treatment.names === null;
  // A feature has its columns in `properties`, where keys of a manifest cannot refer to them.
  const flat = tables.filter((table) => !isFeatureFile(table));
  const keysAmong = hasKeys ? new Set(flat.map(({ kind }) => kind)) : null;
  const value = {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: 'mobility-export',
    title: 'Trips and data of participants',
    created,
    analysis_versions: versions,
    treatment: { ...treatment, ...protection(treatment) },
    resources: tables.map((table) => describeTable(table, keysAmong)),
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** The members of a GeoJSON feature. `columns` describes what is in `properties`. */
const featureFields = [
  { name: 'type', type: 'string', description: '`Feature`' },
  { name: 'geometry', type: 'geojson', description: 'GeoJSON geometry, or null' },
  { name: 'properties', type: 'object', description: 'the other columns of the row' },
];

const isFeatureFile = ({ format, columns }: WrittenTable): boolean =>
  format.geometry === 'geojson' && isFeature(columns);

function describeTable(table: WrittenTable, keysAmong: ReadonlySet<Kind> | null): object {
  const { kind, path, format, columns, rows, bytes, sha256 } = table;
  const { ending, mediaType, geometry, text } = format;
  const fields = columns.map((column) => field(column, geometry ?? 'any'));
  const { primary = [], foreign = {} } = keysAmong === null ? {} : (keysOf[kind] ?? {});
  const foreignKeys = Object.entries(foreign)
    .filter(([, to]) => keysAmong?.has(to))
    .map(([name, to]) => ({ fields: [name], reference: { resource: to, fields: keysOf[to]!.primary } }));
  const keys = {
    ...(primary.length > 0 && { primaryKey: primary }),
    ...(foreignKeys.length > 0 && { foreignKeys }),
  };
  const describeRows = (): object => {
    if (geometry === null) return { count: rows, columns: fields };
    if (isFeatureFile(table)) return { rows, columns: fields, schema: { fields: featureFields } };
    return { rows, schema: { fields, ...keys, ...(text && { missingValues: [''] }) } };
  };
  return {
    name: kind,
    path,
    format: ending,
    mediatype: mediaType,
    ...text,
    // `frictionless` 5 cannot count the bytes of a Parquet file, and rejects it if they are given.
    ...(ending !== 'parquet' && { bytes }),
    hash: `sha256:${sha256}`,
    // Data Package has `rows` and `schema` for tables only. Other files have `columns` instead.
    ...describeRows(),
  };
}

function field({ name, type, unit, meaning, values }: Column, geometry: string): object {
  const fieldType = type === 'geometry' ? { type: geometry } : fieldTypes[type];
  return { name, ...fieldType, description: meaning, ...(unit && { unit }), ...(values && { categories: values }) };
}
