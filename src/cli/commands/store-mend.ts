// `mobility store mend`: puts damaged rows of a user right, or sets them aside in a file; and mends indexes.
import { open } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Command } from 'commander';
import { folderIn, isMongoAddress } from '../../model/address.ts';
import { MobilityError } from '../../model/errors.ts';
import { isUuid } from '../../model/ids.ts';
import type { MendedRow, MendOptions } from '../../store/sqlite/mend.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';

interface Options {
  user?: string;
  keep?: string;
  indexes?: true;
}

/** Mends what `store check` found. */
export function mendCommand(context: CommandContext): Command {
  return new Command('mend')
    .description('mend damaged rows of a user, or the indexes of the files')
    .option('--user <name>', 'name or UUID of the user')
    .option('--keep <file>', 'with --user: new file for the bytes of rows that cannot be read')
    .option('--indexes', 'write the indexes of all files again from their tables')
    .addHelpText(
      'after',
      `
Examples:
  mobility store mend --user ada@example.org --keep ada-damaged.jsonl
  mobility store mend --indexes

A single flipped bit is corrected. What can be read is kept. Rows that cannot be read go to the file and leave the store.
Make a backup before. Trips, documents and the pipeline state derive from entries: mobility rebuild mends them.
Exit code 3: rows went to the file, or could not be read at all.`,
    )
    .action(context.run((options: Options) => run(context, options)));
}

async function run(context: CommandContext, { user, keep, indexes }: Options): Promise<Outcome> {
  const folder = expectFolder(context);
  if (indexes && user === undefined) {
    const { mendIndexes } = await import('../../store/sqlite/mend.ts');
    const files = await mendIndexes(folder);
    await context.output.result(
      { indexes: files },
      () => `the indexes of ${counted(files.length, 'file')} are written again`,
    );
    return {};
  }
  if (user === undefined || keep === undefined || indexes) {
    throw new MobilityError('MOBILITY_USAGE', 'expected --user NAME with --keep FILE, or --indexes alone');
  }
  const uuid = isUuid(user.toLowerCase()) ? user.toLowerCase() : (await context.findUser(user)).uuid;
  let keptRows = 0;
  const progress = context.output.progress('looking for damaged rows');
  const { mendSqliteUser } = await import('../../store/sqlite/mend.ts');
  const mended = await mendSqliteUser(folder, uuid, {
    ...mendOptions(context),
    keep: async (row) => {
      await appendSynced(keep, `${JSON.stringify({ user_id: uuid, ...row }, bytesAsText)}\n`, keptRows === 0);
      keptRows += 1;
    },
  }).finally(() => progress.done());
  const kept_in = keptRows > 0 ? keep : null;
  await context.output.result({ user_id: uuid, mended, kept_in }, () => mendedText(mended, kept_in));
  return mended.some(({ outcome }) => outcome === 'removed' || outcome === 'left') ? { exitCode: 3 } : {};
}

/** What every mending gets from the context. */
export function mendOptions(context: CommandContext): Omit<MendOptions, 'keep' | 'derived'> {
  return {
    owner: `mending ${process.pid} on ${hostname()}`,
    leaseSeconds: context.config().leaseSeconds,
    now: context.now,
    signal: context.interruptible(),
  };
}

function expectFolder(context: CommandContext): string {
  const { store } = context.config();
  if (!isMongoAddress(store)) return folderIn(store);
  throw new MobilityError(
    'MOBILITY_UNSUPPORTED',
    'expected an embedded store, found one in MongoDB: MongoDB checks its pages itself; restore a backup of the database',
  );
}

/** Bytes as base64. */
function bytesAsText(_: string, value: unknown): unknown {
  const bytes = value as { type?: string; data?: number[] };
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString('base64') };
  if (bytes?.type === 'Buffer') return { base64: Buffer.from(bytes.data!).toString('base64') };
  return value;
}

/** Adds a line and puts it on disk. The first one makes the file, which must not be there yet. */
async function appendSynced(path: string, line: string, isFirst: boolean): Promise<void> {
  const file = await open(path, isFirst ? 'ax' : 'a', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    const text = `expected the name of a new file with --keep, found ${path}, which exists; give another name. Rows that cannot be read stay`;
    throw new MobilityError('MOBILITY_USAGE', text);
  });
  try {
    await file.writeFile(line);
    await file.sync();
  } finally {
    await file.close();
  }
}

function mendedText(mended: readonly MendedRow[], keptIn: string | null): string {
  if (mended.length === 0) return 'no damaged row was found';
  const rows = mended.map(({ file, table: name, row, outcome, found, entries }) => {
    const lost = entries === undefined ? '' : counted(entries, 'entry', 'entries');
    return [`${file}, ${name} ${row}`, outcome, lost, found];
  });
  const kept = keptIn === null ? '' : `\ntheir bytes are in ${keptIn}`;
  return `${table([['ROW', 'OUTCOME', '', 'FOUND'], ...rows])}${kept}`;
}
