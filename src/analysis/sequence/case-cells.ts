// The cells of everything that one phone recorded, for the training of models: the program's own features, without
// labels.
import type { Location, Motion } from '../observations.ts';
import { type CellVisitor, featureLimits, forEachCell } from './features.ts';
import { trackOf } from './track.ts';

/** Visits every cell from 20 minutes before the first to 20 minutes after the last location, in order of time. */
export function forEachCellOf(
  { locations, motions }: { locations: readonly Location[]; motions: readonly Motion[] },
  visit: CellVisitor,
): void {
  const [first, last] = [locations[0], locations.at(-1)];
  if (!first || !last) return;
  const { reach } = featureLimits;
  const track = trackOf(locations);
  forEachCell({ track, motions, sampling: first.sampling, from: first.ts - reach, to: last.ts + reach }, visit);
}
