// Reads fields in messages of other apps.
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { firstMilliseconds } from '../../model/time.ts';

/** Seconds since the epoch. No phone recorded data for this service before 2010. */
const firstTime = Date.UTC(2010, 0) / 1000;

export const isPossibleTime = (ts: number): boolean => ts >= firstTime && ts < firstMilliseconds;

/** Turns a battery level into percent. A level over 1 is percent already, as in Home Assistant. */
export const percentFrom = (level: number): number => (level <= 1 ? level * 100 : level);

/** Reads a number or a text such as `"12,5"` or `"-4.5E-4"`. undefined: no number, or too small. */
export function numberFrom(sent: JsonValue | undefined, min = Number.NEGATIVE_INFINITY): number | undefined {
  const value =
    typeof sent === 'string' && /^\s*[-+]?\d+([.,]\d+)?(e[-+]?\d+)?\s*$/i.test(sent)
      ? Number(sent.replace(',', '.'))
      : sent;
  return typeof value === 'number' && Number.isFinite(value) && value >= min ? value : undefined;
}

/** Reads s, ms or ISO 8601 (UTC if it has no offset) as s since the epoch. null: other values. */
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

/** Copies the fields in `names`. Other fields may contain tokens, or names of networks or people. */
export function pickFields(message: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(message).filter(([name, value]) => names.has(name) && !isEmpty(value)));
}

export function omitFields(message: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(message).filter(([name, value]) => !names.has(name) && !isEmpty(value)));
}

function isEmpty(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null || value === '') return true;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

export function keyPart(value: JsonValue | undefined): string | null {
  return typeof value === 'string' && /^[\w-]{1,40}$/.test(value) ? value : null;
}
