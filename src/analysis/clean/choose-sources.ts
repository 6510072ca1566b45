// Step "choose sources": the locations of several phones and apps of one person -> those that trips are made of.
import { someWithin } from '../sorted-times.ts';
import type { Location } from './observations.ts';

/**
 * s; a location of a source counts as long as this before and after it: in that time the sources behind it are left
 * out.
 */
export const sourceReach = 300;

/** Locations of each source, ascending by `ts`. Sources are named by `sourceOf` of model/sources. */
export type BySource = ReadonlyMap<string, readonly Location[]>;

/**
 * One line of locations: where sources overlap in time the first of them has it, and the others fill stretches in which
 * it has none. A location is left out if one of a source before its own lies within `sourceReach`. Nothing is there
 * twice, whatever the sources.
 */
export function chooseLocations(found: BySource): Location[] {
  const sources = [...found.keys()].sort(); // so that the outcome hangs on nothing but the entries
  if (sources.length === 1) return [...found.get(sources[0]!)!];
  let before: Location[] = []; // of all sources looked at so far, left out or not
  const chosen: Location[] = [];
  for (const source of sources) {
    const own = found.get(source)!;
    for (const location of own) {
      if (!someWithin(before, location.ts - sourceReach, location.ts + sourceReach)) chosen.push(location);
    }
    before = [...before, ...own].sort((a, b) => a.ts - b.ts);
  }
  return chosen.sort((a, b) => a.ts - b.ts);
}
