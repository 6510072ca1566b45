// `mobility report`: figures of all users that reveal no person.
import { Command, InvalidArgumentError, Option } from '@commander-js/extra-typings';
import { publishedCsv, publishedRows } from '../../export/report-csv.ts';
import { usualLeast } from '../../figures/disclose.ts';
import { daysToSettle, isSettled, type MonthReport, monthReport, readMonth } from '../../figures/month-report.ts';
import { usageError } from '../../model/mobility-error.ts';
import { isDay, localDay, monthBeside } from '../../model/time.ts';
import { reportPage } from '../../web/pages/report-page.ts';
import { type OptionsOf, wholeNumber } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, table, writeResult } from '../output.ts';
import { findStudy } from '../user-options.ts';

/** Reports months. */
export function command(context: CommandContext) {
  return flags().action(context.run((options) => report(context, options)));
}

const flags = () =>
  new Command('report')
    .requiredOption('--from <month>', 'first month, YYYY-MM', monthArgument)
    .option('--to <month>', 'last month; default: the first one', monthArgument)
    .option('--study <name>', 'only members of this study, as its page shows; default: all users')
    .addOption(
      new Option('--by <what>', 'what to group the figures by')
        .choices(['mode', 'hour', 'weekday', 'zone', 'cell'])
        .default('mode'),
    )
    .option('--least <people>', 'fewest people that a figure may stand for', wholeNumber(3, 10_000), usualLeast)
    .addOption(new Option('--csv <file>', 'write CSV; - for standard output').conflicts('html'))
    .option('--html <file>', 'write an HTML page; - for standard output')
    .addHelpText(
      'after',
      `
Examples:
  mobility report --from 2024-03
  mobility report --from 2024-01 --to 2024-12 --by hour --csv hours.csv
  mobility report --study sunny --from 2024-01 --to 2024-03 --html modes.html

Months are whole, people cannot be left out, and a person makes up half of a figure at most. Cells with too few
people are combined as "rest". Each figure is moved by chance, by up to what its busiest person adds, and always
by the same; trips are then rounded to the least number, kilometres and minutes to two digits.`,
    );

type Options = OptionsOf<typeof flags>;

function monthArgument(text: string): string {
  if (/^\d{4}-\d{2}$/.test(text) && isDay(`${text}-01`)) return text;
  throw new InvalidArgumentError('Expected a month as YYYY-MM.');
}

async function report(context: CommandContext, options: Options): Promise<void> {
  const { from, to = from, by, least, csv, html, study } = options;
  if (from > to)
    throw usageError(`expected --to to be the month of --from or a later one, found --from ${from} and --to ${to}`);
  const today = localDay(context.now(), 'UTC');
  if (!isSettled(to, today))
    throw usageError(
      `expected months that ended ${daysToSettle} days ago or earlier, found ${to}: while a month fills, the difference of two reports would reveal who travelled in between`,
    );
  if (study !== undefined) await findStudy(context, study);
  const store = await context.store();
  const months: MonthReport[] = [];
  for (let month = from; month <= to; month = monthBeside(month, 31))
    months.push(await monthReport(await readMonth(store, month, by, study), least));
  const file = csv ?? html;
  if (file === undefined) {
    await context.output.result({ months }, () => months.map(monthText).join('\n\n'));
    return;
  }
  const text = csv === undefined ? reportPage(months, least) : publishedCsv(months);
  await writeResult(context.output, file, text, counted(months.length, 'month'));
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
  const head = `${month.month} by ${month.by}${days === null ? '' : `, ${days} days of people observed`}`;
  if (rows.length === 0) return `${head}: too few people to report any figure`;
  const note = month.withheld === 0 ? '' : `\n${counted(month.withheld, 'cell')} with too few people`;
  return `${head}\n${table(rows, [1, 2, 3, 4, 5])}${note}`;
}
