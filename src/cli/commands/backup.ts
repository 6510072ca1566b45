import { folderIn, isMongoAddress, withoutCredentials } from '../../model/address.ts';
import { MobilityError } from '../../model/mobility-error.ts';
import { backupStore } from '../../upkeep/backup-store.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { workTimeText } from '../output.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('backup')
    .examples(`
  mobility backup /var/backups/mobility/$(date +%F)
  mobility status --store /var/backups/mobility/2026-11-21

To restore, stop server and pipeline, and put the copy where the store was.
Back up a store in MongoDB with the tools of MongoDB.`)
    .argument('<folder>', 'new or empty folder for the copy; the copy is itself a store')
    .action(context.run(backup));
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
  context.output.progress(`copying to ${target}`);
  const report = await backupStore(folderIn(store), target, signal);
  const seconds = context.now() - started;
  const text = `${target}: ${(report.bytes / 2 ** 20).toFixed(1)} MiB, in ${workTimeText(seconds)}`;
  await context.output.result({ folder: target, ...report, seconds }, text);
  return { exitCode: 0 }; // the backup is complete, even if a signal arrived after its last step
}
