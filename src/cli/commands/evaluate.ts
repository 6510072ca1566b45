import { Option } from '@commander-js/extra-typings';
import { readModel } from '../../analysis/states/boosted-trees.ts';
import { evaluate, type ScoredCase } from '../../evaluate/evaluate-cases.ts';
import { evaluateLabels, type LabelScore, type LabelsReport } from '../../evaluate/labels.ts';
import { type Summary, summarise } from '../../evaluate/score.ts';
import { oneLine } from '../../log/text.ts';
import { MobilityError, usageError } from '../../model/mobility-error.ts';
import { fileText } from '../../util/file-access.ts';
import { DocumentedCommand, type OptionsOf, repeated } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, table } from '../output.ts';
import { selectUsers, withUserChoice } from '../user-options.ts';

export const command = (context: CommandContext) => flags().action(context.run(run));

const flags = () =>
  withUserChoice(
    new DocumentedCommand('evaluate').examples(`
  mobility evaluate --cases recorded
  mobility evaluate --cases recorded --only 2019-09 --model without-september.json --json
  mobility evaluate --labels --study berlin

docs/quality.md explains the columns. A model must not be judged by days that it was trained on.`),
  )
    .addOption(new Option('--cases <folder>', 'folder with CASE.put.json.gz and CASE.truth.json').conflicts('labels'))
    .option('--labels', 'compare the modes of the diary with the modes that users confirmed')
    .option('--model <file>', 'with --cases: analyse with this model instead of the one in the package')
    .option('--only <text>', 'with --cases: only cases whose name contains this text; may be repeated', repeated);

type Options = OptionsOf<typeof flags>;

async function run(context: CommandContext, { cases, labels, ...options }: Options): Promise<void> {
  if (cases !== undefined) return runCases(context, cases, options);
  if (!labels) throw usageError('expected --cases FOLDER or --labels, found neither');
  const report = await evaluateLabels(await context.store(), selectUsers(context, options));
  await context.output.result(report, () => labelsText(report));
}

function labelsText({ people, all, modes, not_compared, without_trip }: LabelsReport): string {
  const rows = Object.entries({ ...modes, all }).map(([name, score]) => labelRow(name, score));
  const words = Object.entries(not_compared).map(([text, count]) => `${oneLine(text) || '(empty)'} ${count}`);
  return [
    table([['label', 'labels', 'right', 'share', '95 %', 'claimed', 'instead'], ...rows], [1, 2, 3, 5]),
    `${counted(people, 'person', 'people')}; labels of a time without a trip: ${without_trip}`,
    ...(words.length > 0 ? [`labels that name no mode of the diary: ${words.join(', ')}`] : []),
  ].join('\n');
}

function labelRow(name: string, { labels, right, share, interval, said, instead }: LabelScore): string[] {
  const others = Object.entries(instead).map(([mode, count]) => `${mode} ${count}`);
  const between = interval.map((x) => x.toFixed(2)).join('-');
  return [name, String(labels), String(right), share.toFixed(2), between, said.toFixed(2), others.join(', ')];
}

async function runCases(context: CommandContext, cases: string, { model: file, only = [] }: Options): Promise<void> {
  const model = file === undefined ? undefined : await modelIn(file);
  const progress = context.output.progress('evaluating');
  const scored: ScoredCase[] = [];
  for (const one of evaluate(cases, { only, models: model ? { full: model, sparse: model } : {} }))
    progress.update(`${scored.push(one)} cases`);
  if (scored.length === 0) throw usageError(`expected cases whose names contain ${only.join(' or ')}, found none`);
  const overall = summarise(scored.map(({ score }) => score));
  const groups = Object.fromEntries(groupings.map((by) => [by, grouped(scored, by)]));
  const single = Object.fromEntries(scored.map(({ name, score }) => [name, summarise([score])]));
  await context.output.result({ overall, groups, cases: single }, () => tableOf(overall, groups));
}

async function modelIn(file: string) {
  try {
    return readModel(await fileText(file));
  } catch (cause) {
    if (cause instanceof MobilityError) throw cause;
    throw usageError(`cannot use the model ${file}: ${(cause as Error).message}`, { cause });
  }
}

const groupings = ['platform', 'regime', 'timeline'] as const;

function grouped(scored: readonly ScoredCase[], by: (typeof groupings)[number]): Record<string, Summary> {
  const names = [...new Set(scored.map((one) => one[by]))].sort();
  const scoresOf = (name: string) => scored.filter((one) => one[by] === name).map(({ score }) => score);
  return Object.fromEntries(names.map((name) => [name, summarise(scoresOf(name))]));
}

const number = (x: number | null, digits: number): string => (x === null ? '-' : x.toFixed(digits));
const pair = ([a, b]: Summary['start']): string => `${number(a, 0)}/${number(b, 0)}`;

const columnsOf = (summary: Summary): Record<string, string> => ({
  cases: String(summary.cases),
  trips: String(summary.trips),
  F1: number(summary.f1, 3),
  split: number(summary.f1_split, 3),
  'start s': pair(summary.start),
  'end s': pair(summary.end),
  travel: number(summary.travel, 3),
  mode: number(summary.mode, 3),
  coarse: number(summary.coarse, 3),
  macro: number(summary.macro_f1, 3),
  'false s/h': number(summary.false_s_per_hour, 0),
  'dist %': number(summary.distance, 1),
});

function tableOf(overall: Summary, groups: Record<string, Record<string, Summary>>): string {
  const header = ['', ...Object.keys(columnsOf(overall))];
  const row = (name: string, summary: Summary): string[] => [name, ...Object.values(columnsOf(summary))];
  const grouped = Object.values(groups).flatMap((group) => Object.entries(group));
  const rows = [row('overall', overall), ...grouped.map(([name, summary]) => row(`  ${name}`, summary))];
  return table([header, ...rows], [...header.keys()].slice(1));
}
