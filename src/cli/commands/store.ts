// `mobility store`: the place where everything is kept, made ready before anybody uses it.
import { basename } from 'node:path';
import { Command } from 'commander';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';

/** Commands that concern the store itself. */
export function storeCommand(context: CommandContext): Command {
  return new Command('store')
    .description('prepare the store')
    .addCommand(initCommand(context))
    .addHelpText('after', '\nExample:\n  mobility store init');
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
  if (/^mongodb(\+srv)?:\/\//.test(address)) return initMongo(context, address);
  const store = await context.store({ make: true, ...(shards !== undefined && { shards }) });
  const { pathsOf, readLabel } = await import('../../store/sqlite/folder.ts');
  const folder = address.replace(/^sqlite:/, '');
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
