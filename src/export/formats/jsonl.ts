// JSON lines: one object a row, instants as text, geometry as GeoJSON.
import type { Column, Geometry, Row } from '../columns.ts';
import { geoJson } from '../geometry.ts';
import { instantText } from '../instants.ts';
import type { TableWriter, Writer } from './format.ts';

/** Writes one table as JSON lines. */
export function jsonlWriter(writer: Writer, columns: readonly Column[]): TableWriter {
  return {
    begin: async () => {},
    rows: (rows) => writer.write(rows.map((row) => `${JSON.stringify(plainRow(columns, row))}\n`).join('')),
    end: async () => {},
  };
}

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
