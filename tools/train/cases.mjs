// Reads the cases of a folder, or makes up cases, for all tools in this folder.
import { caseNames, readCase } from '../../dist/evaluate/cases.js';
import { madeUpCases } from './made-up.mjs';

/** Yields the cases of a folder. Yields made-up days if the name is `made-up:SEED:DRAWS`. */
export function* casesIn(folder) {
  const [kind, seed, draws] = folder.split(':');
  if (kind === 'made-up') yield* madeUpCases(seed, Number(draws));
  else for (const name of caseNames(folder)) yield readCase(folder, name);
}
