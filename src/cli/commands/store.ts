import { usageError } from '../../model/mobility-error.ts';
import { type CheckReport, checkStore, type Finding, leaveOut } from '../../upkeep/check-store.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, workTimeText } from '../output.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('store')
    .examples(`
  mobility store init
  mobility store check`)
    .addCommand(
      new DocumentedCommand('check', 'compare all rows of the store with their checksums')
        .examples(`
  mobility store check
  mobility store check --store /var/backups/mobility/2026-11-21
  mobility store check --user ada@example.org --leave-out

The server and the pipeline can run meanwhile. Ctrl-C ends the check and shows what it has found.
Exit code 3: something is damaged.`)
        .option('--user <name>', 'check the rows of one user only')
        .option('--leave-out', 'remove the damaged rows of that user')
        .action(context.run(check)),
    )
    .addCommand(
      new DocumentedCommand('init', 'create the store or its missing parts')
        .examples(`
  mobility store init
  mobility store init --store 'mongodb://db.example.org/mobility?replicaSet=rs0'

In MongoDB it creates collections and indexes, and shards them on a cluster. It changes nothing that exists.
Exit code 3: the store works, but a part could not be done, such as sharding without the privilege for it.`)
        .action(context.run(init)),
    );
}

async function init(context: CommandContext): Promise<Outcome> {
  const warnings: string[] = [];
  const store = await context.store({ make: true, onWarning: (text) => warnings.push(text) });
  await context.output.result({ address: store.address, warnings }, `${store.address}: ready`);
  for (const text of warnings) context.output.note(text);
  return warnings.length > 0 ? { exitCode: 3 } : {};
}

async function check(context: CommandContext, options: { user?: string; leaveOut?: true }): Promise<Outcome> {
  const { store } = context.config();
  const user = options.user === undefined ? null : await context.findUser(options.user);
  if (options.leaveOut) {
    if (user === null) throw usageError('expected --user NAME with --leave-out, found --leave-out alone');
    const removed = await leaveOut(store, user.uuid);
    await context.output.result({ store, user_id: user.uuid, removed }, () =>
      [...removed.map(findingText), `${counted(removed.length, 'row')} left out`].join('\n'),
    );
    return {};
  }
  const started = context.now();
  const progress = context.output.progress('checking');
  const report = await checkStore(store, {
    ...(user && { userId: user.uuid }),
    signal: context.interruptible(),
    onProgress: (rows) => progress.update(counted(rows, 'row')),
  });
  const seconds = context.now() - started;
  await context.output.result({ store, ...report, seconds }, () => checkedText(report, seconds));
  return report.findings.length > 0 ? { exitCode: 3 } : {};
}

function checkedText({ findings, rows, complete }: CheckReport, seconds: number): string {
  const read = `${counted(rows, 'row')} read in ${workTimeText(seconds)}${complete ? '' : ', not the whole store'}`;
  const verdict = findings.length === 0 ? 'nothing damaged' : `${counted(findings.length, 'finding')}`;
  return [...findings.map(findingText), `${verdict}; ${read}`].join('\n');
}

function findingText({ user_id, table, row, problem, cure: remedy }: Finding): string {
  const where = [
    ...(table === '' ? ['the file'] : [`table ${table}`]),
    ...(row === '' ? [] : [`row ${row}`]),
    ...(user_id === null ? [] : [`user ${user_id}`]),
  ];
  return `${where.join(', ')}: ${problem}\n  remedy: ${remedy}`;
}
