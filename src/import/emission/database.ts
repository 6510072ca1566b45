// Reads the collections of an e-mission server.
import type { JsonObject } from '../../model/json.ts';
import type { Found, SourcePerson } from '../import-format.ts';
import { idTime, plainDocument, plainValue, uuidOf } from './values.ts';

export type EmissionDocument = Record<string, unknown>;

/** Each item is a document, or the reason why a document cannot be read. */
export type EmissionDocuments = AsyncIterable<EmissionDocument | string>;

/** The collections in the order of reading. The pipeline derives all others of e-mission again. */
export const collectionNames = [
  'Stage_uuids',
  'Stage_Profiles',
  'Stage_timeseries_error',
  'Stage_timeseries',
  'Stage_usercache',
] as const;
export type CollectionName = (typeof collectionNames)[number];

export const isCollectionName = (name: string): name is CollectionName =>
  (collectionNames as readonly string[]).includes(name);

/** Yields rejected entries, too. Of entries with one identity, the import keeps the last. */
export async function* readDatabase(
  open: (collection: CollectionName) => EmissionDocuments | null,
): AsyncGenerator<Found> {
  const people = new Map<string, SourcePerson>();
  for (const collection of collectionNames) {
    for await (const document of open(collection) ?? []) {
      if (typeof document === 'string') {
        yield { unread: `${collection}: ${document}` };
      } else if (collection === 'Stage_uuids') {
        const person = personOf(document);
        if (person !== null) people.set(person.uuid, person);
        yield person === null
          ? { unread: 'Stage_uuids: expected a registration with a UUID, found one without' }
          : { owner: person, person: true };
      } else if (collection === 'Stage_Profiles') {
        yield* profileOf(document, people);
      } else {
        yield entryOf(document, collection, people);
      }
    }
  }
}

function personOf({ uuid: value, user_email: name, update_ts }: EmissionDocument): SourcePerson | null {
  const uuid = uuidOf(value);
  if (uuid === null) return null;
  const updated = plainValue(update_ts);
  return {
    uuid,
    ...(typeof name === 'string' && name !== '' && { user_email: name }),
    ...(typeof updated === 'number' && { update_ts: updated }),
  };
}

const ownFields = ['_id', 'user_id', 'pipeline_range']; // fields of a profile that only e-mission uses

function* profileOf(document: EmissionDocument, people: ReadonlyMap<string, SourcePerson>): Generator<Found> {
  const uuid = uuidOf(document.user_id);
  if (uuid === null) return;
  const fields = Object.entries(plainDocument(document)).filter(([name]) => !ownFields.includes(name));
  yield { owner: people.get(uuid) ?? { uuid }, profile: Object.fromEntries(fields) };
}

export function entryOf(
  document: EmissionDocument,
  collection: string,
  people: ReadonlyMap<string, SourcePerson> = new Map(),
): Found {
  const metadata = document.metadata as EmissionDocument | undefined;
  if (isDerived(metadata)) return { skipped: String(metadata?.key) };
  const uuid = uuidOf(document.user_id);
  if (uuid === null) {
    const key = String(metadata?.key ?? 'without a key').slice(0, 60);
    return { unread: `${collection}: expected an entry with user_id, found none: ${key}` };
  }
  const received = idTime(document._id);
  const entry = withoutIds(document);
  if (entry === null) return { unread: `${collection}: expected an entry, found one that is nested too deeply` };
  return { owner: people.get(uuid) ?? { uuid }, entry, ...(received !== null && { received_ts: received }) };
}

/** null: the entry is nested too deeply to be read. */
export function withoutIds({ metadata, data }: EmissionDocument): JsonObject | null {
  try {
    return {
      ...(metadata !== undefined && { metadata: plainValue(metadata) }),
      ...(data !== undefined && { data: plainValue(data) }),
    };
  } catch (error) {
    if (error instanceof RangeError) return null; // the stack overflowed
    throw error;
  }
}

const derivedKeys =
  /^(analysis|segmentation|inference|metrics|diary)\/|^stats\/(server|pipeline|dashboard)_|^common-trips$/;

export function isDerived(metadata: EmissionDocument | undefined): boolean {
  if (typeof metadata !== 'object' || metadata === null) return false;
  return metadata.type === 'document' || (typeof metadata.key === 'string' && derivedKeys.test(metadata.key));
}
