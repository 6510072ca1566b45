// What converters share: their errors, and checks of fields.
import { dataTime, type Entry } from '../../model/entry.ts';
import { type JsonObject, type JsonValue, kindOf } from '../../model/json.ts';
import { MobilityError } from '../../model/mobility-error.ts';
import { isTimeZone, localDateTime, maxTime, minTime } from '../../model/time.ts';

/**
 * Reasons why an entry cannot be converted: code and explanation. Codes never change, since operators and recovery
 * select entries by them.
 */
export const conversionReasons = {
  no_converter: 'The key is known, but no phone of that platform pushes it.',
  missing_field: 'A required field is missing.',
  wrong_type: 'A field has another type than expected.',
  out_of_range: 'A number is outside of its allowed range, or a text is too long.',
  unknown_value: 'A code or name is unknown.',
  conflicting_flags: 'The phone reports two ways of moving at once.',
  bad_time: 'A time lies outside the years 1 to 9999.',
} as const;

/** Why an entry is rejected: a key of `conversionReasons`, stored as `reason` in the error timeseries. */
export type ConversionReason = keyof typeof conversionReasons;

/**
 * Thrown for an entry that cannot be converted. The message names the field, what was expected and what was found; it
 * never contains a coordinate. The code is `MOBILITY_NO_CONVERTER` for the reason `no_converter`, otherwise
 * `MOBILITY_CONVERSION`.
 */
export class ConversionError extends MobilityError {
  readonly reason: ConversionReason;

  constructor(reason: ConversionReason, message: string, options?: { cause?: unknown }) {
    super(reason === 'no_converter' ? 'MOBILITY_NO_CONVERTER' : 'MOBILITY_CONVERSION', message, options);
    this.name = 'ConversionError';
    this.reason = reason;
  }
}

/**
 * Checks a pushed entry and returns its payload, the same for all platforms, without local times. Pure; never changes
 * its input. Throws a `ConversionError`.
 */
export interface Converter {
  (entry: Entry): Conversion;
  /**
   * Fields of the payload that conversion does not change, also if the converter rejects the entry. A reader that needs
   * only these fields need not convert the entry. null: unknown.
   */
  asPushed?: (entry: Entry) => ReadonlySet<string> | null;
}

export interface Conversion {
  ts: number | null; // the `dataTime` of the converted payload
  /** Makes the payload, which may share parts with the entry. A function, because most entries are stored, not read. */
  data(): JsonObject;
}

/** Returns the payload as pushed, for keys such as configurations and consent. Checks `metadata.write_ts`. */
export function unchanged(entry: Entry): Conversion {
  return converted(entry, () => entry.data);
}

/** Checks a statistic of the app, which is the same on both platforms. Without `ts`, only `write_ts` counts. */
export function convertStats(entry: Entry): Conversion {
  const { name, ts } = entry.data;
  checkText(name, 'data.name');
  if (ts !== undefined && ts !== null) timeOf(ts, 'data.ts');
  return unchanged(entry);
}

/** Returns the payload that `data` makes, with the data time of the pushed payload. Checks `metadata.write_ts`. */
export function converted(entry: Entry, data: () => JsonObject): Conversion {
  checkWriteTime(entry);
  return { ts: dataTime(entry.data), data };
}

/**
 * Returns a copy of the payload without the fields in `removed`, with `ts` and the fields of `added`. Checks `ts` and
 * `metadata.write_ts`. Drops local times of the phone, which `withLocalTimes` adds again.
 */
export function withTime(
  entry: Entry,
  ts: number,
  added: JsonObject = {},
  removed: readonly string[] = [],
): Conversion {
  checkLocalTime(entry, ts, 'data.ts');
  checkWriteTime(entry);
  return { ts, data: () => Object.assign(copyWithout(entry.data, localTexts, removed), added, { ts }) };
}

const localTexts: readonly string[] = ['local_dt', 'fmt_time'];

function checkWriteTime(entry: Entry): void {
  checkLocalTime(entry, timeOf(entry.metadata.write_ts, 'metadata.write_ts'), 'metadata.write_ts');
}

/** s. No zone differs more from UTC. */
const mostOffset = 86_400;

/** Throws if a time has no date in the entry's own zone: the zone moves it out of the years 1 to 9999. */
export function checkLocalTime({ metadata }: Entry, ts: number, field: string): void {
  if (ts > minTime + mostOffset && ts < maxTime - mostOffset) return;
  const zone = metadata.time_zone;
  if (!isTimeZone(zone)) return;
  try {
    localDateTime(ts, zone);
  } catch (cause) {
    const message = `${field}: expected a time in the years 1 to 9999 in ${zone}, found ${ts}`;
    throw new ConversionError('bad_time', message, { cause });
  }
}

/** A copy without some fields. A loop is several times faster than rest and spread for a dozen fields. */
export function copyWithout(
  fields: JsonObject,
  removed: readonly string[],
  alsoRemoved: readonly string[] = [],
): JsonObject {
  const copy: JsonObject = {};
  for (const name of Object.keys(fields)) {
    if (removed.includes(name) || alsoRemoved.includes(name)) continue;
    if (name === '__proto__') Object.defineProperty(copy, name, { ...plainField, value: fields[name] });
    else copy[name] = fields[name];
  }
  return copy;
}

const plainField = { enumerable: true, configurable: true, writable: true };

/** A required time: seconds since the epoch, in the years 1 to 9999. */
export function timeOf(value: JsonValue | undefined, field: string): number {
  if (typeof value === 'number' && value >= minTime && value < maxTime + 1) return value;
  const ts = typed(value, 'number', field, 'seconds since the epoch');
  throw new ConversionError('bad_time', `${field}: expected seconds of the years 1 to 9999, found ${ts}`);
}

/** Bounds of a number, both included. A missing bound is open. */
interface NumberBounds {
  min?: number;
  max?: number;
}

const unbounded: NumberBounds = {}; // shared, because it is used for fields of every entry

export function numberOf(value: JsonValue | undefined, field: string, bounds = unbounded): number {
  const { min = -Infinity, max = Infinity } = bounds;
  if (typeof value === 'number' && Number.isFinite(value) && value >= min && value <= max) return value;
  const expected = `a number${boundsText(bounds)}`;
  typed(value, 'number', field, expected);
  throw new ConversionError('out_of_range', `${field}: expected ${expected}, found another number`);
}

function boundsText({ min, max }: NumberBounds): string {
  if (min === undefined) return max === undefined ? '' : ` of at most ${max}`;
  return max === undefined ? ` of at least ${min}` : ` from ${min} to ${max}`;
}

/** Checks a number. It may be missing or null, which means unknown. */
export function checkNumber(value: JsonValue | undefined, field: string, bounds?: NumberBounds): void {
  if (value !== undefined && value !== null) numberOf(value, field, bounds);
}

/** Checks a text of at most `most` characters that may be missing or null. */
export function checkText(value: JsonValue | undefined, field: string, most = Number.POSITIVE_INFINITY): void {
  if (value !== undefined && value !== null) checkLength(typed(value, 'string', field, 'a text'), field, most);
}

/** The maximum number of characters of JSON in a user input or correction. No app writes a tenth of it. */
const longestStatement = 64 * 1024;

/** Throws if a user input or correction is too large, since readers hold many of them in memory. */
export const checkStatement = ({ data }: Entry): void =>
  checkLength(JSON.stringify(data), 'data as JSON', longestStatement);

export function checkLength({ length }: string, field: string, most: number): void {
  if (length <= most) return;
  throw new ConversionError('out_of_range', `${field}: expected at most ${most} characters, found ${length}`);
}

/** The code for a name or number of the phone. All names in `codes` have the same type. */
export function codeOf(
  codes: ReadonlyMap<string | number, number>,
  value: JsonValue | undefined,
  field: string,
): number {
  const code = codes.get(value as string | number);
  if (code !== undefined) return code;
  const type = typeof codes.keys().next().value === 'number' ? 'number' : 'string';
  const raw = typed(value, type, field, type === 'number' ? 'a known number' : 'a known name');
  const known = [...codes.keys()].join(', ');
  throw new ConversionError('unknown_value', `${field}: expected one of ${known}, found ${shortText(raw)}`);
}

/**
 * The code for a name of the phone. Also accepts a code of `known`, since scripts push converted entries again, in
 * which the name is a code already.
 */
export function nameOrCode(
  codes: ReadonlyMap<string, number>,
  value: JsonValue | undefined,
  field: string,
  known: Iterable<number> = codes.values(),
): number {
  if (typeof value !== 'number') return codeOf(codes, value, field);
  const numbers = [...new Set(known)].sort((a, b) => a - b);
  if (numbers.includes(value)) return value;
  const expected = `a known name or one of ${numbers.join(', ')}`;
  throw new ConversionError('unknown_value', `${field}: expected ${expected}, found ${value}`);
}

/**
 * True if the entry was converted before and pushed again: a converted entry has local times, which no phone sends.
 * Call it only if the value itself is ambiguous, such as the code of a battery's status.
 */
export function isConverted({ metadata, data }: Entry): boolean {
  return [metadata.write_fmt_time, metadata.write_local_dt, data.local_dt].some((field) => field != null);
}

type Types = { number: number; string: string; boolean: boolean };

/** Returns a value of the required type. Throws if it is missing or has another type. */
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

export function shortText(raw: string | number): string {
  return JSON.stringify(typeof raw === 'string' && raw.length > 60 ? `${raw.slice(0, 60)}…` : raw);
}
