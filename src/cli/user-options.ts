import { type Command, Option } from '@commander-js/extra-typings';
import { usageError } from '../model/mobility-error.ts';
import { type StudyRecord, type StudySettings, subgroupsOf } from '../model/study.ts';
import type { UserRecord } from '../model/user.ts';
import { everyUser } from '../store/paging.ts';
import { repeated } from './arguments.ts';
import type { CommandContext } from './context.ts';
import { didYouMean } from './nearest-name.ts';
import { counted } from './output.ts';

export type UserChoice = Partial<ReturnType<ReturnType<typeof withUserChoice>['opts']>>;

export function withUserChoice(command: Command) {
  return withUsersOrStudy(command).addOption(new Option('--all', 'every user').conflicts(['user', 'study']));
}

/** Does not add `--all`, so that `mobility erase` cannot erase all people by accident. */
export function withUsersOrStudy(command: Command) {
  return command
    .option('--user <name>', 'name or UUID of a user; may be repeated', repeated)
    .addOption(new Option('--study <name>', 'every user who joined this study').conflicts('user'))
    .addOption(new Option('--subgroup <name>', 'with --study: only this subgroup').conflicts(['user', 'all', 'file']));
}

/** Throws `MOBILITY_USAGE` if no flag selects users, or if a study or subgroup has no members. */
export async function* selectUsers(context: CommandContext, whom: UserChoice): AsyncGenerator<UserRecord> {
  const { user: names = [], all, study, subgroup } = whom;
  if (names.length === 0 && !all && study === undefined)
    throw usageError('expected --user NAME, --study NAME or --all, found none of them');
  if (subgroup !== undefined && study === undefined)
    throw usageError('expected --study with --subgroup, found --subgroup alone');
  for (const name of new Set(names)) yield await context.findUser(name);
  if (!all && study === undefined) return;
  let found = false;
  for await (const one of everyUser(await context.store())) {
    if (!isMember(one, whom)) continue;
    found = true;
    yield one;
  }
  if (found || study === undefined) return;
  await refuseUnknownStudy(context, whom);
  const part = subgroup === undefined ? '' : `, subgroup ${subgroup}`;
  throw usageError(`the study ${study}${part} has no members`);
}

/** Selects every user if no flag selects users. */
export function selectUsersOrAll(context: CommandContext, { user, study, subgroup, all }: UserChoice) {
  const isAll = all ?? (user ?? study ?? subgroup) === undefined;
  return selectUsers(context, isAll ? { all: true } : { user, study, subgroup });
}

export function isMember(user: UserRecord, { study, subgroup }: Pick<UserChoice, 'study' | 'subgroup'>): boolean {
  return (study === undefined || user.study === study) && (subgroup === undefined || user.subgroup === subgroup);
}

export async function findStudy(context: CommandContext, name: string): Promise<StudyRecord> {
  const { studies, address } = await context.store();
  const study = await studies.byName(name);
  if (study !== null) return study;
  const known = (await studies.list()).map((one) => one.name);
  const near = await didYouMean(name, known);
  throw usageError(`no study ${JSON.stringify(name)} in ${address}${near}: see \`mobility study list\``);
}

export async function changeStudy(context: CommandContext, before: StudyRecord, change: Partial<StudySettings>) {
  const { joins: _, ...settings } = before;
  await (await context.store()).studies.put({ ...settings, ...change });
}

export function nameError(expected: string, found: string): Error {
  return usageError(`expected ${expected}, found ${JSON.stringify(found.slice(0, 60))}`);
}

export async function refuseUnknownStudy(
  context: CommandContext,
  { study: name, subgroup }: Pick<UserChoice, 'study' | 'subgroup'>,
): Promise<void> {
  const studies = name === undefined ? await (await context.store()).studies.list() : [await findStudy(context, name)];
  if (subgroup === undefined || studies.some((study) => subgroupsOf(study).includes(subgroup))) return;
  throw await noSubgroup(studies, subgroup);
}

export async function noSubgroup(studies: readonly StudyRecord[], subgroup: string | undefined): Promise<Error> {
  const known = [...new Set(studies.flatMap(subgroupsOf))];
  const found = subgroup === undefined ? 'none' : `${subgroup}${await didYouMean(subgroup, known)}`;
  const of = studies.map(({ name }) => name).join(', ') || 'a study';
  return usageError(`expected --subgroup ${known.join(' or ')} for ${of}, found ${found}`);
}

/** After an interruption, prints how many of `all` users, at most `most`, are done. */
export async function noteInterrupted(
  { signal, output }: CommandContext,
  done: number,
  all: AsyncIterable<unknown>,
  { most = Number.POSITIVE_INFINITY, next = '' } = {},
): Promise<void> {
  if (!signal.aborted) return;
  let total = 0;
  for await (const _ of all) total += 1;
  output.note(`interrupted after ${done} of ${counted(Math.min(total, most), 'user')}${next}`);
}

/** Counts a user as done when the next user is requested. */
export async function* countedOff(users: AsyncIterable<UserRecord>, count: { done: number }) {
  for await (const user of users) {
    yield user;
    count.done += 1;
  }
}
