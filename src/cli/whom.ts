// `--user NAME` or `--all`, for commands that do the same to one or every user.
import { type Command, Option } from 'commander';
import { MobilityError } from '../model/errors.ts';
import { defaultSubgroup, type StudyRecord } from '../model/study.ts';
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

/** The study of that name. Throws `MOBILITY_USAGE` where there is none. */
export async function findStudy(context: CommandContext, name: string): Promise<StudyRecord> {
  const { studies, address } = await context.store();
  const study = await studies.byName(name);
  if (study !== null) return study;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `no study ${JSON.stringify(name)} in ${address}: see \`mobility study list\``,
  );
}

/** The subgroups that people can join. */
export const subgroupsOf = ({ subgroups }: StudyRecord): readonly string[] =>
  subgroups.length === 0 ? [defaultSubgroup] : subgroups;

/**
 * For where nobody was found: throws `MOBILITY_USAGE` if the study or subgroup does not exist, as when it is mistyped.
 */
export async function refuseUnknownStudy(
  context: CommandContext,
  { study: name, subgroup }: Pick<Whom, 'study' | 'subgroup'>,
): Promise<void> {
  if (name === undefined) return;
  const study = await findStudy(context, name);
  if (subgroup === undefined || subgroupsOf(study).includes(subgroup)) return;
  const known = subgroupsOf(study).join(' or ');
  throw new MobilityError('MOBILITY_USAGE', `expected --subgroup ${known} for ${name}, found ${subgroup}`);
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
  let found = false;
  for await (const one of everyUser(await context.store())) {
    if (!isMember(one, whom)) continue;
    found = true;
    yield one;
  }
  if (!found) await refuseUnknownStudy(context, whom);
}
