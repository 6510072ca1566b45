// Scores each fold of dates with the committed models that were trained without it. Fails if a figure is worse than in the
// row `at least` of docs/quality.md: node tools/train/check-folds.mjs CASES

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readModeCrf } from '../../dist/analysis/modes/mode-crf.js';
import { readModel } from '../../dist/analysis/states/boosted-trees.js';
import { evaluate } from '../../dist/evaluate/evaluate-cases.js';
import { summarise } from '../../dist/evaluate/score.js';

const [cases] = process.argv.slice(2);
if (!cases) {
  console.error('usage: node tools/train/check-folds.mjs CASES; run `npm run build` before');
  process.exit(2);
}
const here = dirname(fileURLToPath(import.meta.url));
const page = readFileSync(join(here, '../../docs/quality.md'), 'utf8');
const cells = (row) =>
  row
    .split('|')
    .slice(2, -1)
    .map((cell) => cell.trim());
const rows = page.split('\n');
const at = rows.findIndex((row) => row.startsWith('| at least |'));
const head = rows.slice(0, at).findLast((row) => row.startsWith('| left out |'));
if (at < 0 || head === undefined) throw new Error('docs/quality.md: expected a table with a row "| at least |"');
const bounds = Object.fromEntries(cells(head).map((name, i) => [name, cells(rows[at])[i].split('/').map(Number)]));

const folder = join(here, 'folds');
const scores = [];
const textOf = (name) => readFileSync(join(folder, name), 'utf8');
for (const file of readdirSync(folder)
  .filter((name) => name.startsWith('states-'))
  .sort()) {
  const states = readModel(textOf(file));
  const crf = readModeCrf(textOf(file.replace('states-', 'journeys-')));
  const only = JSON.parse(textOf(file)).origin.left_out;
  const scored = [...evaluate(cases, { models: { full: states, sparse: states, crf, crfSparse: crf }, only })];
  if (scored.length !== only.length) throw new Error(`${file}: expected ${only.length} cases, found ${scored.length}`);
  scores.push(...scored.map(({ score }) => score));
}
const summary = summarise(scores);
/** Figures for which a lower value is better. */
const falling = new Set(['start', 'end', 'false_s_per_hour', 'distance']);
let failed = 0;
for (const [name, bound] of Object.entries(bounds)) {
  const found = [summary[name]].flat();
  const good = bound.every((limit, i) => (falling.has(name) ? found[i] <= limit : found[i] >= limit));
  if (!good) failed += 1;
  const shown = found.map((x) => x.toFixed(3)).join('/');
  console.log(
    `${good ? 'holds' : 'FAILS'}  ${name.padEnd(18)} ${shown}, ${falling.has(name) ? 'at most' : 'at least'} ${bound.join('/')}`,
  );
}
process.exitCode = failed > 0 ? 1 : 0;
