// JSON lines: one object a row, instants as text, geometry as GeoJSON. A row with a column `geometry` is also a feature
// to GDAL, which takes the members of one without `properties` for them.
import type { Column, Geometry, Row } from '../columns.ts';
import { geoJson } from '../geometry.ts';
import { instantText } from '../instants.ts';
import type { TableWriter, Writer } from './export-format.ts';

/** Writes one table as JSON lines. */
export function jsonlWriter(writer: Writer, columns: readonly Column[]): TableWriter {
  const type = isFeature(columns) ? { type: 'Feature' } : {};
  return {
    begin: async () => {},
    rows: (rows) =>
      writer.write(rows.map((row) => `${JSON.stringify({ ...type, ...plainRow(columns, row) })}\n`).join('')),
    end: async () => {},
  };
}

/** True for a table whose JSON lines are features, with a member `type`. */
export const isFeature = (columns: readonly Column[]): boolean => columns.some(({ name }) => name === 'geometry');

/** A row as JSON. */
export function plainRow(columns: readonly Column[], row: Row): Record<string, unknown> {
  return Object.fromEntries(
    columns.map(({ name, type }) => {
      const value = row[name] ?? null;
      if (value === null) return [name, null];
      if (type === 'instant') return [name, instantText(value as number)];
      return [name, type === 'geometry' ? geoJson(value as Geometry) : value];
    }),
  );
}
