// `mobility migrate`: everything of everybody from one store to another, whatever their engines.
import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { folderIn, withoutCredentials } from '../../model/address.ts';
import { isMobilityError, MobilityError } from '../../model/errors.ts';
import type { Store } from '../../store/store.ts';
import { type MigrationReport, migrate } from '../../upkeep/migrate/migrate.ts';
import { copiedCollections, type UserMigration } from '../../upkeep/migrate/migrate-user.ts';
import { type CommandContext, type Outcome, openStoreAt, type StoreOptions } from '../context.ts';
import { counted, type Progress, table } from '../output.ts';
import { workTimeText } from '../wording.ts';

interface Options {
  from?: string;
  to?: string;
  dryRun?: true;
  overwrite?: true;
  merge?: true;
}

/** Copies one store to another. */
export function migrateCommand(context: CommandContext): Command {
  return new Command('migrate')
    .description('copy a whole store to another one and verify that both are equal')
    .option('--from <address>', 'store to copy; default: --store or MOBILITY_STORE')
    .option('--to <address>', 'target store, created if it does not exist; default: --store or MOBILITY_STORE')
    .option('--dry-run', 'compare and count, copy nothing')
    .option('--overwrite', 'replace users whose data at the target differs from the source; their data there is lost')
    .option('--merge', 'allow users at the target that the source does not have, and keep them')
    .addHelpText(
      'after',
      `
Examples:
  mobility migrate --from sqlite:./data --to 'mongodb://db.example.org/mobility?replicaSet=rs0'
  MOBILITY_STORE='mongodb://user:password@db.example.org/mobility' mobility migrate --to sqlite:./copy
  mobility migrate --from sqlite:./data --to sqlite:./copy --dry-run --json

After an interruption, run the same command again. The source is not changed. First stop the servers and pipelines of both stores.
Exit code 3: some users differ between source and target; the list names them with the reason.`,
    )
    .action(context.run((options: Options) => run(context, options)));
}

async function run(context: CommandContext, options: Options): Promise<Outcome> {
  const { from, to } = addressesOf(context, options);
  const opened: Store[] = [];
  const open = async (address: string, how: StoreOptions): Promise<Store> => {
    const store = await openStoreAt(address, { ...how, onWarning: context.output.note });
    opened.push(store);
    return store;
  };
  let scratch: string | null = null;
  try {
    const source = await open(from, {});
    const target = await open(to, { make: options.dryRun !== true }).catch(async (error) => {
      if (!options.dryRun || !isMobilityError(error, 'MOBILITY_STORE_ADDRESS')) throw error;
      // Nothing is there yet, and a dry run makes nothing: everything is compared with an empty store.
      scratch = await mkdtemp(join(tmpdir(), 'mobility-migrate-'));
      return open(scratch, { make: true });
    });
    return await copy(context, source, target, options);
  } finally {
    await Promise.all(opened.map((store) => store.close()));
    if (scratch !== null) await rm(scratch, { recursive: true, force: true });
  }
}

function addressesOf(context: CommandContext, options: Options): { from: string; to: string } {
  if (options.from === undefined && options.to === undefined) {
    throw new MobilityError('MOBILITY_USAGE', 'expected --from ADDRESS or --to ADDRESS, found neither');
  }
  const { store } = context.config();
  const { from = store, to = store } = options;
  if (placeOf(from) !== placeOf(to)) return { from, to };
  throw new MobilityError('MOBILITY_USAGE', `expected two stores, found ${withoutCredentials(from)} on both sides`);
}

function placeOf(address: string): string {
  return address.includes('://') ? withoutCredentials(address) : resolve(folderIn(address));
}

async function copy(context: CommandContext, from: Store, to: Store, options: Options): Promise<Outcome> {
  const signal = context.interruptible();
  const progress = context.output.progress('looking for users');
  signal.addEventListener('abort', () => context.output.note('interrupted: run the same command again to continue'), {
    once: true,
  });
  const report = await migrate(from, to, {
    now: context.now,
    owner: `migration ${process.pid} on ${hostname()}`,
    leaseSeconds: context.config().leaseSeconds,
    ...(options.dryRun && { dryRun: true }),
    ...(options.overwrite && { overwrite: true }),
    ...(options.merge && { merge: true }),
    signal,
    onWait: (email, message, seconds) =>
      context.output.note(
        `${email}: ${message}: waiting for the lease to end, at most ${workTimeText(seconds)} unless it is renewed`,
      ),
    ...shownBy(progress),
  }).finally(() => progress.done());
  const dry_run = options.dryRun === true;
  await context.output.result({ from: from.address, to: to.address, dry_run, ...report }, () =>
    reportText(report, dry_run),
  );
  return report.equal || dry_run ? {} : { exitCode: 3 };
}

function shownBy(progress: Progress): { onRows: (email: string) => void; onUser: (one: UserMigration) => void } {
  let users = 0;
  return {
    onRows: (email) => progress.update(`${counted(users, 'user')} done, copying ${email}`),
    onUser: () => {
      users += 1;
      progress.update(`${counted(users, 'user')} done`);
    },
  };
}

function reportText(report: MigrationReport, dryRun: boolean): string {
  const rows = copiedCollections.map((name) => {
    const { rows, copied, removed } = report.collections[name];
    return [name, ...[rows, copied, removed].map((count) => count.toLocaleString('en-US'))];
  });
  const header = dryRun ? ['COLLECTION', 'ROWS', 'TO COPY', 'TO REMOVE'] : ['COLLECTION', 'ROWS', 'COPIED', 'REMOVED'];
  const reasons = report.reports.map(({ user_email, status, message }) => `${user_email}: ${status}: ${message}`);
  return [...reasons, table([header, ...rows], [1, 2, 3]), summaryText(report, dryRun)].join('\n');
}

function summaryText(report: MigrationReport, dryRun: boolean): string {
  const { users, copied, same, missing, others, reports, equal, seconds } = report;
  const parts = [`${copied} ${dryRun ? 'to copy' : 'copied'}`, `${same} already equal`];
  if (reports.length > 0) parts.push(`${reports.length} ${dryRun ? 'that cannot be copied' : 'not copied'}`);
  if (others > 0) parts.push(`${counted(others, 'other user')} at the target`);
  if (!dryRun && missing > 0) parts.push(`${missing} of the source missing at the target`);
  const verdict = equal ? 'both sides are equal' : 'both sides are not equal';
  return `${counted(users, 'user')}: ${parts.join(', ')}; ${verdict}, ${workTimeText(seconds)}`;
}
