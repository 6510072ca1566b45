// `mobility erase`: removes everything of users from the store and the log files, and proves it.
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { type ScrubReceipt, scrubLogs } from '../../log/scrub.ts';
import { isUuid } from '../../model/ids.ts';
import { errorText, isMobilityError, MobilityError, usageError } from '../../model/mobility-error.ts';
import { userNameOf } from '../../model/user.ts';
import { everyUser } from '../../store/paging.ts';
import { type Collection, collections, type Store } from '../../store/store.ts';
import { eraseUser, totalOf, wipeTraces } from '../../upkeep/erase-user.ts';
import { fileText } from '../../util/file-access.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { isMember, refuseUnknownStudy, type Whom, withUsersOrStudy } from '../user-options.ts';

interface Options extends Whom {
  file?: string;
  yes?: true;
}

/** Null where the store does not have it: the UUID of a name, or the name of a UUID, that is not registered. */
interface Person {
  user_email: string | null;
  uuid: string | null;
}

/** Rows by collection. `remaining`: all 0, but for the user's record while a log file names them. */
interface Erased extends Person {
  removed: Record<Collection, number>;
  remaining: Record<Collection, number>;
}

/** The proof of an erasure, for the operator's files. */
interface Receipt {
  store: string;
  /** Seconds since the epoch. */
  erased_ts: number;
  users: Erased[];
  /** Users who are not erased, or of whom rows are left, with the reason. */
  failed: (Person & { message: string })[];
  /** Log files in which names and UUIDs were replaced. */
  logs: ScrubReceipt;
  /** Where the users may still be named: no command reaches it. */
  not_reached: readonly string[];
  /** What the store keeps, so that the phone does not join again. */
  kept: string;
}

/** Erases one user, several users or the members of a study. */
export function eraseCommand(context: CommandContext): Command {
  return withUsersOrStudy(new Command('erase'))
    .option('--file <file>', 'every user of this file, one name or UUID a line')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      `
Examples:
  mobility export --user ada@example.org --out ada
  mobility erase --user ada@example.org
  mobility erase --study sunny --yes --json > receipt.json

In log files, names and UUIDs are replaced by "erased". The receipt lists the places that the command cannot reach.
An erasure can be repeated: a name or UUID that is not registered is no failure, and is removed from log files.
Exit code 3: some users are not erased, or a log file may still name one; repeat the command.`,
    )
    .action(context.run((options: Options) => run(context, options)));
}

async function run(context: CommandContext, options: Options): Promise<Outcome> {
  const store = await context.store();
  const people = await peopleMeant(context, store, options);
  if (!options.yes && people.length > 0) await confirm(context, store, people);
  const receipt = await eraseAll(context, store, people);
  await context.output
    .result(receipt, () => receiptText(receipt))
    .catch((error) => {
      if (!isMobilityError(error, 'MOBILITY_OUTPUT')) throw error;
      // The erasure is done and cannot be repeated: there is no other receipt.
      context.output.note(context.output.json ? JSON.stringify(receipt, null, 2) : receiptText(receipt));
      const text = `the users are erased, and the receipt is above, on standard error: ${error.message}`;
      throw new MobilityError('MOBILITY_OUTPUT', text, { cause: error });
    });
  for (const { message, ...person } of receipt.failed) context.output.note(`${nameOf(person)}: ${message}`);
  const left = people.length - receipt.users.length - receipt.failed.length;
  if (left > 0) context.output.note(`interrupted: ${counted(left, 'user')} not erased; repeat the command`);
  if (receipt.failed.length + receipt.logs.left.length > 0) return { exitCode: 3 };
  return left > 0 ? {} : { exitCode: 0 }; // done, also if a signal came after the last user
}

/** Everybody whom the flags name. */
async function peopleMeant(context: CommandContext, store: Store, options: Options): Promise<Person[]> {
  const { file, user = [], study } = options;
  if (study === undefined && user.length === 0 && file === undefined) {
    throw usageError('expected --user NAME, --study NAME or --file FILE');
  }
  const lines = file === undefined ? [] : (await fileText(file)).split('\n').map((line) => line.trim());
  const people = new Map<string, Person>();
  for (const name of [...user, ...lines.filter((line) => line !== '')]) {
    const person = await findPerson(context, name);
    people.set(nameOf(person), person);
  }
  if (study !== undefined)
    for (const member of await membersOf(context, store, options)) people.set(nameOf(member), member);
  return [...people.values()];
}

const nameOf = ({ user_email, uuid }: Person): string => user_email ?? uuid ?? '';

/** The registered user; or a name or UUID that is not registered: their erasure may be a repeated one. */
async function findPerson(context: CommandContext, name: string): Promise<Person> {
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

/** The members of the study; none if all are erased. Throws `MOBILITY_USAGE` for a study that does not exist. */
async function membersOf(context: CommandContext, store: Store, whom: Whom): Promise<Person[]> {
  const members: Person[] = [];
  for await (const user of everyUser(store)) {
    if (isMember(user, whom)) members.push({ user_email: user.user_email, uuid: user.uuid });
  }
  if (members.length > 0) return members;
  await refuseUnknownStudy(context, whom);
  context.output.note(`nobody is in the study ${whom.study}: nothing is left to erase`);
  return [];
}

/** Asks for the name of the one user, or for the number of users. */
async function confirm(context: CommandContext, store: Store, people: readonly Person[]): Promise<void> {
  const { stdin, output, writeErr } = context;
  if (stdin.isTTY !== true) {
    throw usageError('erase needs a typed confirmation: use a terminal, or add --yes');
  }
  let rows = 0;
  for (const { uuid } of people) if (uuid !== null) rows += totalOf(await store.counts(uuid));
  const [first, ...others] = people;
  const word = others.length > 0 ? String(people.length) : nameOf(first!);
  const whom = others.length > 0 ? counted(people.length, 'user') : word;
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

/**
 * Erases one user after the other until the signal, then removes their names from log files, and their records at last:
 * an erasure that was killed still finds the name. Skips a user whose lease another process holds; another error ends
 * the work. Throws only for a single user: the receipt has to list who is erased.
 */
async function eraseAll(context: CommandContext, store: Store, people: readonly Person[]): Promise<Receipt> {
  const signal = context.interruptible();
  const users: Erased[] = [];
  const failed: Receipt['failed'] = [];
  const progress = context.output.progress('erasing');
  for (const person of people) {
    if (signal.aborted) break;
    progress.update(`${users.length} of ${counted(people.length, 'user')} erased`);
    try {
      users.push(await eraseRows(store, person));
    } catch (error) {
      if (people.length === 1) throw error;
      failed.push({ ...person, message: errorText(error) });
      if (!isMobilityError(error, 'MOBILITY_LEASE_HELD')) break;
    }
  }
  const rows = users.reduce((sum, { removed }) => sum + totalOf(removed), 0);
  (await context.log('pipeline')).write('INFO', `Erased ${counted(users.length, 'user')}: ${counted(rows, 'row')}`);
  progress.update('removing names from log files');
  const logs = await scrubLogs(context.config().logDir, users);
  if (logs.left.length === 0) for (const user of users) await eraseRecord(store, user);
  await wipeTraces(store);
  const erased = { store: store.address, erased_ts: context.now(), users, failed };
  return { ...erased, logs, not_reached: notReached(store), kept };
}

/** Removes all rows of a user but their record. */
async function eraseRows(store: Store, person: Person): Promise<Erased> {
  if (person.uuid === null) return { ...person, removed: noRows(), remaining: noRows() };
  const removed = await eraseUser(store, person.uuid, { keepRecord: true });
  return { ...person, removed, remaining: await store.counts(person.uuid) };
}

/** Removes the record of a user, and counts what is left of them. */
async function eraseRecord(store: Store, user: Erased): Promise<void> {
  if (user.uuid === null) return;
  await eraseUser(store, user.uuid, { keepTraces: true });
  user.remaining = await store.counts(user.uuid);
  const left = totalOf(user.remaining);
  if (left > 0)
    throw new Error(`${counted(left, 'row')} of ${user.uuid} are still there: stop the phone or the server and repeat`);
}

const noRows = () => Object.fromEntries(collections.map((name) => [name, 0])) as Erased['removed'];

const kept =
  'of people who joined a study by its link: the name of the study and 64 bits of the SHA-256 of their token, so that their app does not join again';

/** What no command reaches, and what the engine keeps: MongoDB overwrites its free pages, journal and oplog in time. */
function notReached({ address }: Store): readonly string[] {
  const isMongo = address.startsWith('mongodb');
  return [
    "the server's standard output, as a journal or a container's log keeps it",
    'log files of other folders and hosts',
    'backups and exports made before',
    ...(isMongo ? ["bytes in the MongoDB server's own files until it overwrites them"] : []),
  ];
}

function receiptText({ users, logs, not_reached }: Receipt): string {
  const sum = (of: (user: Erased) => number): string => String(users.reduce((total, user) => total + of(user), 0));
  const rows = collections.map((name) => [
    `  ${name}`,
    sum(({ removed }) => removed[name]),
    sum(({ remaining }) => remaining[name]),
  ]);
  return [
    ...users.map((user) => `${endingOf(user)} ${nameOf(user)}`),
    `${table([['  COLLECTION', 'REMOVED', 'LEFT'], ...rows], [1, 2])}`,
    `log files in ${logs.folder}: names replaced in ${counted(logs.lines, 'line')} of ${counted(logs.rewritten, 'file')}`,
    ...logs.left.map(({ file, reason }) => `  may still be named in ${file}: ${reason}; mend or remove it, and repeat`),
    `not reached: ${not_reached.join('; ')}`,
    `kept: ${kept}`,
  ].join('\n');
}

function endingOf({ removed, remaining }: Erased): string {
  if (totalOf(remaining) > 0) return 'erased but for the name, which repeating needs:';
  return totalOf(removed) > 0 ? 'erased' : 'nothing left of';
}
