// What is asked of the logs: flags, times as people write them, and whom a name means.
import { type Command, InvalidArgumentError } from 'commander';
import { isMobilityError, MobilityError } from '../model/errors.ts';
import { isUuid } from '../model/ids.ts';
import { dayRange, formatTime, isDay, maxTime, minTime, zoneOffset } from '../model/time.ts';
import type { CommandContext } from './context.ts';

/** The flags of `mobility logs`, as parsed. Times are seconds since the epoch. */
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

/** Adds flags for a range of time, for following and for the folder; those of calls as well if `calls`. */
export function withLogFlags(command: Command, context: CommandContext, { calls }: { calls: boolean }): Command {
  if (calls) {
    command
      .option('--user <name>', 'calls of one user, by name or UUID')
      .option('--path <path>', 'calls whose path begins with this, such as /usercache/put')
      .option('--slow <seconds>', 'calls that took at least this long', secondsArgument)
      .option('--failed', 'calls that failed or have no end');
  }
  return command
    .option(
      '--since <time>',
      'from this time on: 2h (ago), 3d, 2026-11-21, 2026-11-21T09:30',
      timeArgument(context, 'from'),
    )
    .option('--until <time>', 'up to this time; a day is included as a whole', timeArgument(context, 'to'))
    .option('-f, --follow', 'keep showing new lines until Ctrl-C')
    .option('--dir <folder>', 'folder of the log files; default: the one in the settings');
}

function secondsArgument(text: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Expected seconds, such as 0.5.');
}

const units: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400, w: 604_800 };

/** A parser of times: an age, a local day (its start or its end), a date and time, or seconds since the epoch. */
function timeArgument({ now, zone }: Pick<CommandContext, 'now' | 'zone'>, edge: 'from' | 'to') {
  return (text: string): number => {
    const age = /^(\d+(?:\.\d+)?)(s|m|min|h|d|w)$/.exec(text);
    if (age !== null) return now() - Number(age[1]) * units[age[2]!]!;
    if (isDay(text)) return dayRange(text, zone)[edge];
    if (/^\d{9,11}(\.\d+)?$/.test(text)) return Number(text);
    const time = dateTime(text, zone);
    if (time !== null) return time;
    throw new InvalidArgumentError('Expected 2h, 2026-11-21, 2026-11-21T09:30 or seconds since the epoch.');
  };
}

function dateTime(text: string, zone: string): number | null {
  const parts = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:\d\d)?$/.exec(text);
  if (parts === null || !isDay(parts[1])) return null;
  const [, day, clock, offset] = parts;
  const time = Date.parse(`${day}T${clock}${offset ?? 'Z'}`) / 1000;
  if (Number.isNaN(time)) return null;
  return offset === undefined ? time - zoneOffset(zone, time - zoneOffset(zone, time)) : time;
}

/** Throws `MOBILITY_USAGE` where no time lies in the range: it would look as if nothing had been logged. */
export function refuseEmptyRange({ since, until }: LogFlags, zone: string): void {
  if (since === undefined || until === undefined || since < until) return;
  // Ages may lie before the calendar, times with an offset behind it: a day from its ends every zone has a date.
  const [first, last] = [minTime + 86_400, maxTime - 86_400];
  const shown = (ts: number): string => formatTime(Math.min(Math.max(first, ts), last), zone);
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected --since to be earlier than --until, found ${shown(since)} and ${shown(until)}`,
  );
}

/** The user whom a name means. Without a UUID, only lines of the server can be matched, until one of them names it. */
export interface UserMeant {
  uuid: string | null;
  email: string | null;
}

/**
 * The user by UUID, which needs no store, or by name. Throws `MOBILITY_USER_UNKNOWN`; when the store cannot be asked,
 * as when it is what the logs are searched for, a note says that the name is taken as the server logged it.
 */
export async function userMeant(context: CommandContext, nameOrUuid: string): Promise<UserMeant> {
  if (isUuid(nameOrUuid.toLowerCase())) return { uuid: nameOrUuid.toLowerCase(), email: null };
  try {
    const { uuid, user_email } = await context.findUser(nameOrUuid);
    return { uuid, email: user_email };
  } catch (error) {
    if (!isMobilityError(error) || !storeTroubles.has(error.code)) throw error;
    context.output.note(`The store cannot be read (${error.code}): searching for the name as the server logged it.`);
    return { uuid: null, email: nameOrUuid };
  }
}

const storeTroubles: ReadonlySet<string> = new Set([
  'MOBILITY_STORE_BUSY',
  'MOBILITY_STORE_DAMAGED',
  'MOBILITY_STORE_FULL',
  'MOBILITY_STORE_READONLY',
  'MOBILITY_STORE_UNAVAILABLE',
  'MOBILITY_STORE_VERSION',
]);
