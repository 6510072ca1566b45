// Converts local dates of clients, `{year, month, day}`, to days.
import type { JsonValue } from '../model/json.ts';
import { isJsonObject } from '../model/json.ts';
import { MobilityError } from '../model/mobility-error.ts';
import { isDay } from '../model/time.ts';

/**
 * The days (`YYYY-MM-DD`) from `from` to `to`. Without a day, a date means the whole month; without a month, the whole
 * year. A year outside 1 to 9999 becomes the nearest of them. Other fields are ignored. Throws `MOBILITY_BAD_REQUEST`
 * for an invalid date.
 */
export function daysBetween(
  from: JsonValue | undefined,
  to: JsonValue | undefined,
  names: readonly [from: string, to: string],
): { from: string; to: string } {
  return { from: dayOf(from, names[0], 1, [1]), to: dayOf(to, names[1], 12, [31, 30, 29, 28]) };
}

/** The day of a date. If month or day is missing: `month`, and the first of `days` that exists in the month. */
function dayOf(date: JsonValue | undefined, name: string, month: number, days: readonly number[]): string {
  const parts = isJsonObject(date) ? date : {};
  const year = typeof parts.year === 'number' ? Math.max(1, Math.min(parts.year, 9999)) : parts.year;
  const texts = (parts.day == null ? days : [parts.day]).map((day) => {
    const numbers = [year, parts.month ?? month, day];
    return numbers.every(Number.isInteger) ? numbers.map((part) => String(part).padStart(2, '0')).join('-') : '';
  });
  const found = texts.map((text) => text.padStart('YYYY-MM-DD'.length, '0')).find(isDay);
  if (found !== undefined) return found;
  throw new MobilityError(
    'MOBILITY_BAD_REQUEST',
    `expected a date of the calendar in "${name}", such as {"year": 2016, "month": 5, "day": 17}`,
  );
}
