import { Option } from '@commander-js/extra-typings';
import { errorText, usageError } from '../../model/mobility-error.ts';
import { localDay } from '../../model/time.ts';
import { onCopyOf } from '../../upkeep/copy-store.ts';
import { wipeTraces } from '../../upkeep/erase-people.ts';
import { type RetainReport, retain, retentions } from '../../upkeep/retain-user.ts';
import { ageArgument, DocumentedCommand, type OptionsOf } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, listing } from '../output.ts';
import { pipelineOptions, releaseWhenStopped } from '../pipeline-runs.ts';
import { noteInterrupted, selectUsers, withUserChoice } from '../user-options.ts';

type UserReport = RetainReport & { user_email: string; user_id: string };

export const command = (context: CommandContext) => flags(context).action(context.run(run));

const flags = (context: CommandContext) =>
  withUserChoice(
    new DocumentedCommand('retain').examples(`
  mobility retain --study sunny --older-than 18mo --what raw --dry-run
  mobility retain --all --older-than 2y --what both --yes

Days whose raw data are removed stay as they are, also when the analysis changes.
Exit code 3: some users could not be processed; repeat the command.`),
  )
    .requiredOption('--older-than <age>', 'an age of 30 days or more: 90d, 26w, 18mo, 2y', ageArgument(context))
    .addOption(
      new Option('--what <what>', 'raw: what phones sensed; days: trips with their labels; both')
        .choices(retentions)
        .makeOptionMandatory(),
    )
    .addOption(new Option('--dry-run', 'show what would be removed, remove nothing').conflicts('yes'))
    .option('--yes', 'remove the data; without --yes or --dry-run, nothing happens');

async function run(context: CommandContext, options: OptionsOf<typeof flags>): Promise<Outcome> {
  const { olderThan: before, what, dryRun = false, yes, ...whom } = options;
  if (!dryRun && !yes)
    throw usageError(
      'expected --dry-run, which shows what would be removed, or --yes, which removes it, found neither',
    );
  const store = await context.store();
  const retention = { ...(await pipelineOptions(context)), before, what };
  const signal = context.interruptible();
  const setCurrentUser = releaseWhenStopped(context, store, retention.owner);
  const users: UserReport[] = [];
  const failed: { user_email: string; message: string }[] = [];
  const progress = context.output.progress('removing');
  for await (const { uuid, user_email } of selectUsers(context, whom)) {
    if (signal.aborted) break;
    progress.update(`${user_email}: ${counted(users.length, 'user')} done`);
    setCurrentUser(uuid);
    try {
      const work = dryRun
        ? onCopyOf(context.config().store, uuid, (copy) => retain(copy, uuid, retention))
        : retain(store, uuid, retention);
      users.push({ user_id: uuid, user_email, ...(await work) });
    } catch (error) {
      if (signal.aborted) break; // caused by the signal, which releases the lease
      failed.push({ user_email, message: errorText(error) });
    }
  }
  if (!dryRun) await wipeTraces(store);
  const result = { store: store.address, before, what, dry_run: dryRun, users, failed };
  await context.output.result(result, () => tableOf(users));
  for (const { user_email, message } of failed) context.output.note(`${user_email}: ${message}`);
  const rows = users.reduce((sum, { entries, errors, links }) => sum + entries + errors + links, 0);
  const done = dryRun ? 'would be removed' : 'removed';
  context.output.note(`${counted(rows, 'row')} of ${counted(users.length, 'user')} ${done}`);
  await noteInterrupted(context, users.length + failed.length, selectUsers(context, whom));
  const log = await context.log('pipeline');
  if (!dryRun) log.write('INFO', `Removed ${counted(rows, 'old row')} of ${counted(users.length, 'user')}`);
  return failed.length > 0 ? { exitCode: 3 } : {};
}

function tableOf(users: readonly UserReport[]): string {
  const day = (ts: number | null): string => (ts === null ? '-' : `${localDay(ts, 'UTC')} UTC`);
  const rows = users.map(({ user_email, entries, errors, links, raw_before, days_before }) => [
    user_email,
    ...[entries, errors, links].map(String),
    ...[raw_before, days_before].map(day),
  ]);
  const titles = ['NAME', 'ENTRIES', 'ERRORS', 'TRIPS', 'NO RAW DATA BEFORE', 'NO DAYS BEFORE'];
  return listing(titles, rows, [1, 2, 3]);
}
