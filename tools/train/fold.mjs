// Fits all models on some of the cases: first the state models, then the weights of modes and waits, on cases that the state
// models were not trained on.
//
//   cases of even dates  ->  state models A  \  each case is decoded by the models that have not seen it  ->  weights
//   cases of odd dates   ->  state models B  /
//   all cases            ->  the state models that are used with these weights

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readModeCrf } from '../../dist/analysis/modes/mode-crf.js';
import { readModel } from '../../dist/analysis/states/boosted-trees.js';
import { casesIn } from './cases.mjs';
import { fitJoint, jointFile } from './joint.mjs';
import { perturbed } from './perturb.mjs';

const here = dirname(fileURLToPath(import.meta.url));
/** Copies of recorded cases without motion readings, by interval of their locations (`perturb.mjs`). */
export const copies = ['sparse', 'sparse-3min', 'sparse-5min', 'sparse-500m'];
/** Cells that phones with readings are trained on, too: in `walked`, cyclists are read as walking, as iPhones often do. */
const readingCopies = ['made-up', 'walked'];
/**
 * How weights are fitted: `madeUp` and `copy` are the weights of a made-up day and of a thinned copy (a recorded case has
 * 1); the others are options of `fitJoint`. With readings, speed is a sign of a train even if the locations show no turns.
 * Without readings, the states depend on the speed already.
 */
const fits = {
  full: { madeUp: 20, copy: 1, penalty: 640, isScaled: true, more: { TRAIN: { 'ln speed': 1 } } },
  sparse: { madeUp: 3, copy: 0.3, penalty: 40, isScaled: false },
};

/** The recorded cases in a folder of cells. */
export const casesOf = (cells) => JSON.parse(readFileSync(join(cells, 'full', 'cases.json'), 'utf8')).cases;

/** The fold of each date, 1 to 4. Consecutive dates of an itinerary get different folds. */
export function foldsOfDates(all) {
  const folds = new Map();
  for (const timeline of [...new Set(all.map((one) => one.timeline))].sort()) {
    const dates = [...new Set(all.filter((one) => one.timeline === timeline).map(({ date }) => date))].sort();
    for (const [turn, date] of dates.entries()) if (!folds.has(date)) folds.set(date, (turn % 4) + 1);
  }
  return folds;
}

/** Trains and fits. Models that exist in `folder` are not fitted again. `recorded`: the cases by name. */
export class Fitter {
  constructor({ cells, folder, python, recorded, about }) {
    Object.assign(this, { cells, folder, python, recorded, about });
    this.all = casesOf(cells);
    this.dates = foldsOfDates(this.all);
    this.madeUp = [...casesIn('made-up:rides:2')];
    mkdirSync(folder, { recursive: true });
  }

  /** State models trained without some cases. */
  states(id, out) {
    const train = (name, cells, augment) => {
      const file = join(this.folder, `${name}.json`);
      const paths = augment.map((copy) => join(this.cells, copy)).join(',');
      const args = [
        join(here, 'train.py'),
        join(this.cells, cells),
        file,
        '--id',
        name,
        ...this.about,
        '--augment',
        paths,
      ];
      if (!existsSync(file)) execFileSync(this.python, [...args, '--without', out.join(',')]);
      return readModel(readFileSync(file, 'utf8'));
    };
    return {
      full: train(id, 'full', readingCopies),
      sparse: train(id.replace('states', 'states-sparse'), 'sparse', [...copies.slice(1), 'made-up-sparse']),
    };
  }

  /** All models fitted without some cases; `name` is part of their file names. */
  models(name, out) {
    const states = this.states(`states-${name}`, out);
    const half = ({ date }) => this.dates.get(date) % 2;
    const unseen = [0, 1].map((k) => {
      const more = this.all.filter((one) => half(one) === k).map((one) => one.name);
      return this.states(`states-${name}-half${k}`, [...new Set([...out, ...more])].sort());
    });
    const own = this.all
      .filter((one) => !out.includes(one.name))
      .map((one) => ({ one: this.recorded.get(one.name), models: unseen[half(one)], weight: 1 }));
    const madeUp = (weight) => this.madeUp.map((one) => ({ one, models: unseen[0], weight }));
    const fitted = (id, cases, fit) => {
      const file = join(this.folder, `${id}.json`);
      const origin = { left_out: out, program: 'tools/train/joint.mjs' };
      if (!existsSync(file)) writeFileSync(file, jointFile(fitJoint(cases(), id, fit), origin));
      return readModeCrf(readFileSync(file, 'utf8'));
    };
    const copied = (copy, weight) => own.map((row) => ({ ...row, one: perturbed(row.one, copy), weight }));
    return {
      ...states,
      crf: fitted(
        `journeys-${name}`,
        () => [
          ...own,
          ...copied('minute', fits.full.copy),
          ...madeUp(fits.full.madeUp).filter(({ one }) => one.motions.length > 0),
        ],
        fits.full,
      ),
      crfSparse: fitted(
        `journeys-sparse-${name}`,
        () => [
          ...copies.flatMap((copy) => copied(copy, copy === 'sparse' ? 1 : fits.sparse.copy)),
          ...madeUp(fits.sparse.madeUp).map((row) => ({ ...row, one: perturbed(row.one, 'sparse') })),
        ],
        fits.sparse,
      ),
    };
  }
}
