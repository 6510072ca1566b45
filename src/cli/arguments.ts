// Values of flags: checked while the command line is parsed, so that a mistake is wrong usage and nothing has begun.
import { InvalidArgumentError } from 'commander';
import { isDay } from '../model/time.ts';

/** A parser of whole numbers from `min` to `max`. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

/** A day of the calendar, `YYYY-MM-DD`. */
export function dayArgument(text: string): string {
  if (isDay(text)) return text;
  throw new InvalidArgumentError('Expected a day of the calendar as YYYY-MM-DD.');
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

/** Collects a flag that may be repeated. */
export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
