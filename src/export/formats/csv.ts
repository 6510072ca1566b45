// CSV (RFC 4180). A text that a spreadsheet would run as a formula gets an apostrophe before it.
import { stringify } from 'csv-stringify/sync';
import { mapInSlices } from '../../util/slices.ts';
import type { Column, Geometry, Row, TableWriter, Writer } from '../columns.ts';
import { wkt } from '../geometry.ts';
import { instantText } from '../instants.ts';

export const csvLine = (cells: readonly (string | number | boolean | null)[]): string =>
  stringify([cells as unknown[]], { escape_formulas: true, cast: { boolean: (value) => String(value) } });

export function csvWriter(writer: Writer, columns: readonly Column[]): TableWriter {
  return {
    begin: () => writer.write(csvLine(columns.map(({ name }) => name))),
    rows: async (rows) => {
      const lines = await mapInSlices(rows, (row) => csvLine(columns.map((column) => cell(column, row))));
      await writer.write(lines.join(''));
    },
    end: async () => {},
  };
}

function cell({ name, type }: Column, row: Row): string | number | boolean | null {
  const value = row[name] ?? null;
  if (value === null) return null;
  if (type === 'geometry') return wkt(value as Geometry);
  if (type === 'instant') return instantText(value as number);
  return typeof value === 'object' ? JSON.stringify(value) : value;
}
