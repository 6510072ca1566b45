// Reads files of OwnTracks (messages, and `.rec` of its Recorder) and Overland.
import type { Mapped } from '../intake/apps/other-entry.ts';
import { fromOverland } from '../intake/apps/overland.ts';
import { fromOwnTracks } from '../intake/apps/owntracks.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import { type FileFormat, type Found, readsHead, type SourceReadOptions } from './import-format.ts';
import { jsonRecords } from './read/json-records.ts';
import type { SourceFile } from './source.ts';

/** A line of a `.rec` file: `2024-03-12T07:57:27Z<tab>*    <tab>{…}`. Some lines have no JSON. */
const recLine = /^(\d{4}-\d\d-\d\dT[\d:.]+Z)\s+\S+(?:\s+(\{.*))?/;

export const ownTracks: FileFormat = {
  name: 'owntracks',
  recognises: ({ head }) =>
    /"_type"\s*:\s*"(location|transition|waypoint|steps|beacon|encrypted|lwt)"/.test(head.toString('utf8')),
  read: readOwnTracks,
};

async function* readOwnTracks(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  const isMessage = ({ _type }: JsonObject): boolean => _type !== undefined;
  for await (const record of jsonRecords(file, onBytes, isMessage, messageIn)) {
    if ('unread' in record) yield record;
    else yield* mappedFound(fromOwnTracks(record.value));
  }
}

function messageIn(line: string): string | null {
  const [, stamp, json] = recLine.exec(line) ?? [];
  if (stamp !== undefined) return json ?? null;
  return line.trim() === '' ? null : line;
}

function* mappedFound({ entries, unusable, skipped }: Mapped): Generator<Found> {
  for (const entry of entries) yield { owner: null, entry };
  for (const one of unusable) yield { owner: null, unusable: one };
  for (let i = 0; i < skipped; i++) yield { skipped: 'a message that is not about travel' };
}

export const overland: FileFormat = {
  name: 'overland',
  // Only Overland writes GeoJSON with these names. The format `geojson` reads all other GeoJSON.
  recognises: (file, reading) =>
    /"(locations|horizontal_accuracy|motion|locations_in_payload)"\s*:/.test(file.head.toString('utf8')) &&
    /"Feature"/.test(file.head.toString('utf8')) &&
    readsHead(readOverland, file, reading),
  read: readOverland,
};

/** The most features and characters in one call of `fromOverland`. The app sends 1000 features. */
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
