// Step "modes": the mode of a leg as clients read it, its probability, and the probabilities of the other modes.
import type { Mode } from '../segmenter.ts';
import { modes } from './leg-evidence.ts';
/** The likeliest mode of a leg; of equally likely ones the first. */
export function toMode(chances: readonly number[]): Mode {
  const best = chances.indexOf(Math.max(...chances));
  const mode_probabilities: Record<string, number> = {};
  for (const [m, chance] of chances.entries()) {
    const rounded = Math.round(chance * 1000) / 1000;
    if (rounded > 0 || m === best) mode_probabilities[modes[m]!] = rounded;
  }
  const name = modes[best]!;
  return { sensed_mode: `PredictedModeTypes.${name}`, mode_confidence: mode_probabilities[name]!, mode_probabilities };
}

/** By air or in a train too fast for any other line: nothing else moves so. */
export const byAir: Mode = {
  sensed_mode: 'PredictedModeTypes.AIR_OR_HSR',
  mode_confidence: 1,
  mode_probabilities: { AIR_OR_HSR: 1 },
};

/** A section faster than any mode, or too fast for what is known of its ends. */
export const unknownMode: Mode = {
  sensed_mode: 'MotionTypes.UNKNOWN',
  mode_confidence: 0,
  mode_probabilities: {},
};
