import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { stringify } from 'csv-stringify/sync';
import { keyedPseudonym } from '../../export/privacy.ts';
import { publishedCsv, publishedRows } from '../../export/report-csv.ts';
import { usualLeast } from '../../figures/disclose.ts';
import type { MonthFigures, MonthReport } from '../../figures/month-report.ts';
import { daysToSettle, isSettled, monthReport, readMonth } from '../../figures/month-report.ts';
import type { RatedCell, RateInterval, WeightedPerson } from '../../figures/rate-cells.ts';
import { personFigures, rateCells } from '../../figures/rate-cells.ts';
import { readWeights } from '../../import/people-tables.ts';
import { usageError } from '../../model/mobility-error.ts';
import { isDay, localDay, monthBeside } from '../../model/time.ts';
import type { Store } from '../../store/store.ts';
import { fileText } from '../../util/file-access.ts';
import { reportPage } from '../../web/pages/report-page.ts';
import { DocumentedCommand, type OptionsOf, wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, table, writeResult } from '../output.ts';
import { findStudy } from '../user-options.ts';

export const command = (context: CommandContext) => flags().action(context.run(report));

const flags = () =>
  new DocumentedCommand('report')
    .examples(`
  mobility report --from 2024-03
  mobility report --from 2024-01 --to 2024-12 --by hour --csv hours.csv
  mobility report --study sunny --from 2024-01 --to 2024-03 --html modes.html
  mobility report --from 2024-01 --to 2024-03 --exact --weights people.csv --pseudonyms key.txt

docs/cli.md says how the report protects people. With --exact nothing is hidden: figures of few people reveal them.`)
    .requiredOption('--from <month>', 'first month, YYYY-MM', monthArgument)
    .option('--to <month>', 'last month; default: the first month', monthArgument)
    .option('--study <name>', 'only members of this study, as in the figures on its page; default: all users')
    .addOption(
      new Option('--by <what>', 'what to group the figures by')
        .choices(['mode', 'hour', 'weekday', 'zone', 'cell'])
        .default('mode'),
    )
    .addOption(
      new Option('--exact', 'exact rates per observed day with 95 % intervals, not for publication').conflicts([
        'least',
        'html',
      ]),
    )
    .option('--weights <file>', 'with --exact: CSV of people with a weight for each')
    .option('--pseudonyms <file>', 'with --weights: the key of the pseudonyms that name the people')
    .option('--least <people>', 'fewest people that a figure may be based on', wholeNumber(3, 10_000), usualLeast)
    .addOption(new Option('--csv <file>', 'write CSV; - for standard output').conflicts('html'))
    .option('--html <file>', 'write an HTML page; - for standard output');

type Options = OptionsOf<typeof flags>;

function monthArgument(text: string): string {
  if (/^\d{4}-\d{2}$/.test(text) && isDay(`${text}-01`)) return text;
  throw new InvalidArgumentError('Expected a month as YYYY-MM.');
}

async function report(context: CommandContext, options: Options): Promise<void> {
  const { from, to = from, by, least, csv, html, study, exact } = options;
  if (from > to)
    throw usageError(`expected a month in --to that is not before --from, found --from ${from} and --to ${to}`);
  if (study !== undefined) await findStudy(context, study);
  const store = await context.store();
  if (exact) return reportExactly(context, { ...options, to }, store);
  const today = localDay(context.now(), 'UTC');
  if (!isSettled(to, today)) {
    const why = 'while a month fills, the difference of two reports would reveal who travelled in between';
    throw usageError(`expected months that ended ${daysToSettle} days ago or earlier, found ${to}: ${why}`);
  }
  if (options.weights !== undefined) throw usageError('expected --exact with --weights, found --weights alone');
  const months: MonthReport[] = [];
  for (let month = from; month <= to; month = monthBeside(month, 31))
    months.push(await monthReport(await readMonth(store, month, by, study), least));
  const file = csv ?? html;
  if (file === undefined) return context.output.result({ months }, () => months.map(monthText).join('\n\n'));
  const text = csv === undefined ? reportPage(months, least) : publishedCsv(months);
  await writeResult(context.output, file, text, counted(months.length, 'month'));
}

async function reportExactly(
  context: CommandContext,
  { from, to, by, weights, pseudonyms, csv, study }: Options & { to: string },
  store: Store,
): Promise<void> {
  const months: MonthFigures[] = [];
  for (let month = from; month <= to; month = monthBeside(month, 31))
    months.push(await readMonth(store, month, by, study));
  const given = weights === undefined ? null : readWeights(await fileText(weights));
  const key = pseudonyms === undefined ? null : (await fileText(pseudonyms)).trim();
  const people: WeightedPerson[] = [];
  let unnamed = 0;
  for (const [uuid, person] of personFigures(months)) {
    const user = await store.users.byUuid(uuid);
    const names = [uuid, user?.user_email ?? '', ...(key === null ? [] : [keyedPseudonym(uuid, key)])];
    const weight = given === null ? 1 : names.map((name) => given.get(name)).find((one) => one !== undefined);
    if (weight === undefined) unnamed += 1;
    else people.push({ ...person, weight });
  }
  if (unnamed > 0) context.output.note(`${counted(unnamed, 'person has', 'people have')} no weight: left out`);
  const cells = rateCells(people, by);
  const period = from === to ? from : `${from} to ${to}`;
  if (csv === undefined)
    await context.output.result({ from, to, by, people: people.length, cells }, () => exactText(period, by, cells));
  else await writeResult(context.output, csv, exactCsv(cells), counted(cells.length, 'row'));
}

const rates = ['trips_per_day', 'km_per_day', 'share_of_km'] as const;

function exactText(period: string, by: string, cells: readonly RatedCell[]): string {
  const text = (interval: RateInterval): string => {
    const [estimate, low, high] = (interval ?? []).map((one) => one.toPrecision(3));
    return estimate === undefined ? '' : `${estimate} (${low} to ${high})`;
  };
  const head = [by.toUpperCase(), 'PEOPLE', 'TRIPS A DAY', 'KM A DAY', 'SHARE OF KM'];
  const rows = cells.map((one) => [one.cell, String(one.people), ...rates.map((name) => text(one[name]))]);
  return `${period}, exact, with 95 % intervals by resampling people: not for publication\n${table([head, ...rows], [1, 2, 3, 4])}`;
}

function exactCsv(cells: readonly RatedCell[]): string {
  const rows = cells.map(({ cell, people, ...of }) => {
    const parts: (string | number)[] = rates.flatMap((name) => [...(of[name] ?? ['', '', ''])]);
    return [cell, people, ...parts];
  });
  const columns = ['cell', 'people', ...rates.flatMap((name) => [name, `${name}_low`, `${name}_high`])];
  return stringify(rows, { header: true, columns, escape_formulas: true });
}

function monthText(month: MonthReport): string {
  const rows = publishedRows(month).map(({ cell, people_at_least, trips, km, minutes, km_per_day }) => [
    cell,
    `${people_at_least}+ people`,
    `${trips} trips`,
    `${km} km`,
    `${minutes} min`,
    ...(km_per_day === null ? [] : [`${km_per_day} km a day`]),
  ]);
  const { observed_days: days } = month;
  const head = `${month.month} by ${month.by}${days === null ? '' : `, ${days} person-days observed`}`;
  if (rows.length === 0) return `${head}: too few people to report any figure`;
  const note = month.withheld === 0 ? '' : `\n${counted(month.withheld, 'cell')} with too few people`;
  return `${head}\n${table(rows, [1, 2, 3, 4, 5])}${note}`;
}
