// Only this file calculates with calendars and time zones.
import dayjs from 'dayjs';
import utc from 'dayjs/plugin/utc.js';
import type { Entry } from './entry.ts';

dayjs.extend(utc);

/** Calendar fields of a local time, as clients read them. */
export type LocalDateTime = ReturnType<typeof localDateTime>;

/** Half-open range of time, `[from, to)`, seconds since the epoch. */
export interface TimeRange {
  from: number;
  to: number;
}

/** Local days, `YYYY-MM-DD`, both included. */
export type DayRange = { from: string; to: string };

export const allTime: TimeRange = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };

/** The years 1 to 9999 in UTC: other times cannot be written as dates. */
export const minTime = -62_135_596_800;
export const maxTime = 253_402_300_799;
/** A time of a device is in ms if it is this large. In s, it would be a day in 5138 or later. */
export const firstMilliseconds = 1e11;

const secondsOfDay = 86_400;
export const day = secondsOfDay;

/** s; a time further ahead is wrong. Clocks of phones are often wrong by minutes or hours. */
export const believedAhead = day;

// ---------------------------------------------------------------- zones

const bucketSeconds = 900; // an offset is cached for a quarter of an hour: zones change it nearly always on the quarter
const maxCachedOffsets = 20_000;
const maxCachedZones = 700; // there are about 600

interface Zone {
  formatter: Intl.DateTimeFormat;
  /** The offset by quarter of an hour; null: it changes within the quarter. */
  offsets: Map<number, number | null>;
}

const zones = new Map<string, Zone | null>(); // null: no zone has this name
let cachedOffsets = 0;

function findZone(name: string): Zone | null {
  if (name.length > 64) return null;
  let zone = zones.get(name);
  if (zone === undefined) {
    if (zones.size >= maxCachedZones) zones.clear(); // because phones may send any names
    zone = makeZone(name);
    zones.set(name, zone);
  }
  return zone;
}

function makeZone(name: string): Zone | null {
  if (!/^[A-Za-z][\w+\-/]*$/.test(name)) return null;
  try {
    const formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    return { formatter, offsets: new Map() };
  } catch {
    return null;
  }
}

/** True for a time zone name that this runtime supports, such as `Europe/Berlin` or `Etc/GMT+7`. */
export function isTimeZone(zone: unknown): zone is string {
  return typeof zone === 'string' && findZone(zone) !== null;
}

export function zoneNamed({ metadata }: Entry): string | null {
  return isTimeZone(metadata.time_zone) ? metadata.time_zone : null;
}

/** Seconds by which a zone is ahead of UTC. Throws `RangeError` for an unknown zone or an invalid time. */
export function zoneOffset(zone: string, ts: number): number {
  if (zone === 'UTC') return 0;
  const found = findZone(zone);
  if (found === null) throw new RangeError(`expected an IANA time zone, found ${JSON.stringify(zone)}`);
  const second = Math.floor(ts);
  const bucket = Math.floor(second / bucketSeconds);
  let offset = found.offsets.get(bucket);
  if (offset === undefined) {
    offset = bucketOffset(found, bucket);
    if (cachedOffsets >= maxCachedOffsets) {
      for (const each of zones.values()) each?.offsets.clear();
      cachedOffsets = 0;
    }
    found.offsets.set(bucket, offset);
    cachedOffsets += 1;
  }
  return offset ?? exactOffset(found, second);
}

/** null: the offset changes within the bucket, such as at 00:01. */
function bucketOffset(zone: Zone, bucket: number): number | null {
  const first = exactOffset(zone, bucket * bucketSeconds);
  return first === exactOffset(zone, bucket * bucketSeconds + bucketSeconds - 1) ? first : null;
}

function exactOffset({ formatter }: Zone, second: number): number {
  const fields: Record<string, string> = {};
  for (const { type, value } of formatter.formatToParts(second * 1000)) fields[type] = value;
  const year = fields.era === 'BC' ? 1 - Number(fields.year) : Number(fields.year);
  const days = daysFromCivil(year, Number(fields.month), Number(fields.day));
  const local = days * secondsOfDay + Number(fields.hour) * 3600 + Number(fields.minute) * 60 + Number(fields.second);
  return local - second;
}

// ---------------------------------------------------------------- calendar

/** Days since 1970-01-01. Months and days may be too large: 32 April is 2 May. */
function daysFromCivil(year: number, month: number, day: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getTime() / (secondsOfDay * 1000);
}

const weekdayOf = (days: number): number => (((days + 3) % 7) + 7) % 7; // 0: Monday

/** Throws for a year beyond 1 to 9999, whose ISO text would have more than four digits. */
function checkedDate(ts: number): Date {
  if (ts >= minTime && ts < maxTime + 1) return new Date(ts * 1000);
  throw new RangeError(`expected a time of the years 1 to 9999, found ${ts} s since 1970`);
}

const dayText = (date: Date): string => date.toISOString().slice(0, 10);

/** True for a text `YYYY-MM-DD` that names a day of the calendar. */
export function isDay(text: unknown): text is string {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text) || text < '0001') return false;
  return new Date(daysOf(text) * secondsOfDay * 1000).toISOString().startsWith(text);
}

const daysOf = (text: string): number => daysFromCivil(...(text.split('-').map(Number) as [number, number, number]));

/** The day `count` days after `day`. Throws a `RangeError` beyond the years 1 to 9999. */
export const addDays = (day: string, count: number): string =>
  dayText(checkedDate((daysOf(day) + count) * secondsOfDay));

/** The previous month (`days` -1) or the next month (`days` 31). */
export const monthBeside = (month: string, days: -1 | 31): string => addDays(`${month}-01`, days).slice(0, 7);

export const daysOfMonth = (month: string): DayRange => ({
  from: `${month}-01`,
  to: addDays(`${monthBeside(month, 31)}-01`, -1),
});

export function daysOfWeek(day: string): DayRange {
  const weekday = weekdayOf(daysOf(day));
  return { from: addDays(day, -weekday), to: addDays(day, 6 - weekday) };
}

// ---------------------------------------------------------------- instants

/** `local`: local time in whole seconds, as if it were UTC. `offset`: s ahead of UTC. */
function localTime(ts: number, zone: string): { local: Date; offset: number } {
  const whole = Math.floor(ts);
  checkedDate(whole);
  const offset = zoneOffset(zone, whole);
  return { local: checkedDate(whole + offset), offset };
}

/**
 * Calendar fields of `ts` in `zone`, whole seconds. Throws a `RangeError` for an unknown zone, and
 * for a year beyond 1 to 9999 in UTC or in the zone.
 */
export function localDateTime(ts: number, zone: string) {
  const { local } = localTime(ts, zone);
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth() + 1,
    day: local.getUTCDate(),
    hour: local.getUTCHours(),
    minute: local.getUTCMinutes(),
    second: local.getUTCSeconds(),
    weekday: (local.getUTCDay() + 6) % 7, // 0: Monday
    timezone: zone,
  };
}

/**
 * ISO 8601 in `zone` with numeric offset, and six digits of fraction if there is one:
 * `2016-05-17T09:19:59.800000-07:00`. Throws like `localDateTime`.
 */
export function formatTime(ts: number, zone: string): string {
  const { local, offset } = localTime(ts, zone);
  const micros = Math.min(Math.round((ts - Math.floor(ts)) * 1_000_000), 999_999); // below 1 s, also for .9999999
  const fraction = micros === 0 ? '' : `.${String(micros).padStart(6, '0')}`;
  const ahead = new Date(Math.abs(offset) * 1000).toISOString();
  const shift = ahead.slice(11, Math.abs(offset) % 60 === 0 ? 16 : 19); // offsets had seconds long ago
  return `${local.toISOString().slice(0, 19)}${fraction}${offset < 0 ? '-' : '+'}${shift}`;
}

/** The local day of `ts` in `zone`, `YYYY-MM-DD`. Throws like `localDateTime`. */
export const localDay = (ts: number, zone: string): string => dayText(localTime(ts, zone).local);

/**
 * Returns the time when clocks in the zone show `local`, which is counted as if it were UTC. If
 * clocks show it twice, returns the first time. If clocks skip it, returns the time when they would
 * show it without the skip. Throws for an unknown zone.
 */
export function timeOnClocks(local: number, zone: string): number {
  const before = local - zoneOffset(zone, local - secondsOfDay);
  const after = local - zoneOffset(zone, local + secondsOfDay);
  return [before, after].find((ts) => ts + zoneOffset(zone, ts) === local) ?? before;
}

/**
 * Returns the first instant of the local day. If clocks skip midnight on this day, returns the
 * first second after the skip. If they skip the whole day, returns the start of the next day.
 * Throws a `RangeError` for an unknown zone.
 */
export const startOfDay = (day: string, zone: string): number => startOfLocalDay(daysOf(day), zone);

/** Returns the local day as a half-open range, which is empty if the zone skipped the day. */
export function dayRange(day: string, zone: string): TimeRange {
  const days = daysOf(day);
  return { from: startOfLocalDay(days, zone), to: startOfLocalDay(days + 1, zone) };
}

function startOfLocalDay(days: number, zone: string): number {
  const localDays = (ts: number): number => Math.floor((ts + zoneOffset(zone, ts)) / secondsOfDay);
  const midnight = days * secondsOfDay;
  const offsets = [zoneOffset(zone, midnight - secondsOfDay), zoneOffset(zone, midnight + secondsOfDay)];
  const first = midnight - Math.max(...offsets);
  const last = midnight - Math.min(...offsets);
  for (const ts of [first, last]) if (localDays(ts) === days && localDays(ts - 1) < days) return ts;
  // Clocks went forward over midnight. Find the time of this change, between `before` and `start`.
  let before = first - secondsOfDay;
  let start = last + secondsOfDay;
  while (start - before > 1) {
    const middle = Math.floor((before + start) / 2);
    if (localDays(middle) < days) before = middle;
    else start = middle;
  }
  return start;
}

/** For people, not for programs. `pattern`: of dayjs, such as `HH:mm`. */
export function formatForPeople(ts: number, zone: string, pattern: string): string {
  return dayjs.utc((ts + zoneOffset(zone, ts)) * 1000).format(pattern);
}

// ---------------------------------------------------------------- periods of UTC

const dayOf = (ts: number): number => Math.floor(Math.floor(ts) / secondsOfDay);

type Unit = 'day' | 'week' | 'month' | 'year';

/** Adds periods of UTC. One month after 31 January is the last day of February. */
export function addUtc(ts: number, count: number, unit: Unit): number {
  if (unit === 'day' || unit === 'week') return ts + count * (unit === 'week' ? 7 : 1) * secondsOfDay;
  const days = dayOf(ts);
  const date = new Date(days * secondsOfDay * 1000);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + 1 + count * (unit === 'year' ? 12 : 1)];
  const first = daysFromCivil(year, month, 1);
  const length = daysFromCivil(year, month + 1, 1) - first;
  return (first + Math.min(date.getUTCDate(), length) - 1) * secondsOfDay + (ts - days * secondsOfDay);
}

/** Weeks begin on Monday. */
export function utcPeriod(ts: number, unit: Unit): { start: number; lastDay: number } {
  const days = dayOf(ts);
  const date = new Date(days * secondsOfDay * 1000);
  const firstDays = {
    day: days,
    week: days - weekdayOf(days),
    month: days - date.getUTCDate() + 1,
    year: daysFromCivil(date.getUTCFullYear(), 1, 1),
  };
  const start = firstDays[unit] * secondsOfDay;
  return { start, lastDay: addUtc(start, 1, unit) - secondsOfDay };
}

// ---------------------------------------------------------------- numbers

/** The smallest number above `x`: the end of a half-open range that includes `x`. */
export function justAfter(x: number): number {
  if (!Number.isFinite(x)) return x;
  if (x === 0) return Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  view.setBigInt64(0, view.getBigInt64(0) + (x > 0 ? 1n : -1n));
  return view.getFloat64(0);
}

export const justBefore = (x: number): number => -justAfter(-x);
