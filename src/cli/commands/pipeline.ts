// `mobility pipeline`: from what phones pushed to the diary, for one user or all.
import { Command, Option } from 'commander';
import { MobilityError } from '../../model/errors.ts';
import type { UserRecord } from '../../model/user.ts';
import { type AllReport, runAll } from '../../pipeline/run-all.ts';
import { runPipeline, type UserReport } from '../../pipeline/run-pipeline.ts';
import type { Store } from '../../store/store.ts';
import { wholeNumber } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, noProgress } from '../output.ts';
import { giveBackWhenStopped, pipelineOptions } from '../pipeline-options.ts';
import { runInProcesses, type SharedRun } from '../pipeline-workers.ts';
import { userReportText } from '../reports.ts';
import { workTimeText } from '../wording.ts';

interface Options {
  user?: string;
  all?: true;
  workers: number;
  startAt?: string;
}

/** Runs the pipeline for one user or for every user. */
export function pipelineCommand(context: CommandContext): Command {
  return new Command('pipeline')
    .description('process pushed entries into trips and day documents')
    .addOption(new Option('--user <name>', 'one user, by name or UUID').conflicts('all'))
    .option('--all', 'every user with new data, except those that another run is processing')
    .option('--workers <n>', 'with --all: processes that share the users', wholeNumber(1, 64), 1)
    .addOption(new Option('--start-at <uuid>', 'with --all: where in the register to begin').hideHelp())
    .addHelpText(
      'after',
      `
Examples:
  mobility pipeline --user ada@example.org
  mobility pipeline --all --json

Exit code 3: some users failed, or a worker died; the others are done.`,
    )
    .action(
      context.run(async (options: Options) => {
        if (options.user !== undefined) return runOne(context, await context.findUser(options.user));
        if (options.all) return runEvery(context, options);
        throw new MobilityError('MOBILITY_USAGE', 'expected --user NAME or --all: whose entries are to be processed?');
      }),
    );
}

async function runOne(context: CommandContext, user: UserRecord): Promise<Outcome> {
  const store = await context.store();
  const progress = context.output.progress(`${user.user_email}: starting`);
  const onStage = (stage: string): void => progress.update(`${user.user_email}: ${stage}`);
  const options = { ...(await pipelineOptions(context)), onStage };
  giveBackWhenStopped(context, store, options.owner)(user.uuid);
  const report = await runPipeline(store, user.uuid, options).finally(() => progress.done());
  await context.output.result({ user_email: user.user_email, ...report }, () => userReportText(user, report));
  if (report.status === 'busy') throw new MobilityError('MOBILITY_LEASE_HELD', `${user.user_email}: ${report.message}`);
  if (report.status === 'failed') throw new Error(`the pipeline failed for ${user.user_email}: ${report.message}`);
  return {};
}

async function runEvery(context: CommandContext, { workers, startAt }: Options): Promise<Outcome> {
  const store = await context.store();
  const signal = context.interruptible();
  const isWorker = startAt !== undefined; // of a run in several processes, which speaks for all of them
  const first = workers > 1 ? `${workers} processes look for users with new data` : 'looking for users with new data';
  const progress = isWorker ? noProgress : context.output.progress(first);
  const note = (text: string): void => {
    if (!isWorker) context.output.note(text);
  };
  signal.addEventListener('abort', () => note('finishing the users in work; press Ctrl-C again to stop at once'));
  const onUser = (_: UserReport, done: number): void => progress.update(`${counted(done, 'user')} done`);
  const alone = async (): Promise<SharedRun> => {
    const onWait = (one: UserReport, seconds: number): void =>
      context.output.note(`${one.user_id}: ${one.message}: waiting for that, ${Math.ceil(seconds)} s at most`);
    const options = { ...(await pipelineOptions(context)), signal, onUser, onWait, ...(startAt && { startAt }) };
    return { report: await runAll(store, options), lost: [] };
  };
  const run = workers > 1 ? runInProcesses(context, workers) : alone();
  const { report, lost } = await run.finally(() => progress.done());
  await showAll(context, store, report);
  if (signal.aborted && report.users > 0) note('stopped: the counts cover the users that the run reached');
  if (lost.length > 0) note(lostText(lost));
  if (report.failed === 0) return lost.length === 0 ? {} : { exitCode: 3 };
  if (report.failed < report.users) return { exitCode: 3 };
  throw new Error(`the pipeline failed for every user: ${report.reports[0]?.message}`);
}

function lostText(lost: readonly string[]): string {
  return (
    `${counted(lost.length, 'worker')} of this run ended without a report (${lost.join(', ')}): the user it was processing is free ` +
    'again when the lease expires, and the next run completes the work'
  );
}

async function showAll(context: CommandContext, store: Store, report: AllReport): Promise<void> {
  const users = await Promise.all(report.reports.map((one) => store.users.byUuid(one.user_id)));
  const named = report.reports.map((one, i) => ({ user_email: users[i]?.user_email ?? one.user_id, ...one }));
  await context.output.result({ ...report, reports: named }, () => {
    const texts = named.map((one) => userReportText({ uuid: one.user_id, user_email: one.user_email }, one));
    const stopped = context.signal.aborted && report.users === 0;
    return [...texts, stopped ? 'stopped before the first user' : summaryText(report)].join('\n');
  });
}

/** `3 users: 2 done, 1 with nothing new, in 1.30 s`; plain words when there was nothing to do at all. */
export function summaryText({ users, done, nothing_new, busy, failed, seconds }: AllReport): string {
  const took = `in ${workTimeText(seconds)}`;
  if (users === 0) return 'no user is registered: see `mobility users add`';
  if (done + busy + failed === 0) return `${counted(users, 'user')}: nothing new, nothing written, ${took}`;
  const parts = [`${done} done`, `${nothing_new} with nothing new`];
  if (busy > 0) parts.push(`${busy} held by other runs`);
  if (failed > 0) parts.push(`${failed} failed`);
  return `${counted(users, 'user')}: ${parts.join(', ')}, ${took}`;
}
