// `mobility store check`: whether everything in the store is as it was written, and whether two stores hold the same.
import { Command } from 'commander';
import { errorText, MobilityError } from '../../model/errors.ts';
import { parseJsonObject } from '../../model/json.ts';
import type { CheckReport, Finding } from '../../store/check.ts';
import { checkStore, keepLastCheck } from '../../store/open.ts';
import { collections } from '../../store/store.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { fileText } from '../files.ts';
import { counted, table } from '../output.ts';
import { minuteText, workTimeText } from '../wording.ts';

interface Options {
  user?: string;
  digest?: true;
  against?: string;
}

/** Checks the store, and keeps beside the data what it found. */
export function checkCommand(context: CommandContext): Command {
  return new Command('check')
    .description('check that everything in the store is as it was written')
    .option('--user <name>', 'only the rows of this user, by name or UUID; pages are not checked')
    .option('--digest', 'show a digest of what each user has, to compare two stores')
    .option('--against <file>', 'compare with an earlier check, saved with --digest --json')
    .addHelpText(
      'after',
      `
Examples:
  mobility store check
  mobility store check --digest --json > before.json
  mobility store check --against before.json

Server and pipeline can run meanwhile. The check changes no data; what it found is
kept beside them, for status, serve and pipeline. Ctrl-C ends it with what it found so far.
Exit code 3: something was found, or the stores differ. docs/errors.md explains the codes of findings.
Exit code 1: a file could not be checked, such as one that is locked; the others are checked.`,
    )
    .action(context.run((options: Options) => run(context, options)));
}

async function run(context: CommandContext, { user, digest, against }: Options): Promise<Outcome> {
  const { store: address } = context.config();
  const earlier = against === undefined ? null : await readReport(against);
  const userId = user === undefined ? undefined : (await context.findUser(user)).uuid;
  const signal = context.interruptible();
  const started = context.now();
  const progress = context.output.progress('opening');
  const report = await checkStore(address, {
    ...(userId !== undefined && { userId }),
    digest: digest === true || earlier !== null,
    signal,
    onProgress: (text) => progress.update(text),
  }).finally(() => progress.done());
  await keepLastCheck(address, report, started).catch((error) =>
    context.output.note(`what the check found could not be kept in the store: ${errorText(error)}`),
  );
  const seconds = context.now() - started;
  // A check of a part finds nobody in the rest.
  const differ = earlier === null || !report.complete ? null : differences(earlier, report, userId);
  await context.output.result({ ...report, seconds, ...(differ && { against: differ }) }, () =>
    reportText(report, { seconds, differ, digest: digest === true, zone: context.zone }),
  );
  for (const { code, what } of report.unchecked) context.output.note(`mobility: ${code}: ${what}`);
  if (earlier !== null && differ === null)
    context.output.note('not compared with the earlier check: this one is not complete');
  if (report.unchecked.length > 0) return { exitCode: 1 };
  if (!report.complete) return {};
  return report.sound && (differ === null || differ.length === 0) ? {} : { exitCode: 3 };
}

/** A user who is not the same in two checks. */
interface Difference {
  user_id: string;
  what: string;
}

async function readReport(path: string): Promise<CheckReport> {
  // No word of what stands in the file: it may be another one, such as a key.
  const report = parseJsonObject(await fileText(path)) as Partial<CheckReport> | null;
  const users = report?.complete === true && Array.isArray(report.users) ? report.users : [null];
  if (users.every((one) => one?.digest !== undefined)) return report as CheckReport;
  throw new MobilityError(
    'MOBILITY_USAGE',
    `expected a complete check in ${path}, written by \`mobility store check --digest --json\`, found something else`,
  );
}

function differences(before: CheckReport, after: CheckReport, userId: string | undefined): Difference[] {
  const [one, other] = [before, after].map((report) => new Map(report.users.map((user) => [user.user_id, user])));
  const ids = [...new Set([...one!.keys(), ...other!.keys()])].sort();
  return ids.flatMap((user_id): Difference[] => {
    if (userId !== undefined && user_id !== userId) return [];
    const [was, is] = [one!.get(user_id), other!.get(user_id)];
    if (was === undefined) return [{ user_id, what: 'only in this store' }];
    if (is === undefined) return [{ user_id, what: 'only in the earlier check' }];
    if (was.digest === null || is.digest === null) return [{ user_id, what: 'damaged: cannot be compared' }];
    if (was.digest === is.digest) return [];
    const counts = collections.filter((name) => (was.rows[name] ?? 0) !== (is.rows[name] ?? 0));
    const changed = counts.map((name) => `${name}: ${was.rows[name] ?? 0} before, ${is.rows[name] ?? 0} now`);
    return [{ user_id, what: changed.join('; ') || 'other content' }];
  });
}

interface Shown {
  seconds: number;
  differ: Difference[] | null;
  digest: boolean;
  zone: string;
}

function reportText(report: CheckReport, { seconds, differ, digest, zone }: Shown): string {
  const parts: string[] = report.findings.map((finding) => findingText(finding, zone));
  if (report.more > 0) parts.push(`and ${counted(report.more, 'more finding')}`);
  if (digest && report.complete) {
    const rows = report.users.map((user) => [user.user_id, user.digest ?? 'damaged']);
    if (rows.length > 0) parts.push(table([['UUID', 'DIGEST'], ...rows]));
  }
  for (const { user_id, what } of differ ?? []) parts.push(`differs  ${user_id}: ${what}`);
  const counts = collections.flatMap((name) => (report.rows[name] ? [`${name} ${report.rows[name]}`] : []));
  const verdict = verdictText(report);
  const { pages, texts, references } = report.checked;
  const looked = [...(pages ? ['pages'] : []), ...(texts ? ['rows'] : []), ...(references ? ['references'] : [])];
  const old =
    report.unsummed > 0 ? `; ${counted(report.unsummed, 'row')} without a checksum, from an earlier version` : '';
  parts.push(
    `${report.store}: ${verdict}; checked: ${looked.join(', ') || 'nothing'}, in ${workTimeText(seconds)}${old}`,
    counts.length === 0 ? 'no rows' : `rows of ${counted(report.users.length, 'user')}: ${counts.join(', ')}`,
  );
  if (differ !== null) parts.push(differ.length === 0 ? 'the same as the earlier check' : differText(differ.length));
  return parts.join('\n');
}

const differText = (count: number): string => (count === 1 ? '1 user differs' : `${counted(count, 'user')} differ`);

function verdictText({ findings, more, complete, unchecked }: CheckReport): string {
  const left = unchecked.length === 0 ? '' : `; not checked: ${unchecked.map(({ file }) => file).join(', ')}`;
  if (findings.length > 0) return `${counted(findings.length + more, 'finding')}${left}`;
  if (unchecked.length > 0) return `nothing found elsewhere${left}`;
  return complete ? 'sound' : 'interrupted; nothing found so far';
}

function findingText(finding: Finding, zone: string): string {
  const { code, file, table: name, user_id, what, key, entries, from_ts, to_ts, cure } = finding;
  const span =
    from_ts === undefined ? '' : ` from ${minuteText(from_ts, zone)} to ${minuteText(to_ts ?? from_ts, zone)}`;
  const affected =
    key === undefined && entries === undefined && span === ''
      ? ''
      : `; affected: ${[key, entries === undefined ? '' : counted(entries, 'entry', 'entries')].filter(Boolean).join(', ')}${span}`;
  const where = [file, ...(name === null ? [] : [`table ${name}`]), ...(user_id === null ? [] : [`user ${user_id}`])];
  return `${code}  ${where.join(', ')}: ${what}${affected}\n  cure: ${cure}`;
}
