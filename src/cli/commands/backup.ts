// `mobility backup`: a copy of the embedded store, taken while server and pipeline go on.
import { Command } from 'commander';
import { folderIn, isMongoAddress, withoutCredentials } from '../../model/address.ts';
import { MobilityError } from '../../model/errors.ts';
import { checkStore } from '../../store/open.ts';
import { backupSqliteStore } from '../../store/sqlite/backup.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted } from '../output.ts';
import { workTimeText } from '../wording.ts';

const mebibyte = 1024 * 1024;

/** Copies an embedded store. */
export function backupCommand(context: CommandContext): Command {
  return new Command('backup')
    .description('copy the embedded store while server and pipeline keep running')
    .argument('<folder>', 'new or empty folder for the copy; the copy is itself a store')
    .addHelpText(
      'after',
      `
Examples:
  mobility backup /var/backups/mobility/$(date +%F)
  mobility status --store /var/backups/mobility/2026-11-21

Exit code 3: the copy is made, and rows of the store are damaged or could not be checked.
To restore, stop server and pipeline, and put the copy where the store was.
Back up a store in MongoDB with the tools of MongoDB.`,
    )
    .action(context.run((folder: string) => backup(context, folder)));
}

async function backup(context: CommandContext, target: string): Promise<Outcome> {
  const { store } = context.config();
  if (isMongoAddress(store)) {
    throw new MobilityError(
      'MOBILITY_UNSUPPORTED',
      `expected an embedded store, found ${withoutCredentials(store)}: back up MongoDB with its own tools, such as ` +
        '`mongodump --uri ADDRESS --oplog --gzip --archive=FILE` (of a replica set; the address without a database), or copy the ' +
        'store into a folder with `mobility migrate --to sqlite:FOLDER`; see docs/storage-mongodb.md',
    );
  }
  const signal = context.interruptible();
  const started = context.now();
  const progress = context.output.progress(`copying to ${target}`);
  const copied = async () => {
    const report = await backupSqliteStore(folderIn(store), target, { signal });
    // Its pages were looked at while it was copied.
    const onProgress = (text: string): void => progress.update(`checking ${text}`);
    return { ...report, check: await checkStore(target, { pages: false, signal, onProgress }) };
  };
  const { check, ...report } = await copied().finally(() => progress.done());
  const seconds = context.now() - started;
  const damaged = check.findings.filter(({ code }) => code.startsWith('DAMAGED')).length + check.more;
  const size = `${report.files.length} files, ${(report.bytes / mebibyte).toFixed(1)} MiB`;
  await context.output.result(
    { folder: target, ...report, seconds, damaged },
    `${target}: ${size}, ${check.complete ? 'pages and rows' : 'pages'} checked, in ${workTimeText(seconds)}`,
  );
  if (signal.aborted) context.output.note('interrupted: the copy is whole; not all of its rows were checked');
  for (const { file, code, what } of check.unchecked)
    context.output.note(`the copy is made, and ${file} in it could not be checked: ${code}: ${what}`);
  if (damaged === 0) return check.unchecked.length === 0 ? {} : { exitCode: 3 };
  context.output.note(
    `the copy is whole, and holds ${counted(damaged, 'damaged row')} as the store does: see mobility store check. Keep earlier backups`,
  );
  return { exitCode: 3 };
}
