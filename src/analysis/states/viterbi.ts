// Step "decode": probabilities of the states in every cell -> the likeliest course of states (Viterbi).

import type { Motion } from '../clean/observations.ts';
import { cellStates, isMoving, readingState } from '../motion-states.ts';
import { type Model, writeProbabilities } from './boosted-trees.ts';
import { type CellInput, cellSeconds, cellWidth, featureLimits, featureNames, forEachBlock } from './features.ts';

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

/** The decoded cells of an group, ascending; where cells are missing in between the user rests. */
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

/** Feature that is kept for what follows. */
const walkingFeature = featureNames.indexOf('awalk30');

/** The cells with what the model says of each; their states are not known yet. */
function classifyCells(input: CellInput, model: Model): Cells {
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
      if (known >= 0 && isSameGap(asked, rows, row)) {
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
const sameGap = 60;

/** True when the cell at `row` differs from one asked for only by a little more or less silence before and after it. */
function isSameGap(asked: Float64Array, rows: Float64Array, row: number): boolean {
  for (let f = 2; f < cellWidth; f += 1) if (rows[row + f] !== asked[f]) return false;
  return Math.abs(rows[row]! - asked[0]!) < sameGap && Math.abs(rows[row + 1]! - asked[1]!) < sameGap;
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

// Step "said": what an Android phone says for sure about how its user moves outweighs what the model makes of it.
/** What a sure reading counts. Both are counted on the training days, see docs/quality.md. */
const sureReading = {
  /** Confidence from which a reading is sure. */
  sure: 75,
  /** Odds of the way to move that it names against each other one: about the median of six pairs. */
  odds: 300,
};

/**
 * Weighs the probabilities of cells by the sure readings in them, in place; readings that contradict each other say
 * nothing. Rest keeps its odds against what is named: who walks about indoors is not under way. For Android phones
 * only: iPhones call a bicycle walking, and as the model knows both, it trusts neither.
 */
function applyReadings(
  { ts, probability }: { ts: Float64Array; probability: Float64Array },
  motions: readonly Motion[],
): void {
  let next = 0;
  for (let i = 0; i < ts.length; i += 1) {
    // A reading counts for the cell whose middle follows it: earlier, a ride at full speed may not have ended yet.
    while (next < motions.length && motions[next]!.ts <= ts[i]! - cellSeconds) next += 1;
    let said: number | null = null;
    let agree = true;
    for (; next < motions.length && motions[next]!.ts <= ts[i]!; next += 1) {
      const { type, confidence } = motions[next]!;
      const state = readingState(type);
      if (confidence < sureReading.sure || !isMoving(state)) continue;
      agree &&= said === null || said === state;
      said = state;
    }
    if (said !== null && agree) weigh(probability, 4 * i, said, sureReading.odds);
  }
}

/** Divides the probabilities of the other ways to move by the odds; the four of the cell at `at` sum to 1 again. */
function weigh(probability: Float64Array, at: number, said: number, odds: number): void {
  let sum = 0;
  for (let s = 0; s < 4; s += 1) {
    if (s !== said && s !== cellStates.still) probability[at + s]! /= odds;
    sum += probability[at + s]!;
  }
  for (let s = 0; s < 4; s += 1) probability[at + s]! /= sum;
}
