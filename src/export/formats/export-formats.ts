// The table of formats: which writer makes it, how its files end, which kinds it can hold.
import type { Kind } from '../columns.ts';
import { csvWriter } from './csv.ts';
import type { MakeTableWriter } from './export-format.ts';
import { geojsonWriter } from './geojson.ts';
import { gpxWriter } from './gpx.ts';
import { jsonlWriter } from './jsonl.ts';

/** Names of the formats. */
export type FormatName = 'csv' | 'parquet' | 'geojson' | 'gpx' | 'jsonl';

/** One format. */
export interface Format {
  /** How its files end. */
  ending: string;
  mediaType: string;
  /** Kinds it can hold. */
  kinds: readonly Kind[];
  /** Makes its writer; loaded when it is needed. */
  open: () => Promise<MakeTableWriter>;
}

const everything: Kind[] = ['trips', 'sections', 'places', 'locations', 'points', 'labels', 'days', 'entries'];

/** Every format of an export. A new one is a line here and a file beside this one. */
export const formats: Record<FormatName, Format> = {
  csv: { ending: 'csv', mediaType: 'text/csv', kinds: everything, open: async () => csvWriter },
  parquet: {
    ending: 'parquet',
    mediaType: 'application/vnd.apache.parquet',
    kinds: everything,
    open: async () => (await import('./parquet.ts')).parquetWriter,
  },
  geojson: {
    ending: 'geojson',
    mediaType: 'application/geo+json',
    kinds: ['trips', 'sections', 'places', 'locations', 'points'],
    open: async () => geojsonWriter,
  },
  gpx: { ending: 'gpx', mediaType: 'application/gpx+xml', kinds: ['points'], open: async () => gpxWriter },
  jsonl: { ending: 'jsonl', mediaType: 'application/jsonl', kinds: everything, open: async () => jsonlWriter },
};
