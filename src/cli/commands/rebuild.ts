// `mobility rebuild`: derives the diary of one user again and shows the differences.
import { Command } from 'commander';
import { MobilityError } from '../../model/errors.ts';
import { startOfDay } from '../../model/time.ts';
import { type RebuildReport, rebuild } from '../../upkeep/rebuild.ts';
import { dayArgument } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { giveBackWhenStopped, pipelineOptions } from '../pipeline-options.ts';
import { clockText, workTimeText } from '../wording.ts';

const farthestEast = 50_400; // s that the first zone is ahead of UTC

/** Analyses a user's entries again. */
export function rebuildCommand(context: CommandContext): Command {
  return new Command('rebuild')
    .description('derive the trips of a user again and report what changed')
    .requiredOption('--user <name>', 'name or UUID of the user')
    .option('--from <day>', 'first local day to derive again, YYYY-MM-DD; default: all days', dayArgument)
    .addHelpText('after', '\nExamples:\n  mobility rebuild --user ada@example.org --from 2024-03-01')
    .action(context.run((options: { user: string; from?: string }) => run(context, options)));
}

async function run(context: CommandContext, { user, from }: { user: string; from?: string }): Promise<Outcome> {
  const { uuid, user_email } = await context.findUser(user);
  const store = await context.store();
  const progress = context.output.progress(`${user_email}: starting`);
  const onStage = (stage: string): void => progress.update(`${user_email}: ${stage}`);
  const options = { ...(await pipelineOptions(context)), onStage };
  // Whatever the user's zone, the day has not begun before; to analyse a few hours more does no harm.
  const since = from === undefined ? {} : { from: startOfDay(from, 'UTC') - farthestEast };
  giveBackWhenStopped(context, store, options.owner)(uuid);
  const report = await rebuild(store, uuid, { ...options, ...since }).finally(() => progress.done());
  await context.output.result({ user_email, ...report }, () => rebuildText(user_email, report));
  if (report.status === 'busy') throw new MobilityError('MOBILITY_LEASE_HELD', `${user_email}: ${report.message}`);
  if (report.status === 'failed') throw new Error(`the rebuild failed for ${user_email}: ${report.message}`);
  return {};
}

function rebuildText(name: string, { changes, seconds }: RebuildReport): string {
  const count = (what: string): number => changes.filter((change) => change.what === what).length;
  const head = `${name}: ${counted(count('added'), 'trip')} added, ${count('removed')} removed, ${count('changed')} changed, in ${workTimeText(seconds)}`;
  const rows = changes.map(({ what, day, start_ts, end_ts }) => [
    `  ${what}`,
    day,
    `${clockText(start_ts, 'UTC')}-${clockText(end_ts, 'UTC')} UTC`,
  ]);
  return rows.length === 0 ? head : `${head}\n${table(rows)}`;
}
