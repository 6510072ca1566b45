// Reads files of Overland: batches as the app sends them, and GeoJSON with the same features. Uses the code of the
// endpoint.
import { fromOverland } from '../../intake/apps/overland.ts';
import type { JsonValue } from '../../model/json.ts';
import { type FileFormat, type Found, readsHead, type SourceReadOptions } from '../import-format.ts';
import { jsonRecords } from '../read/json-records.ts';
import type { SourceFile } from '../source.ts';
import { mappedFound } from './owntracks-files.ts';

export const overland: FileFormat = {
  name: 'overland',
  // GeoJSON of other programs has other property names, by which `geojson` reads it.
  recognises: (file, reading) =>
    /"(locations|horizontal_accuracy|motion|locations_in_payload)"\s*:/.test(file.head.toString('utf8')) &&
    /"Feature"/.test(file.head.toString('utf8')) &&
    readsHead(readOverland, file, reading),
  read: readOverland,
};

/** Limits for the features and characters per call of `fromOverland`. The app sends up to 1000 features at a time. */
const batchSize = 1000;
const batchLength = 1024 * 1024;

async function* readOverland(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  let batch: JsonValue[] = [];
  let length = 0;
  for await (const record of jsonRecords(file, onBytes)) {
    if ('unread' in record) yield record;
    else if (record.member === 'locations' || record.member === 'features') {
      batch.push(record.value);
      length += record.length;
    }
    if (batch.length < batchSize && length < batchLength) continue;
    yield* mappedFound(fromOverland(batch));
    [batch, length] = [[], 0];
  }
  yield* mappedFound(fromOverland(batch));
}
