// Step "said": what an Android phone says for sure about how its user moves outweighs what the model makes of it.
import type { Motion } from '../clean/observations.ts';
import { cellSeconds } from './features.ts';
import { cellStates, isMoving, stateTold } from './states.ts';

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
export function weighSaid(
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
      const state = stateTold(type);
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
