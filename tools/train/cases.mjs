// The cases of a folder, or made-up ones: what all tools here read.
import { caseNames, readCase } from '../../dist/evaluate/cases.js';
import { madeUpCases } from './made-up.mjs';

/** Cases of a folder one after the other; `made-up:SEED:DRAWS` instead of one: made-up days. */
export function* casesIn(folder) {
  const [kind, seed, draws] = folder.split(':');
  if (kind === 'made-up') yield* madeUpCases(seed, Number(draws));
  else for (const name of caseNames(folder)) yield readCase(folder, name);
}
