// `mobility evaluate`: how good the diary is on recorded days whose truth is known.
import { Command } from 'commander';
import { readModel } from '../../analysis/sequence/model.ts';
import { evaluate, type ScoredCase } from '../../evaluate/evaluate.ts';
import { type Summary, summarise } from '../../evaluate/score.ts';
import { MobilityError } from '../../model/errors.ts';
import { repeated } from '../arguments.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { fileText } from '../files.ts';
import { table } from '../output.ts';

interface Options {
  cases: string;
  model?: string;
  only?: string[];
}

/** Scores the analysis over recorded cases. Reads no store. */
export function evaluateCommand(context: CommandContext): Command {
  return new Command('evaluate')
    .description('score the analysis over recorded days whose truth is known')
    .requiredOption('--cases <folder>', 'folder with <case>.put.json.gz and <case>.truth.json')
    .option('--model <file>', 'analyse with this model instead of the one in the package')
    .option('--only <text>', 'only cases whose name contains this text; may be repeated', repeated)
    .addHelpText(
      'after',
      `
Examples:
  mobility evaluate --cases recorded
  mobility evaluate --cases recorded --only 2019-09 --model without-september.json --json

docs/quality.md explains the columns. A model must not be judged by days that it was trained on.`,
    )
    .action(context.run((options: Options) => run(context, options)));
}

async function run(context: CommandContext, { cases, model: file, only = [] }: Options): Promise<Outcome> {
  const model = file === undefined ? undefined : await modelIn(file);
  const progress = context.output.progress('evaluating');
  const scored: ScoredCase[] = [];
  try {
    for (const one of evaluate(cases, { only, models: model ? { full: model, sparse: model } : {} })) {
      scored.push(one);
      progress.update(`${scored.length} cases`);
    }
  } finally {
    progress.done();
  }
  if (scored.length === 0)
    throw new MobilityError('MOBILITY_USAGE', `expected cases whose names contain ${only.join(' or ')}, found none`);
  const overall = summarise(scored.map(({ score }) => score));
  const groups = Object.fromEntries(
    (['platform', 'regime', 'timeline'] as const).map((by) => [by, grouped(scored, by)]),
  );
  const single = Object.fromEntries(scored.map(({ name, score }) => [name, summarise([score])]));
  await context.output.result({ overall, groups, cases: single }, () => tableOf(overall, groups));
  return {};
}

async function modelIn(file: string) {
  try {
    return readModel(await fileText(file));
  } catch (cause) {
    if (cause instanceof MobilityError) throw cause;
    throw new MobilityError('MOBILITY_USAGE', `${file}: ${(cause as Error).message}`, { cause });
  }
}

function grouped(scored: readonly ScoredCase[], by: 'platform' | 'regime' | 'timeline'): Record<string, Summary> {
  const names = [...new Set(scored.map((one) => one[by]))].sort();
  return Object.fromEntries(
    names.map((name) => [name, summarise(scored.filter((one) => one[by] === name).map(({ score }) => score))]),
  );
}

function tableOf(overall: Summary, groups: Record<string, Record<string, Summary>>): string {
  const head = [
    '',
    'cases',
    'trips',
    'F1',
    'split',
    'start s',
    'end s',
    'travel',
    'mode',
    'coarse',
    'macro',
    'false s/h',
    'dist %',
  ];
  const lines = Object.entries(groups).flatMap(([, group]) =>
    Object.entries(group).map(([name, summary]) => [`  ${name}`, ...cells(summary)]),
  );
  return table([head, ['overall', ...cells(overall)], ...lines], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
}

function cells(s: Summary): string[] {
  const number = (x: number | null, digits: number): string => (x === null ? '-' : x.toFixed(digits));
  const pair = ([a, b]: [number | null, number | null]): string => `${number(a, 0)}/${number(b, 0)}`;
  return [
    String(s.cases),
    String(s.trips),
    number(s.f1, 3),
    number(s.f1_split, 3),
    pair(s.start),
    pair(s.end),
    number(s.travel, 3),
    number(s.mode, 3),
    number(s.coarse, 3),
    number(s.macro_f1, 3),
    number(s.false_s_per_hour, 0),
    number(s.distance, 1),
  ];
}
