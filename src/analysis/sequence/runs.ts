// Runs of cells in one state: what the decoder says of a stretch of time, and questions about it.
import type { Cells } from './decode.ts';
import { cellSeconds } from './features.ts';
import { cellStates } from './model.ts';
import { firstAfter, positionAt, type Track } from './track.ts';

/** Cells in one state that follow each other without a hole. */
export interface Run {
  state: number;
  /** s since the epoch: from half a cell before the first to half a cell after the last */
  start: number;
  end: number;
}

const half = cellSeconds / 2;

/** m/s; slower feet stand: the states follow what walks look like, not how far they lead (physical) */
const slowestWalk = 0.1;

/** The runs of an outing: those of its cells, but who walks on the spot stands. */
export function runsOf(cells: Cells, track: Track): Run[] {
  const runs = statesIn(cells).map((run) => {
    if (run.state !== cellStates.walk || firstAfter(track, run.start) === firstAfter(track, run.end)) return run;
    const metres = positionAt(track, run.end).metres - positionAt(track, run.start).metres;
    return metres < slowestWalk * (run.end - run.start) ? { ...run, state: cellStates.still } : run;
  });
  return runs;
}

function statesIn({ ts, state }: Cells): Run[] {
  const runs: Run[] = [];
  for (let i = 0; i < ts.length; i += 1) {
    const run = runs.at(-1);
    if (run && run.state === state[i] && run.end === ts[i]! - half) run.end = ts[i]! + half;
    else runs.push({ state: state[i]!, start: ts[i]! - half, end: ts[i]! + half });
  }
  return runs;
}

/** Runs that move, joined where they touch. */
export function movements(runs: readonly Run[]): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  for (const { state, start, end } of runs) {
    if (state === cellStates.still) continue;
    const before = found.at(-1);
    if (before && before.end === start) before.end = end;
    else found.push({ start, end });
  }
  return found;
}

/** The parts of moving runs between two times, ascending. */
export function movingBetween(runs: readonly Run[], from: number, to: number): Run[] {
  return runs
    .filter((run) => run.state !== cellStates.still && run.end > from && run.start < to)
    .map(({ state, start, end }) => ({ state, start: Math.max(start, from), end: Math.min(end, to) }));
}

/** s of the runs in one state */
export function secondsIn(runs: readonly Run[], state: number): number {
  return runs.reduce((sum, run) => sum + (run.state === state ? run.end - run.start : 0), 0);
}
