// Runs of cells in one state: what the decoder says of a stretch of time, and questions about it.
import type { Cells } from './decode.ts';
import { cellSeconds } from './features.ts';
import { states } from './model.ts';

/** Cells in one state that follow each other without a hole. */
export interface Run {
  state: number;
  /** s since the epoch: from half a cell before the first to half a cell after the last */
  start: number;
  end: number;
}

const half = cellSeconds / 2;

/** All runs of the cells, ascending; resting ones too. */
export function runsOf({ ts, state }: Cells): Run[] {
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
    if (state === states.still) continue;
    const before = found.at(-1);
    if (before && before.end === start) before.end = end;
    else found.push({ start, end });
  }
  return found;
}

/** The parts of moving runs between two times, ascending. */
export function movingBetween(runs: readonly Run[], from: number, to: number): Run[] {
  return runs
    .filter((run) => run.state !== states.still && run.end > from && run.start < to)
    .map(({ state, start, end }) => ({ state, start: Math.max(start, from), end: Math.min(end, to) }));
}

/** s of the runs in one state */
export function secondsIn(runs: readonly Run[], state: number): number {
  return runs.reduce((sum, run) => sum + (run.state === state ? run.end - run.start : 0), 0);
}
