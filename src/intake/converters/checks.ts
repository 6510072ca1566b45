// Checks of the fields of entries, and the errors that they throw.
import type { Entry } from '../../model/entry.ts';
import { type JsonValue, kindOf } from '../../model/json.ts';
import { MobilityError } from '../../model/mobility-error.ts';
import { isTimeZone, localDateTime, maxTime, minTime } from '../../model/time.ts';

/** Reasons of errors. Codes never change: operators and recovery select entries by them. */
export const conversionReasons = {
  no_converter: 'The key is known, but no phone of that platform pushes it.',
  missing_field: 'A required field is missing.',
  wrong_type: 'A field has another type than expected.',
  out_of_range: 'A number is outside of its allowed range, or a text is too long.',
  unknown_value: 'A code or name is unknown.',
  conflicting_flags: 'The phone reports two ways of moving at once.',
  bad_time: 'A time lies outside the years 1 to 9999.',
} as const;

/** Why a converter rejects an entry: its `reason` in the error timeseries. */
export type ConversionReason = keyof typeof conversionReasons;

/**
 * Thrown for an entry that cannot be converted. The message names the field, what was expected and
 * found, and no coordinate. Its code: `MOBILITY_NO_CONVERTER` or `MOBILITY_CONVERSION`.
 */
export class ConversionError extends MobilityError {
  readonly reason: ConversionReason;

  constructor(reason: ConversionReason, message: string, options?: { cause?: unknown }) {
    super(reason === 'no_converter' ? 'MOBILITY_NO_CONVERTER' : 'MOBILITY_CONVERSION', message, options);
    this.name = 'ConversionError';
    this.reason = reason;
  }
}

/** s; no time zone differs from UTC by more. */
const mostOffset = 86_400;

/** Throws if the zone of the entry moves the time out of the years 1 to 9999. */
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

/** Reads seconds since the epoch. Throws for a time outside of the years 1 to 9999. */
export function timeOf(value: JsonValue | undefined, field: string): number {
  if (typeof value === 'number' && value >= minTime && value < maxTime + 1) return value;
  const ts = typed(value, 'number', field, 'seconds since the epoch');
  throw new ConversionError('bad_time', `${field}: expected seconds of the years 1 to 9999, found ${ts}`);
}

/** Both bounds are included. */
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

export function checkNumber(value: JsonValue | undefined, field: string, bounds?: NumberBounds): void {
  if (value !== undefined && value !== null) numberOf(value, field, bounds);
}

/** `most`: characters. The text may be missing or null. */
export function checkText(value: JsonValue | undefined, field: string, most = Number.POSITIVE_INFINITY): void {
  if (value !== undefined && value !== null) checkLength(typed(value, 'string', field, 'a text'), field, most);
}

/** Characters of JSON in a user input or a correction. Apps write less than a tenth. */
const longestStatement = 64 * 1024;

export const checkStatement = ({ data }: Entry): void =>
  checkLength(JSON.stringify(data), 'data as JSON', longestStatement);

export function checkLength({ length }: string, field: string, most: number): void {
  if (length <= most) return;
  throw new ConversionError('out_of_range', `${field}: expected at most ${most} characters, found ${length}`);
}

/** Looks up the code of a name. All names in `codes` have the same type. */
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

/** Also accepts a code of `known`: scripts push converted entries, which have codes. */
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

type Types = { number: number; string: string; boolean: boolean };

export function typed<Type extends keyof Types>(
  value: JsonValue | undefined,
  type: Type,
  field: string,
  expected: string,
): Types[Type] {
  if (typeof value === type) return value as Types[Type];
  const reason = value === undefined ? 'missing_field' : 'wrong_type';
  throw new ConversionError(reason, `${field}: expected ${expected}, found ${kindOf(value)}`);
}

export function shortText(raw: string | number): string {
  return JSON.stringify(typeof raw === 'string' && raw.length > 60 ? `${raw.slice(0, 60)}…` : raw);
}
