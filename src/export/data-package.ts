// `datapackage.json` (Frictionless): manifest and data dictionary of an export, made from the columns that were
// written.
import type { Column, ColumnType, Kind } from './columns.ts';
import type { Format } from './formats/formats.ts';

/** One file that was written. */
export interface WrittenTable {
  kind: Kind;
  path: string;
  format: Format;
  columns: readonly Column[];
  rows: number;
  bytes: number;
  /** SHA-256 of the file, in hex. */
  sha256: string;
}

/** What was done to the data before they were written. */
export interface Treatment {
  pseudonyms: boolean;
  /** m; null: places are not moved. */
  coarse: number | null;
  names: string | null;
}

/** What somebody who has the export can and cannot find out because of its treatment. */
function protection({ pseudonyms, coarse }: Treatment): { protected: string[]; not_protected: string[] } {
  const [hidden, open]: [string[], string[]] = [[], []];
  if (pseudonyms) hidden.push('names, UUIDs and ids of people and rows, from anybody without the key');
  else open.push('names and UUIDs of people');
  if (coarse === null) open.push('places where people stay, ways and times: they are exact');
  else {
    hidden.push(
      `where in its cell of ${coarse} m a stay lies, also by the rim, the meeting and the length of ways, times and speeds`,
    );
    open.push(
      `the cells themselves: a cell of ${coarse} m in which few people live or work`,
      `visible ways and their times, more than ${1.5 * coarse} m away from every cell with stays of the person`,
      'persons whose ways or times somebody knows from other data, such as another export of the same people',
    );
  }
  return { protected: hidden, not_protected: open };
}

/** Formats whose files are tables to programs that read the manifest, and what a geometry is in them. */
const geometryIn: Partial<Record<string, string>> = { csv: 'string', jsonl: 'geojson', parquet: 'any' };

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

/**
 * The manifest as text. `versions`: those of the analysis (code and models) that made the trips; several where some
 * people wait for their next run.
 */
export function dataPackage(
  tables: readonly WrittenTable[],
  treatment: Treatment,
  { created, versions }: { created: string; versions: readonly string[] },
): string {
  const value = {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: 'mobility-export',
    title: 'Trips and data of participants',
    created,
    analysis_versions: versions,
    treatment: { ...treatment, ...protection(treatment) },
    resources: tables.map(resource),
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

function resource({ kind, path, format: { ending, mediaType }, columns, rows, bytes, sha256 }: WrittenTable): object {
  const geometry = geometryIn[ending];
  const fields = columns.map((column) => field(column, geometry ?? 'any'));
  return {
    name: kind,
    path,
    format: ending,
    mediatype: mediaType,
    ...(ending === 'csv' && { encoding: 'utf-8', dialect: { delimiter: ',', header: true } }),
    // `frictionless` 5 cannot count the bytes of a Parquet file, and calls the file wrong when they are named.
    ...(ending !== 'parquet' && { bytes }),
    hash: `sha256:${sha256}`,
    // `rows` and `schema` are about tables; other files have the same under names of their own.
    ...(geometry === undefined
      ? { count: rows, columns: fields }
      : { rows, schema: { fields, ...(ending === 'csv' && { missingValues: [''] }) } }),
  };
}

function field({ name, type, unit, meaning }: Column, geometry: string): object {
  const fieldType = type === 'geometry' ? { type: geometry } : fieldTypes[type];
  return { name, ...fieldType, description: meaning, ...(unit && { unit }) };
}
