// The models that come with the package, read once.
import { readFileSync } from 'node:fs';
import { type Model, readModel } from './model.ts';

/** Three folders up both from `src/analysis/sequence` and from `dist/analysis/sequence`. */
const read = (name: string): Model =>
  readModel(readFileSync(new URL(`../../../models/${name}.json`, import.meta.url), 'utf8'));

/** By what a phone sends: `sparse` is for those without motion readings. */
export const shippedModels = { full: read('states-1'), sparse: read('states-sparse-1') };
