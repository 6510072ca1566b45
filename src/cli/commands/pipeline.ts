import { setTimeout as sleep } from 'node:timers/promises';
import { Option } from '@commander-js/extra-typings';
import { shippedSegmenter } from '../../analysis/segment.ts';
import { alsoOnScreen, LineFold } from '../../log/line-fold.ts';
import { isMobilityError, MobilityError, usageError } from '../../model/mobility-error.ts';
import type { UserRecord } from '../../model/user.ts';
import { type AllOptions, type AllReport, runAll } from '../../pipeline/run-all.ts';
import { runPipeline } from '../../pipeline/run-pipeline.ts';
import { DocumentedCommand, durationArgument, type OptionsOf, wholeNumber } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, leftText, outdatedText } from '../output.ts';
import type { PipelinePool } from '../pipeline-runs.ts';
import { pipelineOptions, pipelinePool, releaseWhenStopped, runForParent } from '../pipeline-runs.ts';
import { allReportText, faultsIn, namedReport, summaryText, userReportText } from '../reports.ts';
import { optimiseLate } from '../v8-flags.ts';

export const command = (context: CommandContext) => flags().action(context.run(run));

const flags = () =>
  new DocumentedCommand('pipeline')
    .examples(`
  mobility pipeline --user ada@example.org
  mobility pipeline --all --json
  mobility pipeline --all --every 5m

With --every, each round writes one line to standard error; SIGTERM or Ctrl-C finishes the users in progress.
With --user and --debug, the lines of the log also go to standard error.
Exit code 3: some users failed, a worker died, or a converter of the program failed; the others are done.`)
    .addOption(new Option('--user <name>', 'one user, by name or UUID').conflicts('all'))
    .option('--all', 'every user with new data, except those that another run is processing')
    .addOption(
      new Option('--every <time>', 'with --all: keep running, one round every 30s, 5m or 1h, until a signal')
        .argParser(durationArgument)
        .conflicts('user'),
    )
    .option('--workers <n>', 'with --all: processes that share the users', wholeNumber(1, 64), 1)
    .addOption(new Option('--worker', 'work for a parent process').hideHelp());

type Options = OptionsOf<typeof flags>;

async function run(context: CommandContext, options: Options): Promise<Outcome> {
  if (options.every === undefined) optimiseLate();
  if (options.worker) await runForParent(context);
  else if (options.user !== undefined) return runOne(context, await context.findUser(options.user));
  else if (options.all) return runAllUsers(context, options);
  else throw usageError('expected --user NAME or --all, found neither');
  return {};
}

async function runOne(context: CommandContext, user: UserRecord): Promise<Outcome> {
  const store = await context.store();
  const progress = context.output.progress(`${user.user_email}: starting`);
  const onStage = (stage: string): void => progress.update(`${user.user_email}: ${stage}`);
  const options = { ...(await pipelineOptions(context)), onStage };
  await noteOutdated(context, user.uuid);
  const fold = new LineFold();
  if (context.flags.debug) options.log = alsoOnScreen(options.log, fold, context);
  releaseWhenStopped(context, store, options.owner)(user.uuid);
  const report = await runPipeline(store, user.uuid, options);
  for (const text of fold.rest()) context.output.note(text);
  await context.output.result({ user_email: user.user_email, ...report }, () => userReportText(user, report));
  if (report.status === 'busy') throw new MobilityError('MOBILITY_LEASE_HELD', `${user.user_email}: ${report.message}`);
  if (report.status === 'failed') throw new Error(`the pipeline failed for ${user.user_email}: ${report.message}`);
  return faultsIn(report.stages) > 0 ? { exitCode: 3 } : {};
}

async function runAllUsers(context: CommandContext, { every, workers }: Options): Promise<Outcome> {
  const stopping = 'finishing the users in progress; press Ctrl-C again to stop at once';
  context.interruptible().addEventListener('abort', () => context.output.note(stopping));
  const outdated = await noteOutdated(context);
  const pool = workers > 1 ? pipelinePool(context, workers, every === undefined ? [] : ['--every', `${every}s`]) : null;
  try {
    if (every === undefined) return await runOnce(context, pool, outdated);
    const left = timeLeft(context, outdated);
    await runRounds(context, every, async () => {
      const text = await round(context, pool, every);
      return `${text}${outdated > 0 ? left(outdated - (await findOutdated(context)).people) : ''}`;
    });
    return { exitCode: 0 };
  } finally {
    await pool?.stop();
  }
}

/** Errors of the store that may not occur in the next round. */
const temporaryErrors = [
  'MOBILITY_STORE_BUSY',
  'MOBILITY_STORE_FULL',
  'MOBILITY_STORE_READONLY',
  'MOBILITY_STORE_UNAVAILABLE',
] as const;

/** Writes a line about each round, also if it fails with one of `temporaryErrors`. */
async function runRounds({ signal, output }: CommandContext, seconds: number, round: () => Promise<string>) {
  while (!signal.aborted) {
    const next = performance.now() + seconds * 1000;
    const text = await round().catch((error) => {
      if (!isMobilityError(error, ...temporaryErrors)) throw error;
      return `mobility: ${error.code}: ${error.message}; the next round tries again`;
    });
    output.note(text);
    await sleep(Math.max(0, next - performance.now()), undefined, { signal }).catch(() => {});
  }
}

/** Prints how many people have trips of another analysis version. Returns this number. */
async function noteOutdated(context: CommandContext, userId?: string): Promise<number> {
  const { people, days } = await findOutdated(context, userId);
  if (people > 0) context.output.note(outdatedText(people, days, 'this'));
  return people;
}

async function findOutdated(context: CommandContext, userId?: string): Promise<{ people: number; days: number }> {
  const store = await context.store();
  return store.pipeline.outdated(shippedSegmenter.version, userId).catch((error) => {
    // The run itself reports the damage.
    if (isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) return { people: 0, days: 0 };
    throw error;
  });
}

function timeLeft({ now }: CommandContext, people: number): (done: number) => string {
  const started = now();
  return (done) => {
    const left = leftText(now() - started, done, people);
    return left === '' ? '' : `; new analysis: ${done} of ${counted(people, 'person', 'people')}${left}`;
  };
}

// Users that a process works on at a time. Their writes share commits, so an hourly run takes 12 %
// less CPU time. 8 users take 3 % less again, but 55 MiB more memory in first runs over 150 days.
const usersAtOnce = 4;

async function runUsers(context: CommandContext, pool: PipelinePool | null, watch: Partial<AllOptions>) {
  const parallel = (pool?.workers ?? 1) * usersAtOnce;
  const options = { ...(await pipelineOptions(context)), signal: context.signal, parallel, ...watch };
  return runAll(await context.store(), { ...options, ...(pool && { run: pool.run }) });
}

async function round(context: CommandContext, pool: PipelinePool | null, outdatedSeconds: number): Promise<string> {
  await (await context.store()).ping(); // unlike a read, fails if the store was replaced
  const report = await runUsers(context, pool, { outdatedSeconds });
  if (context.signal.aborted && report.users === 0) return 'stopped before the first user';
  if (context.output.json) await context.output.line(JSON.stringify(report));
  const lost = pool?.takeLost() ?? [];
  return `${summaryText(report)}${lost.length === 0 ? '' : `; ${lostText(lost)}`}`;
}

async function runOnce(context: CommandContext, pool: PipelinePool | null, outdated: number): Promise<Outcome> {
  const { output, signal } = context;
  const store = await context.store();
  const progress = output.progress('looking for users with new data');
  const left = timeLeft(context, outdated);
  const report = await runUsers(context, pool, {
    onUser: (_, done) => progress.update(`${counted(done, 'user')} done${left(done)}`),
    onWait: ({ user_id, message }, seconds) =>
      output.note(`${user_id}: ${message}; this run waits for the lease, ${Math.ceil(seconds)} s at most`),
  });
  const lost = pool?.takeLost() ?? [];
  const named = await namedReport(report, async (id) => (await store.users.byUuid(id))?.user_email ?? id);
  await output.result(named, () =>
    signal.aborted && report.users === 0 ? 'stopped before the first user' : allReportText(named, output),
  );
  if (signal.aborted && report.users > 0) output.note('stopped: the counts cover the users that the run reached');
  if (lost.length > 0) output.note(lostText(lost));
  return outcomeOf(report, lost);
}

function outcomeOf({ users, failed, failures, stages }: AllReport, lost: readonly string[]): Outcome {
  if (failed > 0 && failed === users) throw new Error(`the pipeline failed for every user: ${failures[0]?.message}`);
  return failed > 0 || lost.length > 0 || faultsIn(stages) > 0 ? { exitCode: 3 } : {};
}

function lostText(lost: readonly string[]): string {
  return `${counted(lost.length, 'worker')} ended while processing a user (${lost.join(', ')})`;
}
