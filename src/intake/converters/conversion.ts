import { dataTime, type Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { checkLocalTime, checkText, timeOf } from './checks.ts';

/**
 * Checks a pushed entry and returns its payload, in one form for all platforms and without local
 * times. Never changes its input. Throws a `ConversionError`.
 */
export interface Converter {
  (entry: Entry): Conversion;
  /** Names fields that the converter does not change. Readers of only these skip it. null: unknown. */
  asPushed?: (entry: Entry) => ReadonlySet<string> | null;
}

export interface Conversion {
  ts: number | null; // the `dataTime` of the converted payload
  /** Makes the payload, which may share parts with the entry. A move does not need the payload. */
  data(): JsonObject;
}

export function unchanged(entry: Entry): Conversion {
  return converted(entry, () => entry.data);
}

/** Converts statistics, which are the same on both platforms. Some have only a `write_ts`. */
export function convertStats(entry: Entry): Conversion {
  const { name, ts } = entry.data;
  checkText(name, 'data.name');
  if (ts !== undefined && ts !== null) timeOf(ts, 'data.ts');
  return unchanged(entry);
}

/** `data` makes the payload. The data time stays as pushed. */
export function converted(entry: Entry, data: () => JsonObject): Conversion {
  checkWriteTime(entry);
  return { ts: dataTime(entry.data), data };
}

/** Drops local times of the phone. `withLocalTimes` adds them again. */
export function withTime(
  entry: Entry,
  ts: number,
  added: JsonObject = {},
  removed: readonly string[] = [],
): Conversion {
  checkLocalTime(entry, ts, 'data.ts');
  checkWriteTime(entry);
  return { ts, data: () => Object.assign(copyWithout(entry.data, [...localTexts, ...removed]), added, { ts }) };
}

const localTexts: readonly string[] = ['local_dt', 'fmt_time'];

function checkWriteTime(entry: Entry): void {
  checkLocalTime(entry, timeOf(entry.metadata.write_ts, 'metadata.write_ts'), 'metadata.write_ts');
}

/** A loop is several times faster than rest and spread for a dozen fields. */
export function copyWithout(fields: JsonObject, removed: readonly string[]): JsonObject {
  const copy: JsonObject = {};
  for (const name of Object.keys(fields)) {
    if (removed.includes(name)) continue;
    if (name === '__proto__') Object.defineProperty(copy, name, { ...plainField, value: fields[name] });
    else copy[name] = fields[name];
  }
  return copy;
}

const plainField = { enumerable: true, configurable: true, writable: true };

/** True if the entry was converted before: it has local times, which no phone sends. */
export function isConverted({ metadata, data }: Entry): boolean {
  return [metadata.write_fmt_time, metadata.write_local_dt, data.local_dt].some((field) => field != null);
}
