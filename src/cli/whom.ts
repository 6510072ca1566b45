// `--user NAME` or `--all`, for commands that do the same to one or every user.
import { type Command, Option } from 'commander';
import { MobilityError } from '../model/errors.ts';
import type { UserRecord } from '../model/user.ts';
import { everyUser } from '../store/pages.ts';
import type { CommandContext } from './context.ts';

/** The options that choose users: exactly one of `user`, `all` and `study` is given. */
export interface Whom {
  user?: string;
  all?: true;
  study?: string;
  subgroup?: string;
}

/** True for somebody of that study and that part of it, where they are given. */
export function isMember(user: UserRecord, { study, subgroup }: Pick<Whom, 'study' | 'subgroup'>): boolean {
  return (study === undefined || user.study === study) && (subgroup === undefined || user.subgroup === subgroup);
}

/** Adds the two flags to a command. */
export function withWhom(command: Command): Command {
  return command
    .addOption(new Option('--user <name>', 'one user, by name or UUID').conflicts('all'))
    .option('--all', 'every user')
    .option('--study <name>', 'every user who joined this study')
    .option('--subgroup <name>', 'with --study: only users of this subgroup');
}

/** The users meant. Throws `MOBILITY_USAGE` when none of the flags is given. */
export async function* usersMeant(context: CommandContext, whom: Whom): AsyncGenerator<UserRecord> {
  const { user, all, study } = whom;
  if (user !== undefined) return yield await context.findUser(user);
  if (!all && study === undefined) {
    throw new MobilityError('MOBILITY_USAGE', 'expected --user NAME, --study NAME or --all');
  }
  for await (const one of everyUser(await context.store())) if (isMember(one, whom)) yield one;
}
