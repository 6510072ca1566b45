// `mobility recover-errors`: retries the entries that could not be converted.
import { Command, InvalidArgumentError } from 'commander';
import { oneLine } from '../../log/text.ts';
import { errorText } from '../../model/errors.ts';
import { type RecoverReport, recoverErrors } from '../../upkeep/recover-errors.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { giveBackWhenStopped, pipelineOptions } from '../pipeline-options.ts';
import { usersMeant, type Whom, withWhom } from '../whom.ts';
import { errorKeyText } from '../wording.ts';

interface Options extends Whom {
  key?: string;
  reason?: string;
  dryRun?: true;
}

interface UserRecovery extends RecoverReport {
  user_email: string;
  /** Why the command could not process this user. */
  failure?: string;
}

/** Passes errors through the converters again. */
export function recoverErrorsCommand(context: CommandContext): Command {
  return withWhom(new Command('recover-errors'))
    .description('retry the entries that could not be converted')
    .option('--key <key>', 'only errors of this key, such as manual/survey', keyArgument)
    .option(
      '--reason <reason>',
      'only errors with this reason, worded as in the list of remaining errors',
      filterArgument,
    )
    .option('--dry-run', 'show what would be recovered, change nothing')
    .addHelpText(
      'after',
      `
Examples:
  mobility recover-errors --dry-run
  mobility recover-errors --user ada@example.org --key manual/survey

Without --user and --study, it retries the errors of every user. The next pipeline run adds the recovered entries to the diary.
Exit code 3: some errors remain, or some users could not be processed.`,
    )
    .action(context.run((options: Options) => recover(context, options)));
}

/** Refuses an empty text: an unset variable of a script would choose every error. */
function filterArgument(text: string): string {
  if (text !== '') return text;
  throw new InvalidArgumentError('Expected a text that is not empty; leave the flag out for all errors.');
}

/** A key as it is, or as the list of remaining errors shows it: as a JSON string where it has other characters. */
function keyArgument(text: string): string {
  const key = filterArgument(text);
  if (!key.startsWith('"')) return key;
  try {
    return String(JSON.parse(key));
  } catch {
    return key;
  }
}

async function recover(context: CommandContext, { key, reason, dryRun, ...given }: Options): Promise<Outcome> {
  const whom: Whom = Object.keys(given).length === 0 ? { all: true } : given;
  const store = await context.store();
  const options = {
    ...(await pipelineOptions(context)),
    ...(key && { key }),
    ...(reason && { reason }),
    ...(dryRun && { dryRun }),
  };
  const inWork = giveBackWhenStopped(context, store, options.owner);
  const progress = context.output.progress('looking for errors');
  const reports: UserRecovery[] = [];
  try {
    for await (const { uuid, user_email } of usersMeant(context, whom)) {
      if ((await store.errors.list(uuid, { limit: 1 })).length === 0) continue;
      if (context.signal.aborted) break;
      inWork(uuid);
      progress.update(`${user_email}: recovering`);
      const empty = { user_id: uuid, tried: 0, recovered: 0, rounds: 0, remaining: [] };
      const report = await recoverErrors(store, uuid, options).catch((error) => ({
        ...empty,
        failure: errorText(error),
      }));
      reports.push({ user_email, ...report });
    }
  } finally {
    progress.done();
  }
  const isFiltered = key !== undefined || reason !== undefined;
  const unmatched = isFiltered && !context.signal.aborted ? unmatchedText(reports, { key, reason }) : null;
  await context.output.result(reports, () => unmatched ?? reportsText(reports, dryRun === true));
  if (unmatched !== null && context.output.json) context.output.note(unmatched);
  const left = reports.some((report) => report.failure !== undefined || report.remaining.length > 0);
  if (left && dryRun !== true) return { exitCode: 3 };
  return {};
}

/** If no error has the key and reason asked for: says so, and lists the errors that there are. Otherwise null. */
function unmatchedText(
  reports: readonly UserRecovery[],
  { key, reason }: Pick<Options, 'key' | 'reason'>,
): string | null {
  if (reports.some(({ tried, failure }) => tried > 0 || failure !== undefined)) return null;
  const asked = [
    ...(key === undefined ? [] : [`the key ${JSON.stringify(key)}`]),
    ...(reason === undefined ? [] : [`the reason ${JSON.stringify(reason)}`]),
  ];
  const found = `nothing was retried: no error has ${asked.join(' and ')}`;
  const counts = new Map<string, { key: string | null; reason: string; count: number }>();
  for (const one of reports.flatMap(({ remaining }) => remaining)) {
    const name = JSON.stringify([one.key, one.reason]);
    counts.set(name, { ...one, count: one.count + (counts.get(name)?.count ?? 0) });
  }
  return counts.size === 0
    ? `${found}, and there are no others`
    : `${found}; there are:\n${errorsTable([...counts.values()])}`;
}

function reportsText(reports: readonly UserRecovery[], dryRun: boolean): string {
  if (reports.length === 0) return 'no errors';
  return reports.map((report) => reportText(report, dryRun)).join('\n');
}

function reportText({ user_email, tried, recovered, remaining, failure }: UserRecovery, dryRun: boolean): string {
  if (failure !== undefined) return `${user_email}: ${failure}`;
  const verb = dryRun ? 'would be recovered' : 'recovered';
  const head = `${user_email}: ${counted(tried, 'error')} retried, ${recovered} ${verb}`;
  if (remaining.length === 0) return head;
  return `${head}; ${dryRun ? 'there are' : 'these remain'}:\n${errorsTable(remaining)}`;
}

function errorsTable(errors: RecoverReport['remaining']): string {
  const rows = errors.map(({ key, reason, count }) => [`  ${count}`, errorKeyText(key), oneLine(reason)]);
  return table(rows, [0]);
}
