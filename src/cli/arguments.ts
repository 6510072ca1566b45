// Values of flags: checked while the command line is parsed, so that a mistake is wrong usage and nothing has begun.
import { InvalidArgumentError } from 'commander';
import { addDays, addUtc, isDay, localDateTime, localDay } from '../model/time.ts';
import type { CommandContext } from './context.ts';

/** A parser of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** What decides which day is today: the clock and the zone of the host. */
type Today = Pick<CommandContext, 'now' | 'zone'>;

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

const dayForms = 'YYYY-MM-DD, today, yesterday, -1 for so many days ago, or a weekday for the last one';

/** A parser of days: `YYYY-MM-DD`, `today`, `yesterday`, `-1`, or `monday` for the last one, today included. */
export const dayArgument =
  (context: Today) =>
  (text: string): string => {
    const day = dayOf(text.toLowerCase(), context);
    if (day !== null) return day;
    throw new InvalidArgumentError(`Expected a day: ${dayForms}.`);
  };

/** A parser of one such day or of a range of them, `2026-11-20..yesterday`, both ends included. */
export const daysArgument =
  (context: Today) =>
  (text: string): { from: string; to: string } => {
    const [from, to, ...more] = text.split('..').map((part) => dayOf(part.toLowerCase(), context));
    if (from && to !== null && more.length === 0 && from <= (to ?? from)) return { from, to: to ?? from };
    throw new InvalidArgumentError(`Expected a day or a range of days A..B, each as ${dayForms}.`);
  };

function dayOf(text: string, context: Today): string | null {
  if (isDay(text)) return text;
  const back = text === 'today' ? '0' : text === 'yesterday' ? '1' : /^-(\d{1,5})$/.exec(text)?.[1];
  const weekday = weekdays.indexOf(text);
  if (back === undefined && weekday < 0) return null;
  const now = localDateTime(context.now(), context.zone);
  return addDays(localDay(context.now(), context.zone), -(back ?? (now.weekday - weekday + 7) % 7));
}

/** A time of the day, `HH:MM`. */
export function clockArgument(text: string): string {
  if (/^([01]\d|2[0-3]):[0-5]\d$/.test(text)) return text;
  throw new InvalidArgumentError('Expected a time of the day as HH:MM.');
}

const unitSeconds: Record<string, number> = { s: 1, m: 60, h: 3600 };

/** A time such as `30s`, `5m` or `1h`, at least 1 s and at most 24 h; in seconds. */
export function durationArgument(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,5})([smh])$/.exec(text) ?? [];
  const seconds = Number(count) * (unitSeconds[unit] ?? 0);
  if (seconds >= 1 && seconds <= 86_400) return seconds;
  throw new InvalidArgumentError('Expected a time from 1s to 24h, such as 30s, 5m or 1h.');
}

const ageUnits = { d: 'day', w: 'week', mo: 'month', y: 'year' } as const;

/** A parser of an age such as `18mo`, of 30 days or more: the time so long ago, s since the epoch. */
export const ageArgument =
  ({ now }: Today) =>
  (text: string): number => {
    const [, count = '', unit = ''] = /^(\d{1,4})(d|w|mo|y)$/.exec(text) ?? [];
    const before = count === '' ? now() : addUtc(now(), -count, ageUnits[unit as keyof typeof ageUnits]);
    if (before <= now() - 30 * 86_400) return before;
    throw new InvalidArgumentError('Expected an age of 30 days or more: 90d, 26w, 18mo or 2y.');
  };

/** Collects a flag that may be repeated. */
export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
