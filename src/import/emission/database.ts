// The collections of an e-mission server -> things found: people, profiles, rejected entries, the long term and what
// waits.
import type { JsonObject } from '../../model/json.ts';
import type { Found, SourcePerson } from '../import-format.ts';
import { idTime, plainDocument, plainValue, uuidOf } from './values.ts';

/** A document as MongoDB's own packages read it. */
export type EmissionDocument = Record<string, unknown>;

/** Why a document could not be read. */
export type Unreadable = string;

/** Collections that are read. All others are derived from these, and the pipeline derives them again. */
export const collectionNames = [
  'Stage_uuids',
  'Stage_Profiles',
  'Stage_timeseries_error',
  'Stage_timeseries',
  'Stage_usercache',
] as const;
/** A collection of the e-mission database that is read. */
export type CollectionName = (typeof collectionNames)[number];

/** True for a collection name by which a database of e-mission is recognised. */
export function isCollectionName(name: string): name is CollectionName {
  return (collectionNames as readonly string[]).includes(name);
}

/**
 * Reads collections in an order in which each may follow: people first, then rejected entries (put again, so that each
 * is tried again), then the long term, then pending entries. Of entries there twice the last counts, in the order of
 * `open`.
 */
export async function* readDatabase(
  open: (collection: CollectionName) => AsyncIterable<EmissionDocument | Unreadable> | null,
): AsyncGenerator<Found> {
  const people = new Map<string, SourcePerson>();
  for (const collection of collectionNames) {
    for await (const document of open(collection) ?? []) {
      if (typeof document === 'string') {
        yield { unread: `${collection}: ${document}` };
      } else if (collection === 'Stage_uuids') {
        const person = personOf(document);
        if (person === null) yield { unread: 'a registration in Stage_uuids names no UUID' };
        else {
          people.set(person.uuid, person);
          yield { of: person, person: true };
        }
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

/** Fields of a profile that only its own service can know. */
const ownFields = ['_id', 'user_id', 'pipeline_range'];

function* profileOf(document: EmissionDocument, people: ReadonlyMap<string, SourcePerson>): Generator<Found> {
  const uuid = uuidOf(document.user_id);
  if (uuid === null) return;
  const fields = Object.entries(plainDocument(document)).filter(([name]) => !ownFields.includes(name));
  yield { of: people.get(uuid) ?? { uuid }, profile: Object.fromEntries(fields) };
}

/** One document of a collection of entries. */
export function entryOf(
  document: EmissionDocument,
  collection: string,
  people: ReadonlyMap<string, SourcePerson> = new Map(),
): Found {
  const metadata = document.metadata as EmissionDocument | undefined;
  if (isDerived(metadata)) return { left: String(metadata?.key) };
  const uuid = uuidOf(document.user_id);
  if (uuid === null) {
    return {
      unread: `an entry of ${collection} names no user: ${String(metadata?.key ?? 'without a key').slice(0, 60)}`,
    };
  }
  const received = idTime(document._id);
  const entry = withoutIds(document);
  if (entry === null) return { unread: `an entry of ${collection} is nested too deep` };
  return {
    of: people.get(uuid) ?? { uuid },
    entry,
    ...(received !== null && { received_ts: received }),
  };
}

/** The entry as JSON; null where it is nested deeper than can be read. */
export function withoutIds({ metadata, data }: EmissionDocument): JsonObject | null {
  try {
    return {
      ...(metadata !== undefined && { metadata: plainValue(metadata) }),
      ...(data !== undefined && { data: plainValue(data) }),
    };
  } catch (error) {
    if (error instanceof RangeError) return null; // the stack is at its end
    throw error;
  }
}

const derivedKeys =
  /^(analysis|segmentation|inference|metrics|diary)\/|^stats\/(server|pipeline|dashboard)_|^common-trips$/;

/** True for what the server wrote itself. */
export function isDerived(metadata: EmissionDocument | undefined): boolean {
  if (typeof metadata !== 'object' || metadata === null) return false;
  return metadata.type === 'document' || (typeof metadata.key === 'string' && derivedKeys.test(metadata.key));
}
