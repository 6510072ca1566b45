import { readFileSync } from 'node:fs';
import { type ModeCrf, readModeCrf } from './modes/mode-crf.ts';
import { shippedNames } from './segmenter.ts';
import { type Model, readModel } from './states/boosted-trees.ts';

/** Models for states (trees) and modes (CRF). `sparse` and `crfSparse` are for phones without motion readings. */
export interface Models {
  full: Model;
  sparse: Model;
  crf: ModeCrf;
  crfSparse: ModeCrf;
}

/** Text of a model file. Its relative path is the same from `src/analysis` and from `dist/analysis`. */
const textOf = (model: keyof Models): string =>
  readFileSync(new URL(`../../models/${shippedNames[model]}.json`, import.meta.url), 'utf8');

export const shippedModels: Models = {
  full: readModel(textOf('full')),
  sparse: readModel(textOf('sparse')),
  crf: readModeCrf(textOf('crf')),
  crfSparse: readModeCrf(textOf('crfSparse')),
};
