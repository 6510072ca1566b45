// Local dates as clients write them, `{year, month, day}`, as days.
import type { JsonValue } from '../model/json.ts';
import { isJsonObject } from '../model/json.ts';
import { isDay } from '../model/time.ts';
import { badRequest } from './problem.ts';

/**
 * The days, `YYYY-MM-DD`, from the first of `from` to the last of `to`: a missing day stands for the whole month, a
 * missing month for the whole year. Other fields are ignored. Throws a 400 `Problem` for an invalid date.
 */
export function daysBetween(
  from: JsonValue | undefined,
  to: JsonValue | undefined,
  names: readonly [from: string, to: string],
): { from: string; to: string } {
  return { from: firstDay(from, names[0]), to: lastDay(to, names[1]) };
}

const two = (n: number): string => String(n).padStart(2, '0');

function firstDay(date: JsonValue | undefined, name: string): string {
  const { year, month = 1, day = 1 } = partsOf(date, name);
  return dayOf(year, month, day, name);
}

function lastDay(date: JsonValue | undefined, name: string): string {
  const { year, month = 12, day } = partsOf(date, name);
  if (day !== undefined) return dayOf(year, month, day, name);
  const first = dayOf(year, month, 1, name);
  const days = [31, 30, 29, 28].map((end) => `${first.slice(0, 8)}${end}`);
  return days.find(isDay)!;
}

function partsOf(date: JsonValue | undefined, name: string): { year: number; month?: number; day?: number } {
  if (!isJsonObject(date)) throw notADate(name);
  const { year, month, day } = date;
  for (const part of [year, month ?? 1, day ?? 1]) if (!Number.isInteger(part)) throw notADate(name);
  return {
    year: year as number,
    ...(typeof month === 'number' && { month }),
    ...(typeof day === 'number' && { day }),
  };
}

function dayOf(year: number, month: number, day: number, name: string): string {
  const text = `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
  if (!isDay(text)) throw notADate(name);
  return text;
}

const notADate = (name: string) =>
  badRequest(`expected "${name}" to be a date of the calendar, such as {"year": 2016, "month": 5, "day": 17}`);
