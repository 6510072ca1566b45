// Parses the values of flags before the command begins, so a mistake is reported as wrong usage.
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { usageError } from '../model/mobility-error.ts';
import { addDays, addUtc, dayRange, isDay, isTimeZone, localDateTime, localDay, timeOnClocks } from '../model/time.ts';
import type { CommandContext } from './context.ts';

export class DocumentedCommand extends Command {
  /** `description`: only for a subcommand; `main.ts` has the descriptions of commands. */
  constructor(name: string, description = '') {
    super(name);
    this.description(description);
  }

  /** `text`: one command in each line; notes may follow after an empty line. */
  examples(text: string): this {
    const lines = text.replace(/^\n/, '');
    const [commands = ''] = lines.split('\n\n');
    return this.addHelpText('after', `\nExample${commands.includes('\n') ? 's' : ''}:\n${lines}`);
  }
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** A day as typed, such as `today`. Its date depends on the time zone of the person. */
export type DayAsked = { asked: string };

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

const dayForms = 'YYYY-MM-DD, today, yesterday, -3 for three days ago, or a weekday such as monday';

export function dayArgument(text: string): DayAsked {
  const asked = text.toLowerCase();
  if (dayOrNull(asked, 0, 'UTC') !== null) return { asked };
  throw new InvalidArgumentError(`Expected a day: ${dayForms}.`);
}

/** Parses a day or a range such as `2026-11-20..yesterday`, both ends included. */
export const daysArgument =
  ({ now, zone }: Pick<CommandContext, 'now' | 'zone'>) =>
  (text: string): { from: DayAsked; to: DayAsked } => {
    const parts = text.toLowerCase().split('..');
    const [from, to = from] = parts.map((part) => dayOrNull(part, now(), zone));
    if (from && to && parts.length <= 2) {
      if (from <= to) return { from: { asked: parts[0]! }, to: { asked: parts.at(-1)! } };
      throw new InvalidArgumentError(`Expected an end of the range that is not before ${from}, found ${to}.`);
    }
    throw new InvalidArgumentError(`Expected a day or a range of days A..B, each as ${dayForms}.`);
  };

export const dayIn = ({ asked }: DayAsked, now: number, zone: string): string => dayOrNull(asked, now, zone)!;

/** Returns the date in the time zone of the person's last trip; without trips, of the host. */
export async function resolveDay(context: CommandContext, { uuid }: { uuid: string }, day: DayAsked): Promise<string> {
  if (isDay(day.asked)) return day.asked;
  const { correctedTrips } = await import('../diary/corrections/corrected-trips.ts'); // few commands need this module
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

/** Returns the date of a day; null for another text. `monday` is the last Monday up to today. */
function dayOrNull(text: string, now: number, zone: string): string | null {
  if (isDay(text)) return text;
  const back = text === 'today' ? '0' : text === 'yesterday' ? '1' : /^-(\d{1,5})$/.exec(text)?.[1];
  const weekday = weekdays.indexOf(text);
  if (back === undefined && weekday < 0) return null;
  return addDays(localDay(now, zone), -(back ?? (localDateTime(now, zone).weekday - weekday + 7) % 7));
}

const isClock = (text: string): boolean => /^([01]?\d|2[0-3]):[0-5]\d$/.test(text);

export function clockArgument(text: string): string {
  if (isClock(text)) return text.padStart(5, '0');
  throw new InvalidArgumentError('Expected a time of the day as HH:MM.');
}

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

export function durationArgument(text: string): number {
  const [, count = '', unit = ''] = /^(\d{1,5})([smh])$/.exec(text) ?? [];
  const seconds = Number(count) * (unitSeconds[unit] ?? 0);
  if (seconds >= 1 && seconds <= 86_400) return seconds;
  throw new InvalidArgumentError('Expected a time from 1s to 24h, such as 30s, 5m or 1h.');
}

const ageUnits = { d: 'day', w: 'week', mo: 'month', y: 'year' } as const;

/** Parses an age such as `18mo` to the time that long ago, s since the epoch. */
export const ageArgument =
  ({ now }: Pick<CommandContext, 'now'>) =>
  (text: string): number => {
    const [, count = '', unit = ''] = /^(\d{1,4})(d|w|mo|y)$/.exec(text) ?? [];
    const before = count === '' ? now() : addUtc(now(), -count, ageUnits[unit as keyof typeof ageUnits]);
    if (before <= now() - 30 * 86_400) return before;
    throw new InvalidArgumentError('Expected an age of 30 days or more: 90d, 26w, 18mo or 2y.');
  };

export type OptionsOf<Make extends (context: CommandContext) => { opts(): unknown }> = ReturnType<
  ReturnType<Make>['opts']
>;

export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

export function zoneArgument(text: string): string {
  if (isTimeZone(text)) return text;
  throw new InvalidArgumentError('Expected an IANA time zone, such as Europe/Berlin or UTC.');
}

/** Returns the address without a slash at its end. */
export function phoneAddress(given: string | undefined, configured: string): string {
  const text = given ?? configured;
  if (text === '')
    throw usageError(
      'expected the address of the server for phones, found none: add --server https://… or set MOBILITY_PUBLIC_URL',
    );
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.hash !== '') {
    throw usageError(`expected an address such as https://example.org, without ? and #, found ${JSON.stringify(text)}`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Returns a parser for times such as `2h`, `10:00`, `monday` (its `edge`) or `1700000000`. */
export function timeArgument({ now, zone }: Pick<CommandContext, 'now' | 'zone'>, edge: 'from' | 'to') {
  return (text: string): number => {
    const age = /^(\d{1,5}(?:\.\d+)?)([smhd])$/.exec(text);
    if (age !== null) return now() - Number(age[1]) * unitSeconds[age[2]!]!;
    if (isClock(text)) return lastTime(text.padStart(5, '0'), now(), zone);
    const named = dayOrNull(text.toLowerCase(), now(), zone);
    if (named !== null) return dayRange(named, zone)[edge];
    if (/^\d{9,11}(\.\d+)?$/.test(text)) return Number(text);
    const [, day, offset] = /^(\d{4}-\d\d-\d\d)T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
    const time = isDay(day) ? Date.parse(offset === undefined ? `${text}Z` : text) / 1000 : Number.NaN;
    if (Number.isNaN(time))
      throw new InvalidArgumentError('Expected a time: 2h (ago), 10:00, yesterday, 2026-11-21 or 2026-11-21T09:30.');
    return offset === undefined ? timeOnClocks(time, zone) : time;
  };
}

/** Returns the last time when clocks in `zone` showed `clock`, such as `10:00`. */
function lastTime(clock: string, now: number, zone: string): number {
  const at = (day: string): number => timeOnClocks(Date.parse(`${day}T${clock}Z`) / 1000, zone);
  const today = localDay(now, zone);
  return at(today) <= now ? at(today) : at(addDays(today, -1));
}
