// The models that come with the package, read once.
import { readFileSync } from 'node:fs';
import { readJointModel } from './joint.ts';
import { readModel } from './model.ts';

/** Three folders up both from `src/analysis/sequence` and from `dist/analysis/sequence`. */
const textOf = (name: string): string => readFileSync(new URL(`../../../models/${name}.json`, import.meta.url), 'utf8');

/** By what a phone sends: `sparse` is for those without motion readings. */
export const shippedModels = {
  full: readModel(textOf('states-2')),
  sparse: readModel(textOf('states-sparse-2')),
  joint: readJointModel(textOf('journeys-2')),
  jointSparse: readJointModel(textOf('journeys-sparse-2')),
};
