// Step "runners": a bicycle's ride in which an Android phone felt feet, no faster than people run, is on foot.
import { within } from '../in-time.ts';
import type { Motion } from '../observations.ts';
import type { Cells } from './decode.ts';
import { readingKind, readingKindOf } from './features.ts';
import { cellStates } from './model.ts';
import type { Run } from './runs.ts';
import { metresAt, type Track } from './track.ts';

/** When a ride is a run on foot. */
export interface RunnerOptions {
  /** m/s on average; few people run faster for minutes (physical) */
  fastest: number;
  /** Readings of feet at least, and their confidences over those of a bicycle and of a vehicle (by hand). */
  readings: number;
  share: number;
}

/** The values in use. */
const runnerDefaults: RunnerOptions = { fastest: 4, readings: 2, share: 2 };

/**
 * The cells, on foot in place of a bicycle where somebody ran. Nobody runs on the training days, so the model takes
 * runners for cyclists.
 */
export function runnersOnFoot(
  cells: Cells,
  runs: readonly Run[],
  track: Track,
  motions: readonly Motion[],
  options = runnerDefaults,
): Cells {
  let changed: Cells | null = null;
  for (const run of runs) {
    if (run.state !== cellStates.cycle) continue;
    const metres = metresAt(track, run.end) - metresAt(track, run.start);
    if (metres > options.fastest * (run.end - run.start)) continue;
    const share = shareOfFeet(within(motions, run.start, run.end), options);
    if (share === null) continue;
    changed ??= { ...cells, state: cells.state.slice(), probability: cells.probability.slice() };
    putOnFoot(run, share, changed);
  }
  return changed ?? cells;
}

/** Share of feet in what readings of a ride name; null: too few of them, or too little. */
function shareOfFeet(motions: readonly Motion[], options: RunnerOptions): number | null {
  let [feet, wheels, readings] = [0, 0, 0];
  for (const { type, confidence } of motions) {
    const kind = readingKind(type);
    if (kind === readingKindOf.bike || kind === readingKindOf.motor) wheels += confidence;
    if (kind !== readingKindOf.walk) continue;
    feet += confidence;
    readings += 1;
  }
  return readings >= options.readings && feet > 0 && feet >= options.share * wheels ? feet / (feet + wheels) : null;
}

/** Makes the cells of a ride those of feet; these get their share of what spoke for a bicycle. */
function putOnFoot({ start, end }: Run, share: number, { ts, state, probability }: Cells): void {
  for (let i = 0; i < ts.length; i += 1) {
    if (ts[i]! < start || ts[i]! > end) continue;
    state[i] = cellStates.walk;
    const cycle = probability[4 * i + cellStates.cycle]!;
    probability[4 * i + cellStates.walk]! += share * cycle;
    probability[4 * i + cellStates.cycle] = (1 - share) * cycle;
  }
}
