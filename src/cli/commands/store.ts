// `mobility store`: the place where everything is kept: made ready before anybody uses it, and kept in order.
import { basename } from 'node:path';
import { Command } from 'commander';
import { folderIn, isMongoAddress } from '../../model/address.ts';
import { convertStore } from '../../upkeep/convert-store.ts';
import { purgeUnowned } from '../../upkeep/erase-user.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { checkCommand } from './store-check.ts';
import { mendCommand } from './store-mend.ts';

/** Commands that concern the store itself. */
export function storeCommand(context: CommandContext): Command {
  return new Command('store')
    .description('prepare, check and clean up the store')
    .addCommand(checkCommand(context))
    .addCommand(initCommand(context))
    .addCommand(mendCommand(context))
    .addCommand(convertCommand(context))
    .addCommand(purgeUnownedCommand(context))
    .addHelpText('after', '\nExamples:\n  mobility store init\n  mobility store check');
}

function initCommand(context: CommandContext): Command {
  return new Command('init')
    .description('create the store or its missing parts, and show its layout')
    .option(
      '--shards <n>',
      'embedded store, when it is created: number of file pairs (shards) to spread the users over',
      wholeNumber(1, 256),
    )
    .addHelpText(
      'after',
      `
Examples:
  mobility store init
  mobility store init --store 'mongodb://db.example.org/mobility?replicaSet=rs0'

In MongoDB it creates collections and indexes, and shards them on a cluster. It changes nothing that exists, so it can be repeated.
Exit code 3: the store works, but a part could not be done, such as sharding without the privilege for it.`,
    )
    .action(context.run((options: { shards?: number }) => init(context, options)));
}

async function init(context: CommandContext, { shards }: { shards?: number }): Promise<Outcome> {
  const address = context.config().store;
  if (isMongoAddress(address)) return initMongo(context, address);
  const store = await context.store({ make: true, ...(shards !== undefined && { shards }) });
  const { pathsOf, readLabel } = await import('../../store/sqlite/folder.ts');
  const folder = folderIn(address);
  const label = (await readLabel(folder))!;
  const files = pathsOf(folder, label.shards).map((path) => basename(path));
  await context.output.result({ address: store.address, engine: 'sqlite', ...label, files }, () => {
    return [`${store.address}: format ${label.version}, ${counted(label.shards, 'shard')}`, ...files].join('\n  ');
  });
  if (shards === undefined || shards === label.shards) return {};
  context.output.note(
    `the store was created with ${counted(label.shards, 'shard')} and keeps them; to change that, see mobility migrate`,
  );
  return { exitCode: 3 };
}

async function initMongo(context: CommandContext, address: string): Promise<Outcome> {
  const { initMongoStore } = await import('../../store/mongodb/store.ts');
  const { warnings, ...layout } = await initMongoStore(address);
  await context.output.result({ ...layout, engine: 'mongodb', warnings }, () => {
    const rows = Object.entries(layout.indexes).map(([collection, names]) => [`  ${collection}`, names.join(', ')]);
    const head = `${layout.address}: format ${layout.version}`;
    return `${head}\n${table([['  COLLECTION', 'INDEXES BESIDE _id'], ...rows])}`;
  });
  for (const text of warnings) context.output.note(text);
  return warnings.length > 0 ? { exitCode: 3 } : {};
}

function convertCommand(context: CommandContext): Command {
  return new Command('convert')
    .description('bring entries that an earlier version stored into the form of today')
    .option('--dry-run', 'count them only')
    .addHelpText(
      'after',
      `
Examples:
  mobility store convert --dry-run
  mobility store convert

The service does this by itself, for each user when it first needs their entries. The command does it ahead, user by user, and may run
beside the service. Make a backup first (mobility backup). Ctrl-C ends it after the step in work; the same command goes on. The files
of an embedded store do not shrink by it: freed pages are used again. Exit code 3: some entries are left.`,
    )
    .action(context.run((options: { dryRun?: true }) => convert(context, options.dryRun === true)));
}

async function convert(context: CommandContext, dryRun: boolean): Promise<Outcome> {
  const store = await context.store();
  const signal = context.interruptible();
  const onUser = (name: string, entries: number): void =>
    context.output.note(`${name}: ${counted(entries, 'entry', 'entries')}`);
  const { converted, left } = await convertStore(store, { dryRun, signal, onUser });
  const text = (count: { users: number; entries: number }): string =>
    `${counted(count.entries, 'entry', 'entries')} of ${counted(count.users, 'user')}`;
  await context.output.result({ dry_run: dryRun, converted, left }, () =>
    dryRun ? `to convert: ${text(left)}` : `converted: ${text(converted)}; left: ${text(left)}`,
  );
  return !dryRun && left.entries > 0 ? { exitCode: 3 } : {};
}

function purgeUnownedCommand(context: CommandContext): Command {
  return new Command('purge-unowned')
    .description('remove rows whose owner is not registered')
    .option('--dry-run', 'list them only')
    .addHelpText(
      'after',
      `
Examples:
  mobility store purge-unowned --dry-run
  mobility store purge-unowned --json

Such rows are left by an erasure or a migration that was interrupted and not repeated, or by an earlier version.
Let a migration into this store end before: it registers its users last. Exit code 3: somebody works on some of them.`,
    )
    .action(context.run((options: { dryRun?: true }) => purge(context, options.dryRun === true)));
}

async function purge(context: CommandContext, dryRun: boolean): Promise<Outcome> {
  const purged = await purgeUnowned(await context.store(), { dryRun });
  await context.output.result({ dry_run: dryRun, purged }, () => {
    if (purged.length === 0) return 'every row belongs to somebody who is registered';
    return table(
      [
        ['UUID', 'ROWS', ''],
        ...purged.map(({ user_id, rows, status, message }) => [user_id, String(rows), message ?? status]),
      ],
      [1],
    );
  });
  return purged.some(({ status }) => status === 'busy') ? { exitCode: 3 } : {};
}
