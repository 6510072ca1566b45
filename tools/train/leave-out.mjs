// The leave-out table: node tools/train/leave-out.mjs CASES CELLS [--python PYTHON] [--folds dates,itinerary,os,regime]
// [--augment FOLDER,FOLDER] [--perturb NAME,NAME] [--draws N] [--save FOLDER] For each fold a model is trained without
// its cases and scored on them alone; the table pools the cases of all folds. There are four folds of whole dates, since
// phones of one day carry one journey; the dates of each itinerary are dealt out by turns. --perturb: the cases are
// scored as perturbed (perturb.mjs), with the same models. --draws: two rows below each row, between which 95 % of so
// many draws of the cases (with replacement) lie.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readModel } from '../../dist/analysis/sequence/model.js';
import { readCase } from '../../dist/evaluate/cases.js';
import { tripsFound } from '../../dist/evaluate/evaluate.js';
import { scoreCase, summarise } from '../../dist/evaluate/score.js';
import { seededRandom } from '../../dist/simulate/random.js';
import { perturbed } from './perturb.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    python: { type: 'string', default: 'python3' },
    folds: { type: 'string', default: 'dates,itinerary,os,regime' },
    augment: { type: 'string', default: '' },
    perturb: { type: 'string', default: 'none' },
    draws: { type: 'string', default: '0' },
    save: { type: 'string' },
  },
});
const [cases, cells] = positionals;
if (!cases || !cells) {
  console.error(
    'usage: node tools/train/leave-out.mjs CASES CELLS [--python PYTHON] [--folds LIST] [--augment FOLDERS]',
  );
  console.error('       [--perturb LIST] [--draws N] [--save FOLDER]');
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));
const all = JSON.parse(readFileSync(join(cells, 'cases.json'), 'utf8')).cases;
const foldByDate = new Map();
for (const timeline of [...new Set(all.map((one) => one.timeline))].sort()) {
  const dates = [...new Set(all.filter((one) => one.timeline === timeline).map(({ date }) => date))].sort();
  for (const [turn, date] of dates.entries()) if (!foldByDate.has(date)) foldByDate.set(date, (turn % 4) + 1);
}
const foldOf = {
  dates: ({ date }) => String(foldByDate.get(date)),
  itinerary: ({ timeline }) => timeline,
  os: ({ platform }) => platform,
  regime: ({ regime }) => regime,
};
const folder = values.save ?? mkdtempSync(join(tmpdir(), 'leave-out-'));
mkdirSync(folder, { recursive: true });

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
/** The model of a fold, trained without the cases that it leaves out. */
function modelWithout(id, out) {
  const file = join(folder, `${id}.json`);
  const about = ['--id', id, '--data', 'leave-out', '--licence', 'as the data', '--augment', values.augment];
  execFileSync(values.python, [join(here, 'train.py'), cells, file, ...about, '--without', out.join(',')]);
  return readModel(readFileSync(file, 'utf8'));
}

/** The figures that a share of draws of the cases stays below. */
function drawn(found, shares) {
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
  const scores = new Map(values.perturb.split(',').map((how) => [how, []]));
  for (const fold of [...new Set(all.map(foldOf[name]))].sort()) {
    const out = all.filter((one) => foldOf[name](one) === fold).map((one) => one.name);
    const model = modelWithout(`${name}-${fold}`, out);
    for (const one of out.map((case_) => readCase(cases, case_)))
      for (const [how, found] of scores) {
        const day = perturbed(one, how);
        found.push(scoreCase(day.truth, tripsFound(day, model)));
      }
  }
  for (const [how, found] of scores) {
    const summary = summarise(found);
    const label = how === 'none' ? name : `${name}, ${how}`;
    console.log(`| ${label} | ${columns.map((column) => shown(column, summary[column])).join(' | ')} |`);
    if (Number(values.draws) > 0)
      for (const [i, row] of drawn(found, [0.025, 0.975]).entries())
        console.log(`| ${label}, ${['2.5 %', '97.5 %'][i]} | ${row.join(' | ')} |`);
  }
}
