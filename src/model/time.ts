// Epoch seconds, local days and their texts. The one place that knows calendars and time zones.
import dayjs from 'dayjs';
import utc from 'dayjs/plugin/utc.js';

dayjs.extend(utc);

/** Local calendar fields of an instant, as clients read them. `weekday`: 0 is Monday. */
export interface LocalDateTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  weekday: number;
  timezone: string;
}

/** Half-open range of time, `[from, to)`, seconds since the epoch. */
export interface TimeRange {
  from: number;
  to: number;
}

/** The first and last instants that a calendar text can hold here: years 1 to 9999. */
export const minTime = -62_135_596_800;
export const maxTime = 253_402_300_799;

const quarterHour = 900; // s; every zone shift since 1970 lies on such a boundary
const maxCachedOffsets = 20_000;
const formatters = new Map<string, Intl.DateTimeFormat | null>();
const offsets = new Map<string, Map<number, number>>();
let cachedOffsets = 0;

function formatterOf(zone: string): Intl.DateTimeFormat | null {
  let formatter = formatters.get(zone);
  if (formatter === undefined) {
    try {
      formatter = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        calendar: 'gregory',
        hourCycle: 'h23',
        era: 'short',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      });
    } catch {
      formatter = null;
    }
    if (formatters.size > 2_000) formatters.clear(); // names come from phones: keep the map bounded
    formatters.set(zone, formatter);
  }
  return formatter;
}

/** True when `zone` is a time zone name that this runtime knows, such as `Europe/Berlin` or `Etc/GMT+7`. */
export function isTimeZone(zone: unknown): zone is string {
  return typeof zone === 'string' && /^[A-Za-z][\w+\-/]{0,63}$/.test(zone) && formatterOf(zone) !== null;
}

/** Seconds that local time in `zone` is ahead of UTC at `ts`. Throws a `RangeError` for an unknown zone. */
export function zoneOffset(zone: string, ts: number): number {
  if (zone === 'UTC') return 0;
  const bucket = Math.floor(ts / quarterHour);
  let ofZone = offsets.get(zone);
  if (ofZone === undefined) {
    ofZone = new Map();
    offsets.set(zone, ofZone);
  }
  const cached = ofZone.get(bucket);
  if (cached !== undefined) return cached;
  const formatter = formatterOf(zone);
  if (formatter === null) throw new RangeError(`expected an IANA time zone, found ${JSON.stringify(zone)}`);
  const at = bucket * quarterHour;
  const fields: Record<string, string> = {};
  for (const { type, value } of formatter.formatToParts(at * 1000)) fields[type] = value;
  const year = fields.era === 'BC' ? 1 - Number(fields.year) : Number(fields.year);
  const local = new Date(0);
  local.setUTCFullYear(year, Number(fields.month) - 1, Number(fields.day));
  local.setUTCHours(Number(fields.hour), Number(fields.minute), Number(fields.second));
  const offset = local.getTime() / 1000 - at;
  if (cachedOffsets >= maxCachedOffsets) {
    offsets.clear();
    cachedOffsets = 0;
    offsets.set(zone, (ofZone = new Map()));
  }
  ofZone.set(bucket, offset);
  cachedOffsets += 1;
  return offset;
}

const two = (n: number): string => (n < 10 ? `0${n}` : String(n));

interface CivilDate {
  year: number;
  month: number;
  day: number;
}

/** Days since 1970-01-01 to a calendar date (proleptic Gregorian), after Howard Hinnant's `civil_from_days`. */
function civilFromDays(days: number): CivilDate {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return { year, month, day: dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1 };
}

function dayText({ year, month, day }: CivilDate): string {
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
}

function checked(ts: number): number {
  if (!(ts >= minTime && ts <= maxTime)) throw new RangeError(`expected seconds of the years 1 to 9999, found ${ts}`);
  return ts;
}

/** Calendar fields of `ts` in `zone`, whole seconds. Throws a `RangeError` for an unknown zone or a year beyond 1 to 9999. */
export function localDateTime(ts: number, zone: string): LocalDateTime {
  const local = Math.floor(microseconds(checked(ts)) / 1_000_000) + zoneOffset(zone, ts);
  const days = Math.floor(local / 86_400);
  const second = local - days * 86_400;
  return {
    ...civilFromDays(days),
    hour: Math.floor(second / 3600),
    minute: Math.floor((second % 3600) / 60),
    second: second % 60,
    weekday: (((days + 3) % 7) + 7) % 7,
    timezone: zone,
  };
}

const microseconds = (ts: number): number => Math.round(ts * 1_000_000);

/** ISO 8601 in `zone` with numeric offset; six digits of fraction only if there is one: `2016-05-17T09:19:59.800000-07:00`. */
export function formatTime(ts: number, zone: string): string {
  const micros = microseconds(checked(ts));
  const whole = Math.floor(micros / 1_000_000);
  const fraction = micros - whole * 1_000_000;
  const offset = zoneOffset(zone, ts);
  const local = whole + offset;
  const days = Math.floor(local / 86_400);
  const second = local - days * 86_400;
  const clock = `${two(Math.floor(second / 3600))}:${two(Math.floor((second % 3600) / 60))}:${two(second % 60)}`;
  const part = fraction === 0 ? '' : `.${String(fraction).padStart(6, '0')}`;
  const ahead = Math.abs(offset);
  const seconds = ahead % 60 === 0 ? '' : `:${two(ahead % 60)}`;
  const shift = `${offset < 0 ? '-' : '+'}${two(Math.floor(ahead / 3600))}:${two(Math.floor((ahead % 3600) / 60))}${seconds}`;
  return `${dayText(civilFromDays(days))}T${clock}${part}${shift}`;
}

/** The local day of `ts` in `zone`, `YYYY-MM-DD`. */
export function localDay(ts: number, zone: string): string {
  return dayText(civilFromDays(Math.floor((Math.floor(checked(ts)) + zoneOffset(zone, ts)) / 86_400)));
}

/** True for a text `YYYY-MM-DD` that names a day of the calendar. */
export function isDay(text: unknown): text is string {
  if (typeof text !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(text) || text < '0001') return false;
  return dayText(civilFromDays(daysOf(text))) === text;
}

function daysOf(day: string): number {
  const date = new Date(0);
  date.setUTCFullYear(Number(day.slice(0, 4)), Number(day.slice(5, 7)) - 1, Number(day.slice(8, 10)));
  return date.getTime() / 86_400_000;
}

/** The day `count` days after `day` (before, if negative). */
export function addDays(day: string, count: number): string {
  return dayText(civilFromDays(daysOf(day) + count));
}

/** The first instant of the local day, seconds since the epoch; where midnight does not exist, the first second after it. */
export function startOfDay(day: string, zone: string): number {
  const midnight = daysOf(day) * 86_400;
  const before = midnight - zoneOffset(zone, midnight - 86_400);
  const after = midnight - zoneOffset(zone, midnight + 86_400);
  const candidates = [Math.min(before, after), Math.max(before, after)];
  for (const ts of candidates) if (localDay(ts, zone) === day && localDay(ts - 1, zone) < day) return ts;
  // Midnight falls into a gap: the day begins where the offset changes, on a quarter of an hour between the candidates.
  let ts = Math.floor((candidates[0]! - 7200) / quarterHour) * quarterHour;
  while (localDay(ts, zone) < day) ts += quarterHour;
  return ts;
}

/** The local day as a half-open range. */
export function dayRange(day: string, zone: string): TimeRange {
  return { from: startOfDay(day, zone), to: startOfDay(addDays(day, 1), zone) };
}

/** Time by `pattern` (of dayjs, such as `HH:mm`) in `zone`; for people, not for formats that programs read. */
export function formatForPeople(ts: number, zone: string, pattern: string): string {
  return dayjs.utc((ts + zoneOffset(zone, ts)) * 1000).format(pattern);
}

/** UTC calendar arithmetic for report periods: `ts` moved by `count` units. */
export function addUtc(ts: number, count: number, unit: 'day' | 'week' | 'month' | 'year'): number {
  return (
    dayjs
      .utc(ts * 1000)
      .add(count, unit)
      .valueOf() / 1000
  );
}

/** The start (or the first instant of the last day) of the UTC period around `ts`. Weeks run Monday to Sunday. */
export function utcPeriod(ts: number, unit: 'day' | 'week' | 'month' | 'year'): { start: number; lastDay: number } {
  const day = dayjs.utc(ts * 1000).startOf('day');
  const start = unit === 'week' ? day.subtract((day.day() + 6) % 7, 'day') : day.startOf(unit);
  const next = unit === 'week' ? start.add(7, 'day') : start.add(1, unit);
  return { start: start.valueOf() / 1000, lastDay: next.subtract(1, 'day').valueOf() / 1000 };
}

/** The smallest number above `x`: turns an inclusive end into the end of a half-open range. */
export function justAfter(x: number): number {
  if (!Number.isFinite(x)) return x;
  if (x === 0) return Number.MIN_VALUE;
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, x);
  view.setBigInt64(0, view.getBigInt64(0) + (x > 0 ? 1n : -1n));
  return view.getFloat64(0);
}
