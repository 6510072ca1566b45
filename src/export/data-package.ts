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
  /** m; null: places stand where they are. */
  coarse: number | null;
  names: string | null;
}

const fieldTypes: Record<ColumnType, { type: string; format?: string }> = {
  text: { type: 'string' },
  integer: { type: 'integer' },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  instant: { type: 'datetime', format: 'any' },
  local: { type: 'datetime', format: 'any' },
  day: { type: 'date' },
  geometry: { type: 'string' },
  json: { type: 'object' },
};

/** The manifest as text. */
export function dataPackage(tables: readonly WrittenTable[], treatment: Treatment, created: string): string {
  const value = {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: 'mobility-export',
    title: 'Trips and data of participants',
    created,
    treatment,
    resources: tables.map(({ kind, path, format, columns, rows, bytes, sha256 }) => ({
      name: kind,
      path,
      format: format.ending,
      mediatype: format.mediaType,
      ...(format.ending === 'csv' && { encoding: 'utf-8', dialect: { delimiter: ',', header: true } }),
      bytes,
      hash: `sha256:${sha256}`,
      rows,
      ...(format.ending === 'csv' && { schema: { fields: columns.map(field), missingValues: [''] } }),
      ...(format.ending !== 'csv' && { columns: columns.map(field) }),
    })),
  };
  return `${JSON.stringify(value, null, 2)}\n`;
}

function field({ name, type, unit, meaning }: Column): object {
  return { name, ...fieldTypes[type], description: meaning, ...(unit && { unit }) };
}
