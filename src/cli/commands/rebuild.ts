import { Option } from '@commander-js/extra-typings';
import { stringify } from 'csv-stringify/sync';
import { distanceText } from '../../diary/number-text.ts';
import { errorText, MobilityError } from '../../model/mobility-error.ts';
import { startOfDay } from '../../model/time.ts';
import type { UserRecord } from '../../model/user.ts';
import type { TripChange } from '../../pipeline/stage.ts';
import { everyLink } from '../../store/paging.ts';
import type { Store } from '../../store/store.ts';
import type { DayChange, RebuildSummary } from '../../upkeep/rebuild-user.ts';
import { addUser, dayChanges, emptySummary, modesOf, previewRebuild, rebuild } from '../../upkeep/rebuild-user.ts';
import { allOrNone, type Files } from '../../util/file-access.ts';
import { DocumentedCommand, dayArgument, type OptionsOf, resolveDay, wholeNumber, zoneArgument } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, leftText, table, workTimeText } from '../output.ts';
import { type PipelinePool, pipelineOptions, pipelinePool, releaseWhenStopped } from '../pipeline-runs.ts';
import { noteInterrupted, selectUsers, withUserChoice } from '../user-options.ts';

type Report = RebuildSummary & {
  seconds: number;
  interrupted: boolean;
  failures: { user_email: string; message: string }[];
};

const farthestEast = 50_400; // s; the largest offset of a time zone from UTC

export const command = (context: CommandContext) => flags().action(context.run(run));

const flags = () =>
  withUserChoice(
    new DocumentedCommand('rebuild').examples(`
  mobility rebuild --user ada@example.org --from 2024-03-01
  mobility rebuild --all --sample 50 --dry-run
  mobility rebuild --all --dry-run --csv changes.csv
  mobility rebuild --all --zone America/Vancouver       (after an update of Node changed the rules of this zone)

After an upgrade all days are derived again, also those before --from.
Exit code 3: some users could not be processed; the others are done.`),
  )
    .option('--from <day>', 'first local day to derive again; default: all days', dayArgument)
    .option(
      '--zone <name>',
      'only users with trips in this zone; derives days since their first such trip',
      zoneArgument,
    )
    .option('--sample <n>', 'at most this many of the users', wholeNumber(1, 1_000_000))
    .option('--dry-run', 'report what would change, change nothing')
    .addOption(
      new Option('--workers <n>', 'processes that share the users')
        .argParser(wholeNumber(1, 64))
        .default(1)
        .conflicts('dryRun'),
    )
    .option('--csv <file>', 'write a row for each changed day and mode');

type Options = OptionsOf<typeof flags>;

async function run(context: CommandContext, { csv, ...options }: Options): Promise<Outcome> {
  const started = context.now();
  const report: Report = { ...emptySummary(), seconds: 0, interrupted: false, failures: [] };
  const writeCsv: Parameters<Files['write']>[1] = async (file) => {
    await file.write(stringify([csvColumns]));
    await deriveAll(context, options, report, (rows) => file.write(stringify(rows, csvForm)));
  };
  if (csv === undefined) await deriveAll(context, options, report);
  else await allOrNone(({ write }) => write(csv, writeCsv));
  report.seconds = context.now() - started;
  const names = await namesOf(context, report.worst);
  await context.output.result(report, () => reportText(report, names, options.dryRun === true));
  if (report.interrupted) {
    const { sample: most, zone: _, ...whom } = options;
    const done = report.users + report.failures.length;
    await noteInterrupted(context, done, selectUsers(context, whom), { ...(most !== undefined && { most }) });
  }
  if (report.failures.length > 0) return { exitCode: 3 };
  return report.interrupted ? {} : { exitCode: 0 };
}

/** Adds users that failed to the report, but throws the error of a single `--user`. */
async function deriveAll(
  context: CommandContext,
  { from, zone, sample = Infinity, dryRun, workers, ...whom }: Options,
  report: Report,
  onRows: (rows: Row[]) => Promise<void> = async () => {},
): Promise<void> {
  const signal = context.interruptible();
  const pool = workers > 1 ? pipelinePool(context, workers) : null;
  const store = await context.store();
  const preview: ChangesOf = ({ uuid }, since) => previewRebuild(store, uuid, { now: context.now, ...since });
  const changesOf = dryRun ? preview : await rebuilder(context, pool);
  const progress = context.output.progress('looking for users');
  let chosen = 0;
  for await (const _ of selectUsers(context, whom)) chosen += 1;
  const started = context.now();
  let [begun, ended] = [0, 0];
  const derive = async (user: UserRecord): Promise<void> => {
    const left = leftText(context.now() - started, ended, Math.min(chosen, sample));
    progress.update(`${user.user_email}: ${counted(report.users, 'user')} done${left}`);
    try {
      const first = zone === undefined ? -Infinity : await firstIn(zone, store, user);
      if (first === null) begun -= 1;
      if (first === null) return;
      // The day begins first in the easternmost zone. Deriving a few more hours does no harm.
      const day = from && startOfDay(await resolveDay(context, user, from), 'UTC') - farthestEast;
      const start = Math.max(first, day ?? -Infinity);
      const since = start === -Infinity ? {} : { from: start };
      const days = dayChanges(user.uuid, await changesOf(user, since));
      addUser(report, days);
      await onRows(days.flatMap((day) => csvRows(user, day)));
    } catch (error) {
      report.interrupted = signal.aborted;
      if (signal.aborted) return; // caused by the signal, which releases the lease
      report.failures.push({ user_email: user.user_email, message: errorText(error) });
      if (whom.user?.length === 1) throw error;
    }
  };
  const users = selectUsers(context, whom);
  const deriveNext = async (): Promise<void> => {
    while (begun < sample && !report.interrupted) {
      begun += 1;
      const next = await users.next();
      if (next.done) return;
      if (signal.aborted) report.interrupted = true;
      else await derive(next.value);
      ended += 1;
    }
  };
  try {
    await Promise.all(Array.from({ length: workers }, deriveNext));
  } finally {
    await pool?.stop();
  }
}

async function firstIn(zone: string, store: Store, { uuid }: UserRecord): Promise<number | null> {
  for await (const { chain_ts, trip } of everyLink(store, uuid))
    if (trip !== null && [trip.start_zone, trip.end_zone].includes(zone)) return chain_ts;
  return null;
}

type ChangesOf = (user: UserRecord, since: { from?: number }) => Promise<TripChange[]>;

async function rebuilder(context: CommandContext, pool: PipelinePool | null): Promise<ChangesOf> {
  const store = await context.store();
  const options = await pipelineOptions(context);
  const setCurrentUser = pool === null ? releaseWhenStopped(context, store, options.owner) : () => {};
  return async ({ uuid, user_email }, { from = -Number.MAX_VALUE }) => {
    setCurrentUser(uuid);
    const { status, message, stages } = await (pool === null
      ? rebuild(store, uuid, { ...options, from })
      : pool.run(uuid, from));
    if (status === 'busy') throw new MobilityError('MOBILITY_LEASE_HELD', `${user_email}: ${message}`);
    if (status === 'failed') throw new Error(`the rebuild failed for ${user_email}: ${message}`);
    return stages.flatMap(({ changes = [] }) => changes);
  };
}

const csvColumns = `user_id user_email day added removed changed mode
distance_before_m distance_after_m duration_before_s duration_after_s`.split(/\s/);
const csvForm = { columns: csvColumns, escape_formulas: true };
type Row = Record<string, string | number>;

function csvRows({ user_email }: UserRecord, { before, after, ...day }: DayChange): Row[] {
  return modesOf({ before, after }).map((mode) => ({
    ...day,
    user_email,
    mode,
    distance_before_m: Math.round(before[mode]?.distance_m ?? 0),
    distance_after_m: Math.round(after[mode]?.distance_m ?? 0),
    duration_before_s: Math.round(before[mode]?.duration_s ?? 0),
    duration_after_s: Math.round(after[mode]?.duration_s ?? 0),
  }));
}

async function namesOf(context: CommandContext, days: readonly DayChange[]): Promise<Map<string, string>> {
  const { users } = await context.store();
  const names = new Map<string, string>();
  for (const { user_id } of days) names.set(user_id, (await users.byUuid(user_id))?.user_email ?? user_id);
  return names;
}

function reportText(report: Report, names: ReadonlyMap<string, string>, dryRun: boolean): string {
  const { users, users_changed, days_changed, seconds, failures } = report;
  const lines = [
    `${counted(users, 'user')}, ${dryRun ? 'nothing written' : 'derived again'}, in ${workTimeText(seconds)}`,
    `${dryRun ? 'would change' : 'changed'}: ${counted(days_changed, 'day')} of ${counted(users_changed, 'user')}: ${tripsText(report)}`,
  ];
  const modes = modesOf(report).map((mode) => modeRow(report, mode));
  if (modes.length > 0) lines.push('', table(modes, [1, 2]));
  const worst = report.worst.map((day) => dayRow(day, names));
  if (worst.length > 0) lines.push('', 'days that change most', table(worst));
  for (const { user_email, message } of failures) lines.push(`failed: ${user_email}: ${message}`);
  return lines.join('\n');
}

const tripsText = ({ added, removed, changed }: Pick<DayChange, 'added' | 'removed' | 'changed'>): string =>
  `${counted(added, 'trip')} added, ${removed} removed, ${changed} changed`;

function modeRow({ before, after }: RebuildSummary, mode: string): string[] {
  const figures = (modes: RebuildSummary['before']): string => {
    const { distance_m, duration_s } = modes[mode] ?? { distance_m: 0, duration_s: 0 };
    return `${distanceText(distance_m)}, ${(duration_s / 3600).toFixed(1)} h`;
  };
  return [`  ${mode.replaceAll('_', ' ')}`, figures(before), `-> ${figures(after)}`];
}

function dayRow(day: DayChange, names: ReadonlyMap<string, string>): string[] {
  const moved = modesOf(day).map((mode) => {
    const [was, is] = [day.before[mode]?.distance_m ?? 0, day.after[mode]?.distance_m ?? 0];
    return `${mode.replaceAll('_', ' ')} ${distanceText(was)} -> ${distanceText(is)}`;
  });
  return [`  ${day.day}`, names.get(day.user_id)!, tripsText(day), moved.join(', ')];
}
