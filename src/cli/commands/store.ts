// `mobility store`: creates the store, checks it and cleans it up.
import { Command } from 'commander';
import { isMongoAddress } from '../../model/address.ts';
import { purgeUnowned } from '../../upkeep/erase-user.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { table } from '../output.ts';
import { checkCommand } from './store-check.ts';

/** Commands about the store itself. */
export function storeCommand(context: CommandContext): Command {
  return new Command('store')
    .description('prepare, check and clean up the store')
    .addCommand(checkCommand(context))
    .addCommand(initCommand(context))
    .addCommand(purgeUnownedCommand(context))
    .addHelpText('after', '\nExamples:\n  mobility store init\n  mobility store check');
}

function initCommand(context: CommandContext): Command {
  return new Command('init')
    .description('create the store or its missing parts')
    .addHelpText(
      'after',
      `
Examples:
  mobility store init
  mobility store init --store 'mongodb://db.example.org/mobility?replicaSet=rs0'

In MongoDB it creates collections and indexes, and shards them on a cluster. It changes nothing that exists, so it can be repeated.
Exit code 3: the store works, but a part could not be done, such as sharding without the privilege for it.`,
    )
    .action(context.run(() => init(context)));
}

async function init(context: CommandContext): Promise<Outcome> {
  const address = context.config().store;
  if (isMongoAddress(address)) return initMongo(context, address);
  const store = await context.store({ make: true });
  await context.output.result({ address: store.address, engine: 'sqlite' }, `${store.address}: ready`);
  return {};
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

An erasure or a migration that was interrupted and not repeated leaves such rows.
Let a migration into this store end first: it registers its users last. Exit code 3: another process works on some of them.`,
    )
    .action(context.run((options: { dryRun?: true }) => purge(context, options.dryRun === true)));
}

async function purge(context: CommandContext, dryRun: boolean): Promise<Outcome> {
  const purged = await purgeUnowned(await context.store(), { dryRun });
  const rows = purged.map(({ user_id, rows, status, message }) => [user_id, String(rows), message ?? status]);
  await context.output.result({ dry_run: dryRun, purged }, () =>
    rows.length === 0 ? 'every row belongs to a registered user' : table([['UUID', 'ROWS', ''], ...rows], [1]),
  );
  return purged.some(({ status }) => status === 'busy') ? { exitCode: 3 } : {};
}
