import { resolve } from 'node:path';
import { folderIn, withoutCredentials } from '../../model/address.ts';
import { usageError } from '../../model/mobility-error.ts';
import { type CopyReport, copyBetween } from '../../upkeep/copy-store.ts';
import { DocumentedCommand, type OptionsOf } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, workTimeText } from '../output.ts';

export const command = (context: CommandContext) => flags().action(context.run(run));

const flags = () =>
  new DocumentedCommand('migrate')
    .examples(`
  mobility migrate --from sqlite:./data --to 'mongodb://db.example.org/mobility?replicaSet=rs0'
  MOBILITY_STORE='mongodb://user:password@db.example.org/mobility' mobility migrate --to sqlite:./copy
  mobility migrate --from sqlite:./data --to sqlite:./copy --overwrite --json

First stop the servers and pipelines of both stores. After an interruption, run the same command again.
Exit code 3: some users differ between source and target; the list names them with the reason.`)
    .option('--from <address>', 'store to copy; default: --store or MOBILITY_STORE')
    .option('--to <address>', 'target store, created if it does not exist; default: --store or MOBILITY_STORE')
    .option('--dry-run', 'compare and count, copy nothing; a target that does not exist counts as empty')
    .option('--overwrite', 'replace users whose data at the target differs from the source; their data there is lost')
    .option('--merge', 'allow users at the target that the source does not have, and keep them')
    .option('--erase-missing', 'with --overwrite: erase users at the target that the source does not have')
    .option('--yes', 'with --erase-missing: do not ask');

type Options = OptionsOf<typeof flags>;

async function run(context: CommandContext, options: Options): Promise<Outcome> {
  const { from, to } = addressesOf(context, options);
  if (options.eraseMissing && (!options.overwrite || options.merge))
    throw usageError(
      `expected --erase-missing with --overwrite and without --merge, found ${options.merge ? '--merge' : 'no --overwrite'}`,
    );
  if (options.eraseMissing && !options.yes && !options.dryRun)
    throw usageError('--erase-missing erases people permanently: check with --dry-run, then add --yes');
  const progress = context.output.progress('comparing');
  const report = await copyBetween(from, to, {
    ...options,
    now: context.now,
    signal: context.interruptible(),
    onWarning: context.output.note,
    onUser: (done) => progress.update(`${counted(done, 'user')} done`),
  });
  const dry_run = options.dryRun === true;
  const result = { from: withoutCredentials(from), to: withoutCredentials(to), dry_run, ...report };
  await context.output.result(result, () => reportText(report, options));
  return { exitCode: report.equal || dry_run ? 0 : 3 }; // complete, even if a signal arrived after the last user
}

function addressesOf(context: CommandContext, options: Options): { from: string; to: string } {
  if (options.from === undefined && options.to === undefined)
    throw usageError('expected --from ADDRESS or --to ADDRESS, found neither');
  const { store } = context.config();
  const { from = store, to = store } = options;
  if (placeOf(from) !== placeOf(to)) return { from, to };
  throw usageError(`expected --from and --to to be two stores, found ${withoutCredentials(from)} for both`);
}

function placeOf(address: string): string {
  return address.includes('://') ? withoutCredentials(address) : resolve(folderIn(address));
}

function reportText(report: CopyReport, { dryRun, eraseMissing }: Options): string {
  const { users, copied, same, written, removed, others, reports, equal, seconds } = report;
  const rows = `${counted(written, 'row')} ${dryRun ? 'to write' : 'written'}, ${removed} ${dryRun ? 'to remove' : 'removed'}`;
  const parts = [`${copied} ${dryRun ? 'to copy' : 'copied'} (${rows})`, `${same} already equal`];
  if (reports.length > 0) parts.push(`${reports.length} ${dryRun ? 'cannot be copied' : 'not copied'}`);
  if (others > 0) {
    const ending = eraseMissing ? ` ${dryRun ? 'to erase' : 'erased'}` : '';
    parts.push(`${counted(others, 'other user')}${ending} at the target`);
  }
  const verdict = equal ? 'both sides are equal' : 'both sides are not equal';
  return [
    ...reports.map(({ user_email, status, message }) => `${user_email}: ${status}: ${message}`),
    `${counted(users, 'user')}: ${parts.join(', ')}; ${verdict}, ${workTimeText(seconds)}`,
  ].join('\n');
}
