// GeoJSON (RFC 7946): one FeatureCollection per table, one feature per line, one type of geometry per file.
import type { Column } from '../columns.ts';
import type { TableWriter, Writer } from './export-format.ts';
import { featureWriter } from './jsonl.ts';

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
