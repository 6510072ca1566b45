// `--user NAME` or `--all`, for commands that do the same to one or every user.
import { type Command, Option } from 'commander';
import { MobilityError } from '../model/errors.ts';
import type { UserRecord } from '../model/user.ts';
import { everyUser } from '../store/pages.ts';
import type { CommandContext } from './context.ts';

export interface Whom {
  user?: string;
  all?: true;
}

/** Adds the two flags to a command. */
export function withWhom(command: Command): Command {
  return command
    .addOption(new Option('--user <name>', 'one user, by name or UUID').conflicts('all'))
    .option('--all', 'every user');
}

/** The users meant. Throws `MOBILITY_USAGE` when neither flag is given. */
export async function* usersMeant(context: CommandContext, { user, all }: Whom): AsyncGenerator<UserRecord> {
  if (user !== undefined) yield await context.findUser(user);
  else if (all) yield* everyUser(await context.store());
  else throw new MobilityError('MOBILITY_USAGE', 'expected --user NAME or --all');
}
