// Converts pushed entries to check them, and stored entries for readers.
import { dataTime, type Entry, type Metadata } from '../../model/entry.ts';
import { type JsonObject, kindOf } from '../../model/json.ts';
import { keyRow } from '../../model/keys.ts';
import { formatTime, isTimeZone, localDateTime } from '../../model/time.ts';
import { ConversionError, shortText } from './checks.ts';
import { type Conversion, type Converter, copyWithout } from './conversion.ts';
import { converterFor, type LocalTimes, localTimesOf, platforms } from './registry.ts';

export { ConversionError, type ConversionReason, conversionReasons } from './checks.ts';

/**
 * Converts an entry: its payload becomes the same for all platforms, without local times. An entry
 * under an unknown key is returned unchanged, since studies and newer apps have their own keys.
 * Never changes its input but may share parts with it. Throws a `ConversionError`.
 */
export function convert(entry: Entry): Entry {
  const found = conversionOf(entry);
  return found === null ? entry : { metadata: entry.metadata, data: found.data() };
}

/** The `dataTime` of `convert(entry)`, without making the converted entry. */
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

/** Converts a stored entry, if this is possible. `wanted`: the needed fields of the payload. */
export function interpretEntry(entry: Entry, wanted?: readonly string[]): Entry {
  try {
    const asPushed = wanted && converterOf(entry)?.asPushed?.(entry);
    return asPushed && wanted.every((name) => asPushed.has(name)) ? entry : convert(entry);
  } catch {
    return entry;
  }
}

/**
 * Converts a stored entry for readers, and adds local times if the entry names a known zone.
 * Returns an entry under an unknown key unchanged. Never throws.
 */
export function present(entry: Entry): Entry {
  const { key } = entry.metadata;
  return keyRow(key) === null ? entry : withLocalTimes(interpretEntry(entry), localTimesOf(key));
}

type LocalFields = readonly [time: string, localName: string, textName: string];

const metadataTime: LocalFields = ['write_ts', 'write_local_dt', 'write_fmt_time'];
const payloadTimes: Readonly<Record<LocalTimes, readonly LocalFields[]>> = {
  one: [['ts', 'local_dt', 'fmt_time']],
  range: [
    ['start_ts', 'start_local_dt', 'start_fmt_time'],
    ['end_ts', 'end_local_dt', 'end_fmt_time'],
  ],
  none: [],
};

/**
 * Adds local times in the zone that the entry names: `write_local_dt` and `write_fmt_time` in the
 * metadata, and fields for `times` in the payload. Without a known zone it adds none: the best
 * guess depends on entries that may arrive later.
 */
function withLocalTimes({ metadata, data }: Entry, times: LocalTimes): Entry {
  const zone = metadata.time_zone;
  const fields = payloadTimes[times];
  const stored = copyWithout(metadata as JsonObject, metadataTime.slice(1));
  setLocalTimes(stored, zone, [metadataTime]);
  if (fields.length === 0) return { metadata: stored as Metadata, data };
  const removed = fields.flatMap(([, local, text]) => [local, text]);
  const payload = copyWithout(data, removed);
  setLocalTimes(payload, zone, fields);
  return { metadata: stored as Metadata, data: payload };
}

function setLocalTimes(target: JsonObject, zone: string | undefined, fields: readonly LocalFields[]): void {
  if (!isTimeZone(zone)) return;
  for (const [time, localName, textName] of fields) {
    const ts = target[time];
    if (typeof ts !== 'number') continue;
    try {
      const local = localDateTime(ts, zone);
      target[textName] = formatTime(ts, zone);
      target[localName] = local;
    } catch {
      // Only times that an earlier version accepted have no local time, see `checkLocalTime`.
    }
  }
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
  const expected = `a known key of platform ${platforms.join(' or ')}`;
  return new ConversionError('no_converter', `expected ${expected}, found key ${shortText(key)} and ${found}${hint}`);
}
