// Parses and checks the values of flags before the command begins, so that a mistake is wrong usage.
import { InvalidArgumentError } from '@commander-js/extra-typings';
import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { addDays, addUtc, isDay, isTimeZone, localDateTime, localDay } from '../model/time.ts';
import type { CommandContext } from './context.ts';

/** Makes a parser of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** A day as given, such as `today`. Its date depends on the person's time zone. */
export interface DayAsked {
  asked: string;
}

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

const dayForms = 'YYYY-MM-DD, today, yesterday, -3 for three days ago, or a weekday such as monday';

/** Parses a day: `YYYY-MM-DD`, `today`, `yesterday`, `-3` (days ago), or `monday` (the last Monday up to today). */
export function dayArgument(text: string): DayAsked {
  const asked = text.toLowerCase();
  if (dayOrNull(asked, 0, 'UTC') !== null) return { asked };
  throw new InvalidArgumentError(`Expected a day: ${dayForms}.`);
}

/** Makes a parser of a day or a range of days, `2026-11-20..yesterday`, both ends included. */
export const daysArgument =
  ({ now, zone }: Pick<CommandContext, 'now' | 'zone'>) =>
  (text: string): { from: DayAsked; to: DayAsked } => {
    const parts = text.toLowerCase().split('..');
    const [from, to = from] = parts.map((part) => dayOrNull(part, now(), zone));
    if (from && to && parts.length <= 2 && from <= to)
      return { from: { asked: parts[0]! }, to: { asked: parts.at(-1)! } };
    throw new InvalidArgumentError(`Expected a day or a range of days A..B, each as ${dayForms}.`);
  };

export const dayIn = ({ asked }: DayAsked, now: number, zone: string): string => dayOrNull(asked, now, zone)!;

/** The date of a given day for a person, in the zone of their last trip; without trips, in the zone of the host. */
export async function resolveDay(context: CommandContext, { uuid }: { uuid: string }, day: DayAsked): Promise<string> {
  if (isDay(day.asked)) return day.asked;
  const last = await correctedTrips(await context.store()).previous(uuid, Number.MAX_VALUE);
  return dayIn(day, context.now(), last?.trip?.end_zone ?? context.zone);
}

export async function resolveDays(
  context: CommandContext,
  user: { uuid: string },
  { from, to }: { from: DayAsked; to: DayAsked },
): Promise<{ from: string; to: string }> {
  return { from: await resolveDay(context, user, from), to: await resolveDay(context, user, to) };
}

/** The date of a text that `dayArgument` accepts; null for any other text. */
export function dayOrNull(text: string, now: number, zone: string): string | null {
  if (isDay(text)) return text;
  const back = text === 'today' ? '0' : text === 'yesterday' ? '1' : /^-(\d{1,5})$/.exec(text)?.[1];
  const weekday = weekdays.indexOf(text);
  if (back === undefined && weekday < 0) return null;
  return addDays(localDay(now, zone), -(back ?? (localDateTime(now, zone).weekday - weekday + 7) % 7));
}

/** `08:14`, `8:14` */
export const isClock = (text: string): boolean => /^([01]?\d|2[0-3]):[0-5]\d$/.test(text);

export function clockArgument(text: string): string {
  if (isClock(text)) return text.padStart(5, '0');
  throw new InvalidArgumentError('Expected a time of the day as HH:MM.');
}

/** s in each unit of durations and ages */
export const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Parses a duration such as `30s`, `5m` or `1h` to seconds. */
export function durationArgument(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,5})([smh])$/.exec(text) ?? [];
  const seconds = Number(count) * (unitSeconds[unit] ?? 0);
  if (seconds >= 1 && seconds <= 86_400) return seconds;
  throw new InvalidArgumentError('Expected a time from 1s to 24h, such as 30s, 5m or 1h.');
}

const ageUnits = { d: 'day', w: 'week', mo: 'month', y: 'year' } as const;

/** Makes a parser of an age such as `18mo`, at least 30 days, that returns the time so long ago, s since the epoch. */
export const ageArgument =
  ({ now }: Pick<CommandContext, 'now'>) =>
  (text: string): number => {
    const [, count = '', unit = ''] = /^(\d{1,4})(d|w|mo|y)$/.exec(text) ?? [];
    const before = count === '' ? now() : addUtc(now(), -count, ageUnits[unit as keyof typeof ageUnits]);
    if (before <= now() - 30 * 86_400) return before;
    throw new InvalidArgumentError('Expected an age of 30 days or more: 90d, 26w, 18mo or 2y.');
  };

/** The options of a command, from the function that makes it. */
export type OptionsOf<Make extends (context: CommandContext) => { opts(): unknown }> = ReturnType<
  ReturnType<Make>['opts']
>;

/** Collects a flag that may be repeated. */
export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

export function zoneArgument(text: string): string {
  if (isTimeZone(text)) return text;
  throw new InvalidArgumentError('Expected an IANA time zone, such as Europe/Berlin or UTC.');
}
