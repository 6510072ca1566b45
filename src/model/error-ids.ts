// Ids of rows in the error timeseries. They are the same in every store.
import type { Identity } from './entry.ts';
import { idOf } from './ids.ts';
import { isJsonObject, type JsonValue } from './json.ts';
import { jsonText } from './json-text.ts';

/** Id of the error of an entry that could not be converted. */
export function errorIdOf(identity: Identity): string {
  return idOf('entry', identity.key, identity.write_ts);
}

/** Id of an unusable entry, derived only from its content. */
export function unusableIdOf(entry: JsonValue): string {
  return idOf('unusable', jsonText(entry));
}

/** Characters. Keys of entries are shorter, but an unusable entry may have any text as its key. */
const longestKey = 1000;

/** The key of an unusable entry, or its beginning, for lists and counts; null if it has none. */
export function unusableKeyOf(entry: JsonValue): string | null {
  const metadata = isJsonObject(entry) ? entry.metadata : null;
  const key = isJsonObject(metadata) ? metadata.key : null;
  return typeof key === 'string' ? key.slice(0, longestKey) : null;
}
