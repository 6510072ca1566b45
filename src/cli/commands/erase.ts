// `mobility erase`: everything of one user, gone from every collection, and the proof of it.
import { createInterface } from 'node:readline';
import { Command } from 'commander';
import { type ScrubReceipt, scrubLogs } from '../../log/scrub.ts';
import { isMobilityError, MobilityError } from '../../model/errors.ts';
import { isUuid } from '../../model/ids.ts';
import { totalOf } from '../../store/erasing.ts';
import { type Collection, collections, type Store } from '../../store/store.ts';
import { eraseUser } from '../../upkeep/erase-user.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';

/** The proof of an erasure, for the operator's files. */
interface Receipt {
  user_email: string | null;
  uuid: string;
  store: string;
  /** seconds since the epoch */
  erased_ts: number;
  removed: Record<Collection, number>;
  /** Rows left in each collection: all 0. */
  remaining: Record<Collection, number>;
  /** Log files in which name and UUID were replaced. */
  logs: ScrubReceipt;
  /** Where they may still stand: no command reaches it. */
  not_reached: readonly string[];
}

const notReached = [
  "the server's standard output, as a journal or a container's log keeps it",
  'log files of other folders and hosts',
  'backups and exports made before',
] as const;

/** What no command reaches, beside what engines keep: MongoDB overwrites its free pages, journal and oplog in time. */
function notReachedOf({ address }: Store): readonly string[] {
  const isMongo = address.startsWith('mongodb');
  return isMongo ? [...notReached, "bytes in the MongoDB server's own files until it overwrites them"] : notReached;
}

/** Erases one user. */
export function eraseCommand(context: CommandContext): Command {
  return new Command('erase')
    .description('remove everything of a user and verify that nothing is left')
    .requiredOption('--user <name>', 'name or UUID of the user')
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      `
Examples:
  mobility export --user ada@example.org --out ada
  mobility erase --user ada@example.org
  mobility erase --user ada@example.org --yes --json > receipt.json

In log files, the user's name and UUID are replaced by "erased". The receipt lists the places that the command cannot reach.`,
    )
    .action(context.run((options: { user: string; yes?: true }) => run(context, options)));
}

async function run(context: CommandContext, { user, yes }: { user: string; yes?: true }): Promise<Outcome> {
  const store = await context.store();
  const { user_email, uuid } = await findEvenHalfErased(context, store, user);
  const rows = totalOf(await store.counts(uuid));
  if (!yes) await confirm(context, user_email ?? uuid, rows);
  const removed = await eraseUser(store, uuid);
  const remaining = await store.counts(uuid);
  const log = await context.log('pipeline');
  log.write('INFO', `UUID erased: erased ${totalOf(removed)} rows, ${totalOf(remaining)} remain`);
  const logs = await scrubLogs(context.config().logDir, [{ uuid, email: user_email }]);
  const proof = { removed, remaining, logs, not_reached: notReachedOf(store) };
  const receipt: Receipt = { user_email, uuid, store: store.address, erased_ts: context.now(), ...proof };
  await context.output
    .result(receipt, () => receiptText(receipt))
    .catch((error) => {
      if (!isMobilityError(error, 'MOBILITY_OUTPUT')) throw error;
      // The erasure is done and cannot be repeated: there is no other receipt.
      context.output.note(context.output.json ? JSON.stringify(receipt, null, 2) : receiptText(receipt));
      const text = `the user is erased, and the receipt is above, on standard error: ${error.message}`;
      throw new MobilityError('MOBILITY_OUTPUT', text, { cause: error });
    });
  if (totalOf(remaining) === 0) return logs.left.length === 0 ? {} : { exitCode: 3 };
  throw new Error(
    `${counted(totalOf(remaining), 'row')} of ${uuid} are still there: stop the phone or the server and repeat`,
  );
}

/** The registered user; or a UUID that has rows without being registered, as an interrupted erasure leaves it. */
async function findEvenHalfErased(
  context: CommandContext,
  store: Store,
  name: string,
): Promise<{ user_email: string | null; uuid: string }> {
  try {
    return await context.findUser(name);
  } catch (error) {
    const uuid = name.toLowerCase();
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN') || !isUuid(uuid)) throw error;
    if (totalOf(await store.counts(uuid)) === 0) throw error;
    return { user_email: null, uuid };
  }
}

async function confirm({ stdin, output, writeErr }: CommandContext, name: string, rows: number): Promise<void> {
  if (stdin.isTTY !== true) {
    throw new MobilityError('MOBILITY_USAGE', 'erase needs a typed confirmation: use a terminal, or add --yes');
  }
  output.note(`This removes ${name} and ${counted(rows, 'row')} permanently.`);
  writeErr(`Type ${name} to continue: `);
  const lines = createInterface({ input: stdin });
  const typed = await new Promise<string>((resolve) => {
    lines.once('line', resolve).once('close', () => resolve(''));
  });
  lines.close();
  if (typed.trim() === name) return;
  throw new MobilityError('MOBILITY_USAGE', `expected ${name}, found other text; nothing was erased`);
}

function receiptText({ user_email, uuid, removed, remaining, logs, not_reached }: Receipt): string {
  const rows = collections.map((name) => [`  ${name}`, String(removed[name]), String(remaining[name])]);
  return [
    `erased ${user_email ?? uuid}`,
    `${table([['  COLLECTION', 'REMOVED', 'LEFT'], ...rows], [1, 2])}`,
    `log files in ${logs.folder}: name and UUID replaced in ${counted(logs.lines, 'line')} of ${counted(logs.rewritten, 'file')}`,
    ...logs.left.map(({ file, reason }) => `  still named in ${file}: ${reason}; repeat the command`),
    `not reached: ${not_reached.join('; ')}`,
  ].join('\n');
}
