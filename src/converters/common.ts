// Local times and field checks that converters share.
import type { Entry, Metadata } from '../model/entry.ts';
import { type JsonObject, type JsonValue, kindOf } from '../model/json.ts';
import { formatTime, isTimeZone, localDateTime, maxTime, minTime } from '../model/time.ts';
import { ConversionError } from './conversion-error.ts';

/**
 * From an entry as pushed to the entry as the timeseries keeps it. Pure; never changes its input but may share parts with it.
 * Throws a `ConversionError`.
 */
export type Converter = (entry: Entry) => Entry;

// A zone is never guessed here: which one an entry without a zone has hangs on entries that may come later.
function zoneOf({ metadata }: Entry): string | null {
  return isTimeZone(metadata.time_zone) ? metadata.time_zone : null;
}

/**
 * The converted entry: `data`, and the whole metadata of `entry` with `write_local_dt` and `write_fmt_time` in its own zone.
 * Without a zone it has neither.
 */
export function converted(entry: Entry, data: JsonObject): Entry {
  const { write_local_dt: _local, write_fmt_time: _text, ...metadata } = entry.metadata;
  const writeTs = timeOf(metadata.write_ts, 'metadata.write_ts');
  return { metadata: { ...metadata, ...localTimes(entry, writeTs, 'metadata.write_ts', 'write_') } as Metadata, data };
}

/** `data` with `ts`, and with `local_dt` and `fmt_time` for it in the zone of the entry; without a zone it has neither. */
export function withTime(entry: Entry, data: JsonObject, ts: number): JsonObject {
  const { local_dt: _local, fmt_time: _text, ...rest } = data;
  return { ...rest, ts, ...localTimes(entry, ts, 'data.ts', '') };
}

/** The fields `<prefix>local_dt` and `<prefix>fmt_time` in the zone of the entry; without a zone none. */
export function localTimes(entry: Entry, ts: number, field: string, prefix: string): JsonObject {
  const zone = zoneOf(entry);
  if (zone === null) return {};
  try {
    return { [`${prefix}local_dt`]: localDateTime(ts, zone), [`${prefix}fmt_time`]: formatTime(ts, zone) };
  } catch (cause) {
    const message = `${field}: expected a time in the years 1 to 9999 in ${zone}, found ${ts}`;
    throw new ConversionError('bad_time', message, { cause });
  }
}

/** A time that must be there: seconds since the epoch, in the years 1 to 9999. */
export function timeOf(value: JsonValue | undefined, field: string): number {
  const ts = typed(value, 'number', field, 'seconds since the epoch');
  if (ts >= minTime && ts < maxTime + 1) return ts;
  throw new ConversionError('bad_time', `${field}: expected seconds of the years 1 to 9999, found ${ts}`);
}

/** Bounds of a number, both included; a missing one is open. */
export interface Bounds {
  min?: number;
  max?: number;
}

/** A number that must be there. */
export function numberOf(value: JsonValue | undefined, field: string, bounds: Bounds = {}): number {
  const expected = `a number${boundsText(bounds)}`;
  const number = typed(value, 'number', field, expected);
  if (Number.isFinite(number) && number >= (bounds.min ?? -Infinity) && number <= (bounds.max ?? Infinity))
    return number;
  throw new ConversionError('out_of_range', `${field}: expected ${expected}, found one outside`);
}

function boundsText({ min, max }: Bounds): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  return min === undefined ? '' : ` of at least ${min}`;
}

/** Checks a number that may be missing or null, then unknown. */
export function checkNumber(value: JsonValue | undefined, field: string, bounds?: Bounds): void {
  if (value !== undefined && value !== null) numberOf(value, field, bounds);
}

/** Checks a text that may be missing or null. */
export function checkText(value: JsonValue | undefined, field: string): void {
  if (value !== undefined && value !== null) typed(value, 'string', field, 'a text');
}

/** The code that a name or number of the phone stands for. The names of `codes` are of one type. */
export function codeOf(
  codes: ReadonlyMap<string | number, number>,
  value: JsonValue | undefined,
  field: string,
): number {
  const type = typeof codes.keys().next().value === 'number' ? 'number' : 'string';
  const raw = typed(value, type, field, type === 'number' ? 'a known number' : 'a known name');
  const code = codes.get(raw);
  if (code !== undefined) return code;
  throw new ConversionError(
    'unknown_value',
    `${field}: expected one of ${[...codes.keys()].join(', ')}, found ${shortText(raw)}`,
  );
}

interface Types {
  number: number;
  string: string;
  boolean: boolean;
}

/** A value that must be there, of one type. */
export function typed<Type extends keyof Types>(
  value: JsonValue | undefined,
  type: Type,
  field: string,
  expected: string,
): Types[Type] {
  if (typeof value === type) return value as Types[Type];
  throw new ConversionError(
    value === undefined ? 'missing_field' : 'wrong_type',
    `${field}: expected ${expected}, found ${kindOf(value)}`,
  );
}

/** A code or name as found, fit for a message. */
export function shortText(raw: string | number): string {
  return JSON.stringify(typeof raw === 'string' && raw.length > 60 ? `${raw.slice(0, 60)}…` : raw);
}
