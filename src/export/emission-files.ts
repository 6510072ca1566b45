// Exports people as collections of an e-mission database, one document per line for `mongoimport`:
//
//   ada: 2 entries in the timeseries, 1 pending, 1 rejected, 1 trip
//
//   Stage_uuids.json                1   user_email, uuid, update_ts
//   Stage_Profiles.json             1   user_id and what the app sent about itself
//   Stage_timeseries.json           2   as they were pushed, with local times
//   Stage_usercache.json            1
//   Stage_timeseries_error.json     1
//   Stage_analysis_timeseries.json  a cleaned, a confirmed and a composite trip, sections, stops, places
import { derivedKeys } from '../emission/derived-keys.ts';
import { derivedEntries } from '../emission/read-derived.ts';
import { present } from '../intake/converters/convert.ts';
import type { Entry } from '../model/entry.ts';
import { dateValue, oid } from '../model/extended-json.ts';
import { entryId, idOf } from '../model/ids.ts';
import { isJsonObject, type JsonObject } from '../model/json.ts';
import { jsonText } from '../model/json-text.ts';
import type { UserRecord } from '../model/user.ts';
import { entryPages, everyError } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { readInParts } from '../util/parts-of.ts';
import { type ExportFile, withFiles } from './export-tables.ts';

const emissionCollections = [
  'Stage_uuids',
  'Stage_Profiles',
  'Stage_timeseries',
  'Stage_usercache',
  'Stage_timeseries_error',
  'Stage_analysis_timeseries',
] as const;
type Collection = (typeof emissionCollections)[number];

const fileOf = (collection: Collection): string => `${collection}.json`;

export const emissionFiles = emissionCollections.map(fileOf);

export type EmissionPart = { collection: Collection; documents: number; text: string };

const documentsAtOnce = 500;

export async function* emissionParts(store: Store, user: UserRecord): AsyncGenerator<EmissionPart> {
  for (const collection of emissionCollections) {
    for await (const documents of readInParts(makers[collection](store, user), documentsAtOnce)) {
      const text = documents.map((document) => `${jsonText(document)}\n`).join('');
      yield { collection, documents: documents.length, text };
    }
  }
}

/** Writes one file per collection. Returns the number of documents in each file. */
export async function writeEmission(
  file: ExportFile,
  people: AsyncIterable<AsyncIterable<EmissionPart>>,
): Promise<Record<string, number>> {
  const counts = Object.fromEntries(emissionFiles.map((name) => [name, 0]));
  await withFiles(file, emissionFiles, async (writers) => {
    for await (const parts of people) {
      for await (const { collection, documents, text } of parts) {
        await writers[emissionCollections.indexOf(collection)]!.write(text);
        counts[fileOf(collection)]! += documents;
      }
    }
  });
  return counts;
}

const everything = { time: 'start_ts', from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY } as const;

const makers: Record<Collection, (store: Store, user: UserRecord) => AsyncGenerator<JsonObject>> = {
  async *Stage_uuids(_, { uuid, user_email, update_ts }) {
    yield { _id: oid(idOf(uuid, 'uuid')), user_email, uuid: binary(uuid), update_ts: dateValue(update_ts) };
  },
  async *Stage_Profiles(store, { uuid, update_ts }) {
    const { update_ts: updated = update_ts, ...fields } = (await store.profiles.get(uuid)) ?? {};
    const own = { _id: oid(idOf(uuid, 'profile')), user_id: binary(uuid), update_ts: dateValue(Number(updated)) };
    yield { ...fields, ...own };
  },
  Stage_timeseries: (store, user) => pushed(store.timeseries, user, present),
  Stage_usercache: (store, user) => pushed(store.usercache, user, (entry) => entry),
  async *Stage_timeseries_error(store, { uuid }) {
    for await (const { id, entry, received_ts } of everyError(store, uuid)) {
      // MongoDB stores only objects.
      if (isJsonObject(entry)) yield { ...entry, _id: oid(idWith(received_ts, id)), user_id: binary(uuid) };
    }
  },
  async *Stage_analysis_timeseries(store, { uuid }) {
    for await (const { id, metadata, data } of derivedEntries(store, uuid, derivedKeys, everything))
      yield documentOf(uuid, id, { metadata, data });
  },
};

async function* pushed(
  part: Store['timeseries'] | Store['usercache'],
  { uuid }: UserRecord,
  shown: (entry: Entry) => Entry,
): AsyncGenerator<JsonObject> {
  for await (const { entries, received_ts } of entryPages(part, uuid, { time: 'write_ts' })) {
    for (const [i, entry] of entries.entries())
      yield documentOf(uuid, idWith(received_ts[i]!, entryId(uuid, entry.metadata)), shown(entry));
  }
}

function documentOf(uuid: string, id: string, { metadata, data }: Entry): JsonObject {
  return { _id: oid(id), user_id: binary(uuid), metadata: metadata as JsonObject, data };
}

/** An id as MongoDB makes it: the first 8 of 24 hex characters are seconds since the epoch. */
const idWith = (ts: number, id: string): string =>
  `${Math.max(0, Math.trunc(ts)).toString(16).padStart(8, '0').slice(-8)}${id.slice(-16)}`;

/** e-mission stores a UUID as a binary value of subtype 3 in the byte order of Python. */
const binary = (uuid: string): JsonObject => ({
  $binary: { base64: Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64'), subType: '03' },
});
