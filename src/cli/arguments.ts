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

/** Collects a flag that may be repeated. */
export function repeated(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}
