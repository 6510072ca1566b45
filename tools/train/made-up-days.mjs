// Scores the shipped models on made-up days of a seed that they were not trained on, by kind of phone:
// node tools/train/made-up-days.mjs [SEED] [DRAWS]
import { tripsFound } from '../../dist/evaluate/evaluate-cases.js';
import { scoreCase, summarise } from '../../dist/evaluate/score.js';
import { Calibration } from './calibration.mjs';
import { madeUpCases, phones } from './made-up.mjs';

const [seed = 'test', draws = '3'] = process.argv.slice(2);
const found = new Map(Object.keys(phones).map((phone) => [phone, { scores: [], calibration: new Calibration() }]));
for (const one of madeUpCases(seed, Number(draws))) {
  if (one.kind === 'fast train') continue; // by air or high-speed rail: both names are right
  const trips = tripsFound(one);
  const { scores, calibration } = found.get(one.phone);
  scores.push(scoreCase(one.truth, trips));
  calibration.add(one.truth, trips);
}
console.log(
  '| phone | F1 | mode | coarse | confidence of .7 or more | of that wrong | error |\n|---|---|---|---|---|---|---|',
);
for (const [phone, { scores, calibration }] of found) {
  const { f1, mode, coarse } = summarise(scores);
  const { share, wrong } = calibration.wrongFrom(0.7);
  console.log(
    `| ${phone} | ${[f1, mode, coarse, share, wrong, calibration.error()].map((x) => x.toFixed(2)).join(' | ')} |`,
  );
}
