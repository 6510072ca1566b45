import { errorText } from '../../model/mobility-error.ts';
import { figuresWithErrors } from '../../upkeep/error-groups.ts';
import { type RecoverReport, recoverErrors } from '../../upkeep/recover-user.ts';
import { DocumentedCommand, type OptionsOf } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { noErrorsText, withErrorFilter } from '../error-filter.ts';
import { counted, errorKeyText, table } from '../output.ts';
import { pipelineOptions, releaseWhenStopped } from '../pipeline-runs.ts';
import { selectUsersOrAll, withUserChoice } from '../user-options.ts';

type UserRecovery = RecoverReport & { user_email: string; failure?: string };

export const command = (context: CommandContext) => flags().action(context.run(recover));

const flags = () =>
  withErrorFilter(
    withUserChoice(
      new DocumentedCommand('recover-errors').examples(`
  mobility recover-errors --dry-run
  mobility recover-errors --user ada@example.org --key manual/survey

The next pipeline run adds the recovered entries to the diary.
Exit code 3: some errors remain, or some users could not be processed.`),
    ),
  ).option('--dry-run', 'show what would be recovered, change nothing');

async function recover(context: CommandContext, options: OptionsOf<typeof flags>): Promise<Outcome> {
  const { key, reason, platform, dryRun } = options;
  const store = await context.store();
  const recovery = { ...(await pipelineOptions(context)), key, reason, platform, dryRun };
  const setCurrentUser = releaseWhenStopped(context, store, recovery.owner);
  const progress = context.output.progress('looking for errors');
  const reports: UserRecovery[] = [];
  for await (const { uuid, user_email } of selectUsersOrAll(context, options)) {
    if ((await figuresWithErrors(store, uuid, options)) === null) continue;
    if (context.signal.aborted) break;
    setCurrentUser(uuid);
    progress.update(`${user_email}: recovering`);
    const none = { user_id: uuid, tried: 0, recovered: 0, rounds: 0, remaining: [] };
    const failed = (error: unknown) => ({ ...none, failure: errorText(error) });
    reports.push({ user_email, ...(await recoverErrors(store, uuid, recovery).catch(failed)) });
  }
  await context.output.result({ users: reports }, () =>
    reports.length === 0 ? noErrorsText(options) : reportsText(reports, dryRun === true),
  );
  if (!dryRun && reports.some(({ recovered }) => recovered > 0)) context.output.note('next: mobility pipeline --all');
  const left = reports.some((report) => report.failure !== undefined || report.remaining.length > 0);
  return left && !dryRun ? { exitCode: 3 } : {};
}

function reportsText(reports: readonly UserRecovery[], dryRun: boolean): string {
  const sum = (count: (one: UserRecovery) => number): number => reports.reduce((all, one) => all + count(one), 0);
  const [tried, recovered] = [sum((one) => one.tried), sum((one) => one.recovered)];
  const { failure: _, ...first } = reports[0]!;
  const total: UserRecovery = { ...first, user_email: 'in all', tried, recovered, remaining: [] };
  return [...reports, ...(reports.length > 1 ? [total] : [])].map((one) => reportText(one, dryRun)).join('\n');
}

function reportText({ user_email, tried, recovered, remaining, failure }: UserRecovery, dryRun: boolean): string {
  if (failure !== undefined) return `${user_email}: ${failure}`;
  const verb = dryRun ? 'would be recovered' : 'recovered';
  const head = `${user_email}: ${counted(tried, 'error')} retried, ${recovered.toLocaleString('en-US')} ${verb}`;
  if (remaining.length === 0) return head;
  const rows = remaining.map((one) => [`  ${one.count.toLocaleString('en-US')}`, errorKeyText(one.key), one.reason]);
  return `${head}; ${dryRun ? 'there are' : 'these remain'}:\n${table(rows, [0])}`;
}
