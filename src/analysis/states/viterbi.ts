// Step "decode": probabilities of the states in every cell -> the likeliest course of states (Viterbi).

import { weighSaid } from './android-readings.ts';
import { type Model, writeProbabilities } from './boosted-trees.ts';
import { type CellInput, cellSeconds, cellWidth, featureLimits, featureNames, forEachBlock } from './features.ts';
import { cellStates } from './states.ts';

/** Weights of the decoder, all set by hand (flat around these values, see docs/quality.md). */
export const decodeWeights = {
  /** What one cell's evidence counts: neighbours see the same, so less than 1. */
  evidence: 0.5,
  /** The least probability that counts. */
  floor: 1e-4,
  /**
   * ln-probability of each change of state, by states before and after. Who changes between a bicycle and a vehicle
   * gets off: by rest or on foot is likelier.
   */
  change: [
    [0, -3.5, -5, -5],
    [-3.5, 0, -4.5, -4.5],
    [-5, -4.5, 0, -12],
    [-5, -4.5, -12, 0],
  ],
};

/** The decoded cells of an outing, ascending; where cells are missing in between the user rests. */
export interface Cells {
  ts: Float64Array;
  state: Uint8Array;
  /** Four probabilities for each cell, in the order of the states. */
  probability: Float64Array;
  /** Share of walking among the motion readings within 30 s; -1: none. */
  walking: Float64Array;
}

/** Cells with their states. */
export function decodeCells(input: CellInput, model: Model): Cells {
  const cells = judgedCells(input, model);
  const { ts, probability, state } = cells;
  if (input.sampling === 'time') weighSaid(cells, input.motions);
  for (let from = 0, i = 1; i <= ts.length; i += 1) {
    if (i < ts.length && ts[i]! - ts[i - 1]! === cellSeconds) continue;
    viterbi(probability, from, i, state);
    from = i;
  }
  return cells;
}

/** Feature that is kept for what follows. */
const walkingFeature = featureNames.indexOf('awalk30');

/** The cells with what the model says of each; their states are not known yet. */
function judgedCells(input: CellInput, model: Model): Cells {
  const most = Math.ceil((input.to - input.from) / cellSeconds) + 2;
  const perFix = 2 * Math.ceil(featureLimits.reach / cellSeconds) + 1;
  const room = Math.max(0, Math.min(most, input.track.ts.length * perFix));
  const ts = new Float64Array(room);
  const probability = new Float64Array(4 * room);
  const walking = new Float64Array(room);
  let n = 0;
  let known = -1; // the last cell that was asked for
  const asked = new Float64Array(cellWidth); // its features
  forEachBlock(input, ({ ts: start, count, rows }) => {
    for (let i = 0, row = 0; i < count; i += 1, row += cellWidth, n += 1) {
      ts[n] = start + i * cellSeconds;
      walking[n] = rows[row + walkingFeature]!;
      if (known >= 0 && isSilenceOf(asked, rows, row)) {
        probability.copyWithin(4 * n, 4 * known, 4 * known + 4);
      } else {
        writeProbabilities(model, rows, row, probability, 4 * n);
        known = n;
        for (let f = 0; f < cellWidth; f += 1) asked[f] = rows[row + f]!;
      }
    }
  });
  return {
    ts: ts.subarray(0, n),
    state: new Uint8Array(n),
    probability: probability.subarray(0, 4 * n),
    walking: walking.subarray(0, n),
  };
}

/** s; in a silence in which nothing changes the model is asked this seldom */
const sameSilence = 60;

/** True when the cell at `row` differs from one asked for only by a little more or less silence before and after it. */
function isSilenceOf(asked: Float64Array, rows: Float64Array, row: number): boolean {
  for (let f = 2; f < cellWidth; f += 1) if (rows[row + f] !== asked[f]) return false;
  return Math.abs(rows[row]! - asked[0]!) < sameSilence && Math.abs(rows[row + 1]! - asked[1]!) < sameSilence;
}

/**
 * The likeliest states of the cells `from` to before `to`, which follow each other without a hole; before them the user
 * rests. Of equally likely courses the one that stays.
 */
export function viterbi(probability: Float64Array, from: number, to: number, state: Uint8Array): void {
  const { evidence, floor, change } = decodeWeights;
  const before = new Uint8Array(4 * (to - from));
  const changes = Float64Array.from(change.flat()); // by state before, then by state after
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
