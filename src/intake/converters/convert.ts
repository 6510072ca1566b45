// Looks up the converter of an entry. Pushed entries are checked with it, and stored entries are converted for readers.
import { dataTime, type Entry } from '../../model/entry.ts';
import { kindOf } from '../../model/json.ts';
import { keyRow } from '../../model/keys.ts';
import { type Conversion, type Converter, shortText, withLocalTimes } from './common.ts';
import { ConversionError } from './conversion-error.ts';
import { converterFor, localTimesOf, platforms } from './registry.ts';

export { ConversionError, type ConversionReason, conversionReasons } from './conversion-error.ts';

/**
 * The converted entry: metadata as pushed, payload the same for all platforms, without local times. An entry under an
 * unknown key is returned unchanged, since studies and newer apps have their own keys. Never changes its input but may
 * share parts with it. Throws a `ConversionError` if the entry must be rejected.
 */
export function convert(entry: Entry): Entry {
  const found = conversionOf(entry);
  return found === null ? entry : { metadata: entry.metadata, data: found.data() };
}

/** The `dataTime` of `convert(entry)`, without making the converted entry. Throws as `convert` does. */
export function convertedTime(entry: Entry): number | null {
  const found = conversionOf(entry);
  return found === null ? dataTime(entry.data) : found.ts;
}

function converterOf({ metadata: { platform, key } }: Entry): Converter | null {
  return typeof platform === 'string' ? converterFor(platform, key) : null;
}

function conversionOf(entry: Entry): Conversion | null {
  const converter = converterOf(entry);
  if (converter !== null) return converter(entry);
  if (keyRow(entry.metadata.key) === null) return null;
  throw noConverter(entry);
}

/**
 * Converts a stored entry for a reader. If its converter rejects it, for example because an earlier version of the
 * converter accepted it, returns the entry as stored. `wanted`: the fields of the payload that the reader needs; other
 * fields may stay as pushed.
 */
export function interpretEntry(entry: Entry, wanted?: readonly string[]): Entry {
  try {
    const asPushed = wanted && converterOf(entry)?.asPushed?.(entry);
    return asPushed && wanted.every((name) => asPushed.has(name)) ? entry : convert(entry);
  } catch {
    return entry;
  }
}

/**
 * The entry for readers: converted, with local times if it names a known zone. An entry under an unknown key is
 * returned unchanged. Never throws.
 */
export function present(entry: Entry): Entry {
  const { key } = entry.metadata;
  return keyRow(key) === null ? entry : withLocalTimes(interpretEntry(entry), localTimesOf(key));
}

const hints = {
  pushed: '',
  document: '; the server writes the document of this key, and no phone pushes it',
  derived: '; the server derives entries of this key from trips, and no phone pushes them',
} as const;

function noConverter({ metadata: { platform, key } }: Entry): ConversionError {
  const hint = hints[keyRow(key)!.kind];
  const given: unknown = platform;
  const found = typeof given === 'string' ? `platform ${shortText(given)}` : `as metadata.platform ${kindOf(given)}`;
  return new ConversionError(
    'no_converter',
    `expected a known key of platform ${platforms.join(' or ')}, found key ${shortText(key)} and ${found}${hint}`,
  );
}
