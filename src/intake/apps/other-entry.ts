// Entries of the platform `other`, from other apps, trackers and imports. Each entry depends only on its own message.
import { createHash } from 'node:crypto';
import type { Entry, Origin } from '../../model/entry.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import type { BatteryStatus, MotionType } from '../../model/payloads.ts';
import { firstMilliseconds } from '../../model/time.ts';
import type { UnusableEntry } from '../../store/store.ts';

/** Reasons why data of another app cannot become an entry: code and explanation. Codes never change. */
export const formatReasons = {
  format_not_an_object: 'The app sent something other than a JSON object.',
  format_unknown: 'The app sent a message of an unknown kind.',
  format_encrypted: 'The app encrypted the message with a key that this service does not have.',
  format_no_time: 'The message has no time.',
  format_bad_time:
    'The time of the message is before 2010 or after 5138: the app counts from another year, or its clock is wrong.',
} as const;

export type FormatReason = keyof typeof formatReasons;

/** The result for a message of another program. Each part becomes an entry, is unusable or is skipped. */
export interface Mapped {
  entries: Entry[];
  unusable: UnusableEntry[]; // each value exactly as it was sent, with the reason
  skipped: number; // the number of parts without information about travel, such as a friend's picture
}

export const newMapped = (parts: Partial<Mapped> = {}): Mapped => ({ entries: [], unusable: [], skipped: 0, ...parts });

/** A location of another program. Unknown values are left out. */
export interface OtherLocation {
  ts: number;
  /** Degrees WGS84. The converter rejects values that are not numbers. */
  latitude: JsonValue | undefined;
  longitude: JsonValue | undefined;
  altitude?: number | undefined; // m above sea level
  accuracy?: number | undefined; // m, radius that contains the true position with 68 % probability
  vaccuracy?: number | undefined; // m
  sensed_speed?: number | undefined; // m/s
  bearing?: number | undefined; // degrees clockwise from north
}

/** Seconds since the epoch. No phone or tracker recorded data for this service before 2010. */
const firstTime = Date.UTC(2010, 0) / 1000;

/** True for seconds since the epoch from 2010 on, unless the number is so large that it may be milliseconds. */
export const isPossibleTime = (ts: number): boolean => ts >= firstTime && ts < firstMilliseconds;

/**
 * The entry of a location of another program. `reported`: its other fields, which `data.reported` keeps. `sent`: the
 * time that `write_ts` is made of, for programs that send a location again. Default: its data time.
 */
export function locationEntry(
  location: OtherLocation,
  origin: Origin,
  reported: JsonObject = {},
  sent = location.ts,
): Entry {
  const data = withoutUndefined(location as unknown as JsonObject);
  const entry = otherEntry(keys.location, sent, data, origin);
  return Object.keys(reported).length === 0 ? entry : { ...entry, data: { ...entry.data, reported } };
}

/** The entry of a motion reading of another program. `confidence`: percent. */
export function motionEntry(ts: number, type: MotionType, origin: Origin, confidence?: number): Entry {
  return otherEntry(keys.motionActivity, ts, { ts, type, ...(confidence !== undefined && { confidence }) }, origin);
}

/** The entry of a battery reading of another program. `level`: percent, also with decimals. */
export function batteryEntry(ts: number, level: number, status: BatteryStatus, origin: Origin): Entry {
  return otherEntry(keys.battery, ts, { ts, battery_level_pct: Math.round(level), battery_status: status }, origin);
}

/**
 * An entry of the platform `other`. Entries of the same `ts` differ in identity if their `data` differ, see
 * `writeTsOf`.
 */
export function otherEntry(key: string, ts: number, data: JsonObject, origin: Origin): Entry {
  const write_ts = writeTsOf(ts, data);
  return { metadata: { key, write_ts, type: 'sensor-data', platform: 'other', origin: { ...origin } }, data };
}

/**
 * The `write_ts` of an entry: its time, plus a fraction within that second or millisecond that is derived from its
 * content. Many apps record whole seconds only. With the fraction, two locations of one second stay two entries, and a
 * repeated one keeps its identity, whichever message or file brings it.
 */
export function writeTsOf(ts: number, data: JsonObject): number {
  const micros = Math.round(ts * 1e6);
  const span = micros % 1e6 === 0 ? 1e6 : micros % 1000 === 0 ? 1000 : 0;
  if (span === 0 || !Number.isSafeInteger(micros)) return ts;
  const digest = createHash('sha256').update(canonicalText(data)).digest();
  return (micros + (digest.readUInt32BE() % span)) / 1e6;
}

/** JSON with sorted names, so that the order of the fields does not matter. */
function canonicalText(value: JsonValue): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isJsonObject(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : part,
  );
}

/** A value that cannot become an entry. `message` says what was expected and what was found. */
export function unusable(entry: JsonValue, reason: FormatReason, message: string): UnusableEntry {
  return { entry, reason, message };
}

/** Rejects a message whose time is missing (`ts` null) or impossible. `field`: the name of the time's field. */
export function badTime(entry: JsonValue, ts: number | null, field: string): UnusableEntry {
  const text = `expected ${field} of the years 2010 to 5138, in seconds, milliseconds or ISO 8601, found ${ts === null ? 'no time' : 'another time'}`;
  return unusable(entry, ts === null ? 'format_no_time' : 'format_bad_time', text);
}

const mostRejected = 1024 * 1024; // characters of JSON in a row

/**
 * Combines unusable elements of one body into few rows, since a body may have 200,000 elements of one byte. A row has a
 * list of elements with the same reason, or one element as it was sent. Of an element with more than `mostRejected`
 * characters, a row has the beginning of its text.
 */
export function rejectTogether(elements: readonly UnusableEntry[]): UnusableEntry[] {
  const rows: { first: UnusableEntry; entries: JsonValue[]; size: number }[] = [];
  const open = new Map<string, (typeof rows)[number]>();
  for (const element of elements) {
    const text = JSON.stringify(element.entry);
    const entry = text.length > mostRejected ? text.slice(0, mostRejected) : element.entry;
    const size = Math.min(text.length, mostRejected) + 1;
    let row = open.get(element.reason);
    if (row === undefined || row.size + size > mostRejected) {
      row = { first: element, entries: [], size: 0 };
      rows.push(row);
      open.set(element.reason, row);
    }
    row.entries.push(entry);
    row.size += size;
  }
  return rows.map(({ first, entries }) => {
    if (entries.length === 1) return { ...first, entry: entries[0]! };
    return { ...first, entry: entries, message: `${first.message}, in ${entries.length} elements` };
  });
}

/** Converts a battery level from 0 to 1 to percent. A level over 1 is percent already, as from Home Assistant. */
export const percentFrom = (level: number): number => (level <= 1 ? level * 100 : level);

/**
 * Reads a number, also from a text such as `"12.5"`, `"12,5"` or `"-4.5E-4"`. Returns undefined for other values and
 * for numbers below `min`. Callers pass `min` = 0 for fields in which a negative number means "unknown".
 */
export function numberFrom(sent: JsonValue | undefined, min = Number.NEGATIVE_INFINITY): number | undefined {
  const value =
    typeof sent === 'string' && /^\s*[-+]?\d+([.,]\d+)?(e[-+]?\d+)?\s*$/i.test(sent)
      ? Number(sent.replace(',', '.'))
      : sent;
  return typeof value === 'number' && Number.isFinite(value) && value >= min ? value : undefined;
}

/**
 * Converts a time to seconds since the epoch: seconds or milliseconds, as number or text, or ISO 8601. ISO 8601 without
 * an offset (`Z`, `+0100` or `+01:00`) is read as UTC. null: any other value.
 */
export function timeFrom(value: JsonValue | undefined): number | null {
  const number = numberFrom(value);
  if (number !== undefined) return number >= firstMilliseconds ? number / 1000 : number;
  if (typeof value !== 'string') return null;
  const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d(?:\.\d{1,9})?)(?:Z|([+-]\d\d):?(\d\d))?$/i.exec(value.trim());
  if (parts === null) return null;
  const [, day, time, hours, minutes] = parts;
  const ms = Date.parse(`${day}T${time}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`);
  return Number.isFinite(ms) ? ms / 1000 : null;
}

/**
 * The fields of `message` that `names` lists and that have a value. Other fields may name networks, people or tokens.
 */
export function pickFields(message: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(message).filter(([name, value]) => names.has(name) && !isEmpty(value)));
}

/** The fields of `message` except `names`, which are stored elsewhere or not needed. */
export function omitFields(message: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(message).filter(([name, value]) => !names.has(name) && !isEmpty(value)));
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '') return true;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function withoutUndefined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** A name from a message for use in a key; null if it has other characters than letters, digits, `_` and `-`. */
export function keyPart(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && /^[\w-]{1,40}$/.test(value) ? value : null;
}
