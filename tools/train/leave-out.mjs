// The leave-out table: node tools/train/leave-out.mjs CASES CELLS [--python PYTHON] [--folds dates,itinerary,os,regime]
// [--perturb NAME,NAME] [--draws N] [--save FOLDER]. For each fold everything is fitted without its cases (fold.mjs), and
// scored on them alone; the table pools the cases of all folds. There are four folds of whole dates, since phones of one
// day carry one journey. --perturb: scores perturbed copies of the cases (perturb.mjs) with the same models. --draws: adds
// two rows below each row, the bounds of 95 % of so many draws of the cases with replacement. Comments below the rows have
// the calibration of all cases and by platform. CELLS: a folder made by `all-cells.sh`.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { tripsFound } from '../../dist/evaluate/evaluate-cases.js';
import { scoreCase, summarise } from '../../dist/evaluate/score.js';
import { seededRandom } from '../../dist/simulate/random.js';
import { Calibration } from './calibration.mjs';
import { casesIn } from './cases.mjs';
import { Fitter } from './fold.mjs';
import { perturbed } from './perturb.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    python: { type: 'string', default: 'python3' },
    folds: { type: 'string', default: 'dates,itinerary,os,regime' },
    perturb: { type: 'string', default: 'none' },
    draws: { type: 'string', default: '0' },
    save: { type: 'string' },
  },
});
const [cases, cells] = positionals;
if (!cases || !cells) {
  console.error('usage: node tools/train/leave-out.mjs CASES CELLS [--python PYTHON] [--folds LIST]');
  console.error('       [--perturb LIST] [--draws N] [--save FOLDER]');
  process.exit(2);
}
const recorded = new Map([...casesIn(cases)].map((one) => [one.name, one]));
const fitter = new Fitter({
  cells,
  recorded,
  python: values.python,
  folder: values.save ?? mkdtempSync(join(tmpdir(), 'leave-out-')),
  about: ['--data', 'leave-out', '--licence', 'as the data'],
});
const { all, dates } = fitter;
const foldOf = {
  dates: ({ date }) => String(dates.get(date)),
  itinerary: ({ timeline }) => (timeline.includes('calibration') ? null : timeline), // still phones have none
  os: ({ platform }) => platform,
  regime: ({ regime }) => (regime.endsWith('AO') ? null : regime),
};

const columns = [
  'f1',
  'f1_split',
  'start',
  'end',
  'travel',
  'mode',
  'coarse',
  'macro_f1',
  'false_s_per_hour',
  'distance',
];
const digits = { start: 0, end: 0, false_s_per_hour: 0, distance: 1 };
const shown = (name, value) =>
  Array.isArray(value) ? value.map((x) => x?.toFixed(0) ?? '-').join('/') : (value?.toFixed(digits[name] ?? 3) ?? '-');
console.log(`| left out | ${columns.join(' | ')} |\n|---|${columns.map(() => '---').join('|')}|`);
/** Rows of quantiles over random draws of the cases. */
function quantileRows(found, shares) {
  const { next } = seededRandom('draws');
  const draws = Array.from({ length: Number(values.draws) }, () =>
    summarise(found.map(() => found[Math.floor(next() * found.length)])),
  );
  const share = (list, q) => list.sort((a, b) => a - b)[Math.floor(q * (list.length - 1))];
  return shares.map((q) =>
    columns.map((column) => {
      const figures = draws.map((draw) => [draw[column]].flat());
      const figure = figures[0].map((_, i) =>
        share(
          figures.map((one) => one[i]),
          q,
        ),
      );
      return shown(column, figure.length > 1 ? figure : figure[0]);
    }),
  );
}

for (const name of values.folds.split(',')) {
  const kinds = ['all', ...new Set(all.map(({ platform }) => platform))].sort();
  const scores = new Map(
    values.perturb.split(',').map((how) => {
      return [how, { found: [], calibrations: new Map(kinds.map((kind) => [kind, new Calibration()])) }];
    }),
  );
  for (const fold of [...new Set(all.map(foldOf[name]))].filter((one) => one !== null).sort()) {
    const out = all.filter((one) => foldOf[name](one) === fold).map((one) => one.name);
    const models = fitter.models(`${name}-${fold}`, out);
    for (const one of out.map((case_) => recorded.get(case_)))
      for (const [how, { found, calibrations }] of scores) {
        const day = perturbed(one, how);
        const trips = tripsFound(day, models);
        found.push(scoreCase(day.truth, trips));
        for (const kind of ['all', day.truth.platform]) calibrations.get(kind).add(day.truth, trips);
      }
  }
  for (const [how, { found, calibrations }] of scores) {
    const summary = summarise(found);
    const label = how === 'none' ? name : `${name}, ${how}`;
    console.log(`| ${label} | ${columns.map((column) => shown(column, summary[column])).join(' | ')} |`);
    if (Number(values.draws) > 0)
      for (const [i, row] of quantileRows(found, [0.025, 0.975]).entries())
        console.log(`| ${label}, ${['2.5 %', '97.5 %'][i]} | ${row.join(' | ')} |`);
    for (const [kind, one] of calibrations) console.log(`<!-- ${label}, ${kind}: ${one.text()} -->`);
  }
}
