import { minuteText } from '../../diary/number-text.ts';
import { isManagerName, type ManagerRecord } from '../../model/manager.ts';
import { usageError } from '../../model/mobility-error.ts';
import { randomText, typedLetters } from '../../upkeep/enrol-member.ts';
import { streamText } from '../../util/file-access.ts';
import { leastPassword, passwordHash } from '../../web/password-hash.ts';
import { DocumentedCommand, type OptionsOf, repeated } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, listing, withZone } from '../output.ts';
import { findStudy, nameError } from '../user-options.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('managers')
    .examples(`
  mobility managers add mira --study sunny
  mobility managers list`)
    .addCommand(addFlags().action(context.run(add)))
    .addCommand(new DocumentedCommand('list', 'list the accounts').action(context.run(list)))
    .addCommand(
      new DocumentedCommand('remove', 'remove an account, and end its sessions')
        .argument('<name>', 'name of the account')
        .action(context.run(remove)),
    );
}

const addFlags = () =>
  new DocumentedCommand('add', 'create an account, or give an existing one new studies and a new password')
    .examples(`
  mobility managers add mira --study sunny
  mobility managers add mira --study sunny --study windy --password-stdin < password.txt

The account signs in at SERVER/study. A new password ends all sessions of the account and any lock.`)
    .argument('<name>', 'name to sign in with: lower case letters, digits, hyphens and dots')
    .option('--study <name>', 'a study that they see (repeatable)', repeated)
    .option('--may-export', 'let them download the tables of their studies')
    .option('--operator', 'let them see the page of the operator')
    .option('--password-stdin', 'read the password from standard input; default: make one and print it once');

async function add(context: CommandContext, name: string, options: OptionsOf<typeof addFlags>): Promise<void> {
  const { study: studies = [], operator = false, mayExport } = options;
  if (!isManagerName(name)) throw nameError('a name of up to 40 lower case letters, digits, hyphens and dots', name);
  if (studies.length === 0 && !operator) throw usageError('expected --study NAME or --operator, found neither');
  for (const study of studies) await findStudy(context, study);
  const password = options.passwordStdin ? (await streamText(context.stdin)).replace(/\r?\n$/, '') : newPassword();
  if (password.length < leastPassword)
    throw usageError(`expected a password of at least ${leastPassword} characters, found ${password.length}`);
  const { managers } = await context.store();
  const before = await managers.byName(name);
  const record: ManagerRecord = {
    name,
    studies: [...new Set(studies)],
    operator,
    ...(mayExport && { may_export: true as const }),
    password: await passwordHash(password),
    created_ts: before?.created_ts ?? context.now(),
    failures: 0,
    locked_ts: 0,
    sessions: [],
  };
  await managers.change(name, () => record);
  const shown = options.passwordStdin ? {} : { password };
  await context.output.result({ ...publicOf(record), ...shown }, shown.password ?? name);
  const note = options.passwordStdin ? '' : '; the password cannot be shown again';
  context.output.note(`${before === null ? 'account created' : 'account replaced'}${note}`);
}

const publicOf = ({ name, studies, operator, created_ts }: ManagerRecord) => ({ name, studies, operator, created_ts });

/** A password of 99 random bits, in groups that can be read out. */
const newPassword = (): string => Array.from({ length: 4 }, () => randomText(5, typedLetters)).join('-');

async function list(context: CommandContext): Promise<void> {
  const { output, zone } = context;
  const now = context.now();
  const found = await (await context.store()).managers.list();
  const rows = found.map(({ name, studies, operator, created_ts, locked_ts, sessions }) => [
    name,
    studies.join(', ') || 'none',
    operator ? 'yes' : 'no',
    minuteText(created_ts, zone),
    String(sessions.filter(({ expires_ts }) => expires_ts > now).length),
    locked_ts > now ? 'yes' : 'no',
  ]);
  const header = ['NAME', 'STUDIES', 'OPERATOR', 'MADE', 'SIGNED IN', 'LOCKED'];
  await output.result({ managers: found.map(publicOf) }, () => withZone(listing(header, rows, [4]), zone));
  output.note(counted(found.length, 'account'));
}

async function remove(context: CommandContext, name: string): Promise<void> {
  const { managers } = await context.store();
  if ((await managers.byName(name)) === null)
    throw usageError(`no account ${JSON.stringify(name)}: see \`mobility managers list\``);
  await managers.change(name, () => null);
  await context.output.result({ name, removed: true }, name);
  context.output.note('removed');
}
