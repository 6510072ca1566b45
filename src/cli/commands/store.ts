// `mobility store`: creates the store and checks it.
import { Command } from '@commander-js/extra-typings';
import type { CommandContext, Outcome } from '../context.ts';
import { checkCommand } from './store-check.ts';

export function command(context: CommandContext) {
  return new Command('store')
    .addCommand(checkCommand(context))
    .addCommand(initCommand(context))
    .addHelpText('after', '\nExamples:\n  mobility store init\n  mobility store check');
}

function initCommand(context: CommandContext) {
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
  const warnings: string[] = [];
  const store = await context.store({ make: true, onWarning: (text) => warnings.push(text) });
  await context.output.result({ address: store.address, warnings }, `${store.address}: ready`);
  for (const text of warnings) context.output.note(text);
  return warnings.length > 0 ? { exitCode: 3 } : {};
}
