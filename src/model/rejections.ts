// Rejected entries: their ids, which are the same in every store, and the reason of faults.
import type { Identity } from './entry.ts';
import { idOf } from './ids.ts';
import { asObject, type JsonValue } from './json.ts';
import { jsonText } from './json-text.ts';

/** The reason if a converter threw: a fault of the program. All other reasons are about the content. */
export const faultReason = 'conversion_failed';

/** Id of the error of an entry that could not be converted. */
export function errorIdOf(identity: Identity): string {
  return idOf('entry', identity.key, identity.write_ts);
}

/** Id of an unusable entry, derived only from its content. */
export const unusableIdOf = (entry: JsonValue): string => idOf('unusable', jsonText(entry));

const longestKey = 1000; // characters. Keys of entries are shorter, but an unusable entry may have any key

/** The key of an unusable entry, or its beginning, for lists and counts; null if it has none. */
export function unusableKeyOf(entry: JsonValue): string | null {
  const { key } = asObject(asObject(entry).metadata);
  return typeof key === 'string' ? key.slice(0, longestKey) : null;
}
