import { type Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { addDays, dayRange, isDay, localDay, timeOnClocks } from '../model/time.ts';
import { dayOrNull, isClock, unitSeconds } from './arguments.ts';
import type { CommandContext } from './context.ts';

/** Times are seconds since the epoch. */
export interface LogFlags {
  user?: string;
  path?: string;
  since?: number;
  until?: number;
  slow?: number;
  failed?: true;
  follow?: true;
  dir?: string;
}

export function withCallFlags(command: Command): Command {
  return command
    .option('--user <name>', 'calls of one user, by name or UUID')
    .option('--path <path>', 'calls whose path begins with this, such as /usercache/put')
    .option('--slow <seconds>', 'calls that took at least this long', secondsArgument)
    .option('--failed', 'calls that failed or have no end');
}

export function withLogFlags(command: Command, context: CommandContext): Command {
  const [from, to] = [timeArgument(context, 'from'), timeArgument(context, 'to')];
  return command
    .option(
      '--since <time>',
      'this time and later: 2h (ago), 3d, 10:00, yesterday, monday, 2026-11-21, 2026-11-21T09:30',
      from,
    )
    .option('--until <time>', 'up to this time; a day is included as a whole', to)
    .option('-f, --follow', 'keep showing new lines until Ctrl-C')
    .option('--dir <folder>', 'folder of the log files; default: the one in the settings');
}

function secondsArgument(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected seconds, such as 0.5.');
}

/**
 * Makes a parser of times: an age, a time of today or yesterday, a day as in `dayArgument` (its start or end), a date
 * and time, or seconds since the epoch.
 */
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
      throw new InvalidArgumentError(
        'Expected 2h, 10:00, yesterday, 2026-11-21, 2026-11-21T09:30 or seconds since the epoch.',
      );
    return offset === undefined ? timeOnClocks(time, zone) : time;
  };
}

/** The last time when a clock in `zone` showed `clock`, such as `10:00`. */
function lastTime(clock: string, now: number, zone: string): number {
  const at = (day: string): number => timeOnClocks(Date.parse(`${day}T${clock}Z`) / 1000, zone);
  const today = localDay(now, zone);
  return at(today) <= now ? at(today) : at(addDays(today, -1));
}
