import { type Kind, kinds, type MakeTableWriter } from '../columns.ts';
import { csvWriter } from './csv.ts';
import { geojsonWriter, jsonlWriter } from './geojson.ts';
import { gpxWriter } from './gpx.ts';

export interface Format {
  ending: string;
  mediaType: string;
  kinds: readonly Kind[];
  /** Type of geometries in the manifest; null: the manifest does not describe the files as tables. */
  geometry: 'string' | 'geojson' | 'any' | null;
  text?: { encoding: string; dialect: object };
  open: () => Promise<MakeTableWriter>; // imports a writer's module when an export needs it
}

const table = {
  csv: {
    ending: 'csv',
    mediaType: 'text/csv',
    kinds,
    geometry: 'string',
    text: { encoding: 'utf-8', dialect: { delimiter: ',', header: true } },
    open: async () => csvWriter,
  },
  parquet: {
    ending: 'parquet',
    mediaType: 'application/vnd.apache.parquet',
    kinds,
    geometry: 'any',
    open: async () => (await import('./parquet.ts')).parquetWriter,
  },
  geojson: {
    ending: 'geojson',
    mediaType: 'application/geo+json',
    kinds: ['trips', 'sections', 'stops', 'places', 'locations', 'points', 'fixes'],
    geometry: null,
    open: async () => geojsonWriter,
  },
  gpx: {
    ending: 'gpx',
    mediaType: 'application/gpx+xml',
    kinds: ['points'],
    geometry: null,
    open: async () => gpxWriter,
  },
  jsonl: { ending: 'jsonl', mediaType: 'application/jsonl', kinds, geometry: 'geojson', open: async () => jsonlWriter },
} satisfies Record<string, Format>;

export type FormatName = keyof typeof table;

export const formats: Readonly<Record<FormatName, Format>> = table;
