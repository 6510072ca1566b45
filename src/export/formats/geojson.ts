// GeoJSON (RFC 7946): one FeatureCollection a table, a feature a line, one type of geometry a file.
import type { Column, Geometry, Row } from '../columns.ts';
import { geoJson } from '../geometry.ts';
import type { TableWriter, Writer } from './export-format.ts';
import { plainRow } from './jsonl.ts';

/** Writes one table with a geometry column as a FeatureCollection. */
export function geojsonWriter(writer: Writer, columns: readonly Column[]): TableWriter {
  const properties = columns.filter(({ type }) => type !== 'geometry');
  const shape = columns.find(({ type }) => type === 'geometry')?.name ?? 'geometry';
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

  function feature(row: Row): object {
    const geometry = row[shape] as Geometry | undefined;
    return { type: 'Feature', geometry: geometry ? geoJson(geometry) : null, properties: plainRow(properties, row) };
  }
}
