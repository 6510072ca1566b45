// The table of formats, with their writers, file endings, and possible kinds.
import { type Kind, kinds } from '../columns.ts';
import { csvWriter } from './csv.ts';
import type { MakeTableWriter } from './export-format.ts';
import { geojsonWriter } from './geojson.ts';
import { gpxWriter } from './gpx.ts';
import { jsonlWriter } from './jsonl.ts';

/** Names of the formats. */
export type FormatName = 'csv' | 'parquet' | 'geojson' | 'gpx' | 'jsonl';

/** One format. */
export interface Format {
  /** The ending of its files. */
  ending: string;
  mediaType: string;
  /** The kinds that the format can contain. */
  kinds: readonly Kind[];
  /** Loads and returns its writer. */
  open: () => Promise<MakeTableWriter>;
}

/** All formats of an export. To add one, add a line here and a file beside this one. */
export const formats: Record<FormatName, Format> = {
  csv: { ending: 'csv', mediaType: 'text/csv', kinds, open: async () => csvWriter },
  parquet: {
    ending: 'parquet',
    mediaType: 'application/vnd.apache.parquet',
    kinds,
    open: async () => (await import('./parquet.ts')).parquetWriter,
  },
  geojson: {
    ending: 'geojson',
    mediaType: 'application/geo+json',
    kinds: ['trips', 'sections', 'stops', 'places', 'locations', 'points', 'fixes'],
    open: async () => geojsonWriter,
  },
  gpx: { ending: 'gpx', mediaType: 'application/gpx+xml', kinds: ['points'], open: async () => gpxWriter },
  jsonl: { ending: 'jsonl', mediaType: 'application/jsonl', kinds, open: async () => jsonlWriter },
};
