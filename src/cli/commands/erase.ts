import { createInterface } from 'node:readline';
import { isUuid } from '../../model/ids.ts';
import { isMobilityError, MobilityError, usageError } from '../../model/mobility-error.ts';
import { userNameOf } from '../../model/user.ts';
import { everyUser } from '../../store/paging.ts';
import { collections, type Store } from '../../store/store.ts';
import { type ErasedUser, erasePeople, type PersonToErase, type Receipt, totalOf } from '../../upkeep/erase-people.ts';
import { fileText } from '../../util/file-access.ts';
import { DocumentedCommand, type OptionsOf } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { isMember, refuseUnknownStudy, type UserChoice, withUsersOrStudy } from '../user-options.ts';

export const command = (context: CommandContext) => flags().action(context.run(run));

const flags = () =>
  withUsersOrStudy(
    new DocumentedCommand('erase').examples(`
  mobility export --user ada@example.org --out ada
  mobility erase --user ada@example.org
  mobility erase --study sunny --yes --json > receipt.json

The receipt lists the places that the command cannot reach. An erasure can be repeated.
Exit code 3: some users are not erased, or a log file may still name one; repeat the command.`),
  )
    .option('--file <file>', 'every user of this file, one name or UUID a line')
    .option('--yes', 'do not ask for confirmation');

type Options = OptionsOf<typeof flags>;

async function run(context: CommandContext, options: Options): Promise<Outcome> {
  const store = await context.store();
  const people = await selectPeople(context, store, options);
  if (!options.yes && people.length > 0) await confirm(context, store, people);
  const progress = context.output.progress('erasing');
  const receipt = await erasePeople(store, people, {
    now: context.now,
    signal: context.interruptible(),
    openLog: () => context.log('pipeline'),
    logDir: context.config().logDir,
    onProgress: progress.update,
  });
  await context.output
    .result(receipt, () => receiptText(receipt))
    .catch((error) => {
      if (!isMobilityError(error, 'MOBILITY_OUTPUT')) throw error;
      // A repeated erasure would find nothing to remove, so no other receipt can list these rows.
      context.output.note(context.output.json ? JSON.stringify(receipt, null, 2) : receiptText(receipt));
      const text = `the users are erased, and the receipt is above, on standard error: ${error.message}`;
      throw new MobilityError('MOBILITY_OUTPUT', text, { cause: error });
    });
  for (const { message, ...person } of receipt.failed) context.output.note(`${nameOf(person)}: ${message}`);
  const left = people.length - receipt.users.length - receipt.failed.length;
  if (left > 0) context.output.note(`interrupted: ${counted(left, 'user')} not erased; repeat the command`);
  if (receipt.failed.length + receipt.logs.left.length > 0) return { exitCode: 3 };
  return left > 0 ? {} : { exitCode: 0 }; // complete, even if a signal arrived after the last user
}

async function selectPeople(context: CommandContext, store: Store, options: Options): Promise<PersonToErase[]> {
  const { file, user = [], study } = options;
  if (study === undefined && user.length === 0 && file === undefined)
    throw usageError('expected --user NAME, --study NAME or --file FILE, found none of them');
  const lines = file === undefined ? [] : (await fileText(file)).split('\n').map((line) => line.trim());
  const people = study === undefined ? [] : await membersOf(context, store, options);
  for (const name of [...user, ...lines.filter((line) => line !== '')]) people.push(await findPerson(context, name));
  return [...new Map(people.map((person) => [nameOf(person), person])).values()];
}

const nameOf = ({ user_email, uuid }: PersonToErase): string => user_email ?? uuid ?? '';

/** Accepts a name or UUID that is not registered, because the erasure may be repeated. */
async function findPerson(context: CommandContext, name: string): Promise<PersonToErase> {
  try {
    const { user_email, uuid } = await context.findUser(name);
    return { user_email, uuid };
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
    context.output.note(`${name} is not registered: check the spelling if this is not a repeated erasure`);
    const uuid = name.toLowerCase();
    return isUuid(uuid) ? { user_email: null, uuid } : { user_email: userNameOf(name), uuid: null };
  }
}

async function membersOf(context: CommandContext, store: Store, whom: UserChoice): Promise<PersonToErase[]> {
  const members: PersonToErase[] = [];
  for await (const user of everyUser(store))
    if (isMember(user, whom)) members.push({ user_email: user.user_email, uuid: user.uuid });
  if (members.length > 0) return members;
  await refuseUnknownStudy(context, whom);
  context.output.note(`the study ${whom.study} has no members: nothing is left to erase`);
  return [];
}

async function confirm(context: CommandContext, store: Store, people: readonly PersonToErase[]): Promise<void> {
  const { stdin, output, writeErr } = context;
  if (stdin.isTTY !== true) throw usageError('erase needs a typed confirmation: use a terminal, or add --yes');
  let rows = 0;
  for (const { uuid } of people) if (uuid !== null) rows += totalOf(await store.counts(uuid));
  const isOne = people.length === 1;
  const word = isOne ? nameOf(people[0]!) : String(people.length);
  const whom = isOne ? word : counted(people.length, 'user');
  output.note(`This removes ${whom} and ${counted(rows, 'row')} permanently.`);
  writeErr(`Type ${word} to continue: `);
  const lines = createInterface({ input: stdin });
  const typed = await new Promise<string>((resolve) => {
    lines.once('line', resolve).once('close', () => resolve(''));
  });
  lines.close();
  if (typed.trim() === word) return;
  throw usageError(`expected ${word}, found other text; nothing was erased`);
}

function receiptText({ users, logs, not_reached, kept }: Receipt): string {
  const rows = collections.map((name) => {
    const sum = (of: 'removed' | 'remaining'): string => String(users.reduce((all, user) => all + user[of][name], 0));
    return [`  ${name}`, sum('removed'), sum('remaining')];
  });
  return [
    ...users.map((user) => `${endingOf(user)} ${nameOf(user)}`),
    `${table([['  COLLECTION', 'REMOVED', 'LEFT'], ...rows], [1, 2])}`,
    `log files in ${logs.folder}: names replaced in ${counted(logs.lines, 'line')} of ${counted(logs.rewritten, 'file')}`,
    ...logs.left.map(
      ({ file, reason }) => `  users may still be named in ${file}: ${reason}; repair or remove the file, and repeat`,
    ),
    `not reached: ${not_reached.join('; ')}`,
    `kept: ${kept}`,
  ].join('\n');
}

function endingOf({ removed, remaining }: ErasedUser): string {
  if (totalOf(remaining) > 0) return 'erased except the name, which is kept so that the command can be repeated:';
  return totalOf(removed) > 0 ? 'erased' : 'nothing left of';
}
