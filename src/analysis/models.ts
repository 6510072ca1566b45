import { readFileSync } from 'node:fs';
import { readModeCrf } from './modes/mode-crf.ts';
import { shippedNames } from './segmenter.ts';
import { readModel } from './states/boosted-trees.ts';

/** Text of a model file. Its relative path is the same from `src/analysis` and from `dist/analysis`. */
const textOf = (model: keyof typeof shippedNames): string =>
  readFileSync(new URL(`../../models/${shippedNames[model]}.json`, import.meta.url), 'utf8');

export type Models = typeof shippedModels;

/** Models for states (trees) and modes (CRF). `sparse` and `crfSparse` are for phones without motion readings. */
export const shippedModels = {
  full: readModel(textOf('full')),
  sparse: readModel(textOf('sparse')),
  crf: readModeCrf(textOf('crf')),
  crfSparse: readModeCrf(textOf('crfSparse')),
};
