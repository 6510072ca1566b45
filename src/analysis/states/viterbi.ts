// Decodes the states of cells: boosted trees give probabilities by cell, Viterbi finds the most probable sequence.
//
//   cells (15 s)     1    2    3    4    5    6
//   still           .9   .8   .3   .1   .1   .1
//   walk            .1   .2   .6   .3   .8   .8
//   motor            0    0   .1   .6   .1   .1
//   best of each     s    s    w    m    w    w        contains a ride of 15 s
//   Viterbi          s    s    w    w    w    w        more probable, because each change of state is improbable
import type { Motion } from '../clean/observations.ts';
import { cellStates, isMoving, readingState } from '../motion-states.ts';
import { type Model, writeProbabilities } from './boosted-trees.ts';
import {
  blockSize,
  type CellInput,
  cellSeconds,
  cellWidth,
  featureLimits,
  featureNames,
  forEachBlock,
} from './features.ts';

/** Weights of the decoding, chosen by hand on the training days. */
export const decodeWeights = {
  evidence: 0.5, // exponent of a cell's probabilities; below 1, as neighbouring cells use the same locations
  floor: 1e-4, // a lower probability counts as this value
  // Added to the score (a logarithm) of a sequence for each change, from the state of the row to the state of the
  // column, in the order of `stateNames`. -12: people rest or walk between a bicycle and a vehicle.
  change: [
    [0, -3.5, -5, -5],
    [-3.5, 0, -4.5, -4.5],
    [-5, -4.5, 0, -12],
    [-5, -4.5, -12, 0],
  ],
};

/** The decoded cells of a group, ascending. In times without cells, far from all locations, the user rests. */
export interface Cells {
  ts: Float64Array; // s since the epoch, the middle of each cell
  state: Uint8Array;
  probability: Float64Array; // four for each cell, in the order of the states
  walking: Float64Array; // share of walking among the motion readings within 30 s; -1: no readings
}

export function decodeCells(input: CellInput, model: Model): Cells {
  const cells = classifyCells(input, model);
  const { ts, probability, state } = cells;
  if (input.sampling === 'time') applyReadings(cells, input.motions);
  for (let from = 0, i = 1; i <= ts.length; i += 1) {
    if (i < ts.length && ts[i]! - ts[i - 1]! === cellSeconds) continue;
    viterbi(probability, from, i, state);
    from = i;
  }
  return cells;
}

/** The feature that shows when the user of an iPhone began to walk. */
const walkingFeature = featureNames.indexOf('awalk30');

/** Computes the state probabilities of all cells. The model runs once for consecutive cells with the same features. */
function classifyCells(input: CellInput, model: Model): Cells {
  const most = Math.ceil((input.to - input.from) / cellSeconds) + 2;
  const perLocation = 2 * Math.ceil(featureLimits.reach / cellSeconds) + 1;
  const room = Math.max(0, Math.min(most, input.track.ts.length * perLocation));
  const ts = new Float64Array(room);
  const probability = new Float64Array(4 * room);
  const walking = new Float64Array(room);
  let n = 0;
  const modelled = new Float64Array(cellWidth).fill(Number.NaN); // features of the last cell for which the model ran
  const starts = new Int32Array(blockSize); // for each run of the model, where its cell's features begin in `rows`
  const results = new Float64Array(4 * (blockSize + 1)); // the first four are the last result of the block before
  forEachBlock(input, ({ ts: start, count, rows }) => {
    let runs = 0; // how often the model ran in this block
    const resultOf = new Uint8Array(count); // by cell: number of its run; 0: the last run of the block before
    for (let i = 0, row = 0; i < count; i += 1, row += cellWidth) {
      ts[n + i] = start + i * cellSeconds;
      walking[n + i] = rows[row + walkingFeature]!;
      if (!hasSameFeatures(modelled, rows, row)) {
        starts[runs] = row;
        runs += 1;
        for (let f = 0; f < cellWidth; f += 1) modelled[f] = rows[row + f]!;
      }
      resultOf[i] = runs;
    }
    writeProbabilities(model, rows, starts.subarray(0, runs), results.subarray(4));
    for (let i = 0; i < count; i += 1)
      for (let s = 0; s < 4; s += 1) probability[4 * (n + i) + s] = results[4 * resultOf[i]! + s]!;
    results.copyWithin(0, 4 * runs, 4 * runs + 4);
    n += count;
  });
  return {
    ts: ts.subarray(0, n),
    state: new Uint8Array(n),
    probability: probability.subarray(0, 4 * n),
    walking: walking.subarray(0, n),
  };
}

/** s; cells of one gap differ only in `since` and `until`. If both differ by less than this, the model runs once. */
const tolerance = 60;

/** True if the cell at `row` has the features `modelled`, except that `since` and `until` differ within `tolerance`. */
function hasSameFeatures(modelled: Float64Array, rows: Float64Array, row: number): boolean {
  for (let f = 2; f < cellWidth; f += 1) if (rows[row + f] !== modelled[f]) return false;
  return Math.abs(rows[row]! - modelled[0]!) < tolerance && Math.abs(rows[row + 1]! - modelled[1]!) < tolerance;
}

/**
 * Writes the most probable sequence of states of the consecutive cells from `from` to before `to` (Viterbi algorithm).
 * The user rests before these cells. Of equally probable sequences, writes the sequence with fewer changes.
 */
export function viterbi(probability: Float64Array, from: number, to: number, state: Uint8Array): void {
  const { evidence, floor, change } = decodeWeights;
  const before = new Uint8Array(4 * (to - from));
  const changes = Float64Array.from(change.flat()); // index: 4 * state before + state after
  const least = Math.log(floor);
  let score = new Float64Array([0, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]);
  let next = new Float64Array(4);
  for (let i = from; i < to; i += 1) {
    for (let s = 0; s < 4; s += 1) {
      let best = s;
      let most = score[s]!;
      for (let b = 0; b < 4; b += 1) {
        const reached = score[b]! + changes[4 * b + s]!;
        if (reached > most) {
          most = reached;
          best = b;
        }
      }
      before[4 * (i - from) + s] = best;
      const p = probability[4 * i + s]!;
      next[s] = most + evidence * (p > floor ? Math.log(p) : least);
    }
    const last = score;
    score = next;
    next = last;
  }
  let s: number = cellStates.still;
  for (let k = 1; k < 4; k += 1) if (score[k]! > score[s]!) s = k;
  for (let i = to - 1; i >= from; i -= 1) {
    state[i] = s;
    s = before[4 * (i - from) + s]!;
  }
}

/** Use of confident motion readings of Android. Both values were counted on the training days. */
const confident = {
  least: 75, // 0 to 100; only the model uses readings with a lower confidence
  odds: 300, // a reading multiplies the ratio of its state to each other moving state by this (median of six pairs)
};

/**
 * Changes `probability` in cells where confident readings name a state: multiplies the odds of this state against each
 * other moving state. The odds against still stay the same, because people also walk indoors. Ignores readings of one
 * cell that contradict each other. Only for Android, because iPhones report walking while cycling.
 */
function applyReadings({ ts, probability }: Cells, motions: readonly Motion[]): void {
  let next = 0;
  for (let i = 0; i < ts.length; i += 1) {
    // A reading counts for the first cell whose middle is at or after it: the cell before may still be part of a ride.
    while (next < motions.length && motions[next]!.ts <= ts[i]! - cellSeconds) next += 1;
    let named: number | null = null;
    let agree = true;
    for (; next < motions.length && motions[next]!.ts <= ts[i]!; next += 1) {
      const { type, confidence } = motions[next]!;
      const state = readingState(type);
      if (confidence < confident.least || !isMoving(state)) continue;
      agree &&= named === null || named === state;
      named = state;
    }
    if (named !== null && agree) weigh(probability, 4 * i, named, confident.odds);
  }
}

function weigh(probability: Float64Array, at: number, named: number, odds: number): void {
  let sum = 0;
  for (let s = 0; s < 4; s += 1) {
    if (s !== named && s !== cellStates.still) probability[at + s]! /= odds;
    sum += probability[at + s]!;
  }
  for (let s = 0; s < 4; s += 1) probability[at + s]! /= sum;
}
