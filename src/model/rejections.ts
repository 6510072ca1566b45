import type { Identity } from './entry.ts';
import { idOf } from './ids.ts';
import { asObject, type JsonValue } from './json.ts';
import { jsonText } from './json-text.ts';

/** The reason for an unexpected error in a converter, which is a fault of the program. */
export const faultReason = 'conversion_failed';

export function errorIdOf(identity: Identity): string {
  return idOf('entry', identity.key, identity.write_ts);
}

export const unusableIdOf = (entry: JsonValue): string => idOf('unusable', jsonText(entry));

const longestKey = 1000; // characters. Keys of entries are shorter, but an unusable entry may have any key

export function unusableKeyOf(entry: JsonValue): string | null {
  const { key } = asObject(asObject(entry).metadata);
  return typeof key === 'string' ? key.slice(0, longestKey) : null;
}
