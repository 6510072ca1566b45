// Everything that is fitted, for some cases: the state models, and the decision on top of them by cases that these have
// not seen.

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
/** Copies without motion readings, as phones sample: by folder of cells, which of them are copies of recorded cases. */
export const copies = ['sparse', 'sparse-3min', 'sparse-5min', 'sparse-500m'];
/** A copy for phones with readings: a model must not trust that "walking" means it. Beside the made-up days. */
const readingCopies = ['made-up', 'walked'];
/**
 * How the decision is fitted: the weight of a made-up day and of a thinned copy, where a recorded case has 1, and how
 * `fitJoint` does it. With readings a train is faster than a bus, also where the locations show no turn. Without them
 * the states hang on the speed already, and `unread` in `trip.ts` says how sharp the decision is.
 */
const fits = {
  full: { madeUp: 20, copy: 1, penalty: 640, isScaled: true, more: { TRAIN: { 'ln speed': 1 } } },
  sparse: { madeUp: 3, copy: 0.3, penalty: 40, isScaled: false },
};

/** What `cells` holds of the recorded cases. */
export const casesOf = (cells) => JSON.parse(readFileSync(join(cells, 'full', 'cases.json'), 'utf8')).cases;

/** Number, from 1 to 4, of the fold of a date; the dates of each itinerary are dealt out by turns. */
export function foldsOfDates(all) {
  const folds = new Map();
  for (const timeline of [...new Set(all.map((one) => one.timeline))].sort()) {
    const dates = [...new Set(all.filter((one) => one.timeline === timeline).map(({ date }) => date))].sort();
    for (const [turn, date] of dates.entries()) if (!folds.has(date)) folds.set(date, (turn % 4) + 1);
  }
  return folds;
}

/** Trains and fits, and keeps what is done in a folder. `recorded`: the cases by name. */
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
      joint: fitted(
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
