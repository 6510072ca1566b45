// JSON lines, one object per row, with instants as text, and GeoJSON. In JSON lines, a row with a
// geometry is a GeoJSON feature with `properties` (GeoJSONSeq): outside `properties`, programs for
// maps read all numbers of a column with the type of its first number.
import type { Column, Geometry, Row, TableWriter, Writer } from '../columns.ts';
import { geoJson } from '../geometry.ts';
import { instantText } from '../instants.ts';

export function jsonlWriter(writer: Writer, columns: readonly Column[]): TableWriter {
  const toJson = isFeature(columns) ? featureWriter(columns) : (row: Row) => plainRow(columns, row);
  return {
    begin: async () => {},
    rows: (rows) => writer.write(rows.map((row) => `${JSON.stringify(toJson(row))}\n`).join('')),
    end: async () => {},
  };
}

export const isFeature = (columns: readonly Column[]): boolean => columns.some(({ type }) => type === 'geometry');

function featureWriter(columns: readonly Column[]): (row: Row) => object {
  const properties = columns.filter(({ type }) => type !== 'geometry');
  const shape = columns.find(({ type }) => type === 'geometry')?.name ?? 'geometry';
  return (row) => {
    const geometry = row[shape] as Geometry | undefined;
    return { type: 'Feature', geometry: geometry ? geoJson(geometry) : null, properties: plainRow(properties, row) };
  };
}

function plainRow(columns: readonly Column[], row: Row): Record<string, unknown> {
  return Object.fromEntries(
    columns.map(({ name, type }) => {
      const value = row[name] ?? null;
      if (value === null) return [name, null];
      if (type === 'instant') return [name, instantText(value as number)];
      return [name, type === 'geometry' ? geoJson(value as Geometry) : value];
    }),
  );
}

/** GeoJSON (RFC 7946): one FeatureCollection per table, one feature per line. */
export function geojsonWriter(writer: Writer, columns: readonly Column[]): TableWriter {
  const feature = featureWriter(columns);
  let separator = '\n';
  return {
    begin: () => writer.write('{"type":"FeatureCollection","features":['),
    async rows(rows) {
      let text = '';
      for (const row of rows) {
        text += `${separator}${JSON.stringify(feature(row))}`;
        separator = ',\n';
      }
      await writer.write(text);
    },
    end: () => writer.write('\n]}\n'),
  };
}
