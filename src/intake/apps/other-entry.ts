// Makes entries of other apps, trackers and imports. Each depends only on its own message.
import { createHash } from 'node:crypto';
import type { Entry, Origin } from '../../model/entry.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import type { BatteryStatus, MotionType } from '../../model/payloads.ts';
import type { UnusableEntry } from '../../store/store.ts';

/** Reasons why data of another app cannot become an entry. Codes never change. */
export const formatReasons = {
  format_not_an_object: 'The app sent something other than a JSON object.',
  format_unknown: 'The app sent a message of an unknown kind.',
  format_encrypted: 'The app encrypted the message with a key that this service does not have.',
  format_no_time: 'The message has no time.',
  format_bad_time:
    'The time of the message is before 2010 or after 5138: the app counts from another year, or its clock is wrong.',
} as const;

export type FormatReason = keyof typeof formatReasons;

export interface Mapped {
  entries: Entry[];
  unusable: UnusableEntry[]; // each value exactly as it was sent, with the reason
  skipped: number; // the number of parts without information about travel, such as a friend's picture
}

export const newMapped = (parts: Partial<Mapped> = {}): Mapped => ({ entries: [], unusable: [], skipped: 0, ...parts });

/** Unknown values are left out. */
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

/**
 * `reported`: fields of the app that `data.reported` keeps. `sent`: the time that `write_ts` is
 * made of, for programs that send a location again. Default: the data time.
 */
export function locationEntry(
  location: OtherLocation,
  origin: Origin,
  reported: JsonObject = {},
  sent = location.ts,
): Entry {
  const data = Object.fromEntries(Object.entries(location).filter(([, value]) => value !== undefined));
  const entry = otherEntry(keys.location, sent, data, origin);
  return Object.keys(reported).length === 0 ? entry : { ...entry, data: { ...entry.data, reported } };
}

export function motionEntry(ts: number, type: MotionType, origin: Origin, confidence?: number): Entry {
  return otherEntry(keys.motionActivity, ts, { ts, type, ...(confidence !== undefined && { confidence }) }, origin);
}

export function batteryEntry(ts: number, level: number, status: BatteryStatus, origin: Origin): Entry {
  return otherEntry(keys.battery, ts, { ts, battery_level_pct: Math.round(level), battery_status: status }, origin);
}

/** Entries with equal `ts` and different `data` have different identities, see `writeTsOf`. */
export function otherEntry(key: string, ts: number, data: JsonObject, origin: Origin): Entry {
  const write_ts = writeTsOf(ts, data);
  return { metadata: { key, write_ts, type: 'sensor-data', platform: 'other', origin: { ...origin } }, data };
}

/**
 * Returns the time plus a fraction of its second or millisecond that is derived from the content.
 * Many apps record whole seconds. With the fraction, two locations of one second stay two entries,
 * and a repeated location keeps its identity, whichever message or file brings it.
 */
export function writeTsOf(ts: number, data: JsonObject): number {
  const micros = Math.round(ts * 1e6);
  const span = micros % 1e6 === 0 ? 1e6 : micros % 1000 === 0 ? 1000 : 0;
  if (span === 0 || !Number.isSafeInteger(micros)) return ts;
  const digest = createHash('sha256').update(canonicalText(data)).digest();
  return (micros + (digest.readUInt32BE() % span)) / 1e6;
}

function canonicalText(value: JsonValue): string {
  return JSON.stringify(value, (_, part: unknown) =>
    isJsonObject(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : part,
  );
}

export function unusable(entry: JsonValue, reason: FormatReason, message: string): UnusableEntry {
  return { entry, reason, message };
}

/** `ts`: null if the time is missing. `field`: where the message has its time. */
export function badTime(entry: JsonValue, ts: number | null, field: string): UnusableEntry {
  const text = `expected ${field} of the years 2010 to 5138, in seconds, milliseconds or ISO 8601, found ${ts === null ? 'no time' : 'another time'}`;
  return unusable(entry, ts === null ? 'format_no_time' : 'format_bad_time', text);
}

const mostRejected = 1024 * 1024; // the most characters of JSON that one stored row contains

/**
 * Combines unusable elements of one body into few rows, since a body may have 200,000 elements of
 * one byte. A row has elements with the same reason. An element with more than `mostRejected`
 * characters is cut: its row has the beginning of its text.
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
