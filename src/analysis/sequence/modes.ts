// Step "modes": the mode of a leg as clients read it, its probability, and the probabilities of the other modes.
import type { Cells } from './decode.ts';
import type { Leg } from './legs.ts';
import { cellStates } from './model.ts';
import type { VehicleOdds } from './vehicles.ts';

/** Thresholds of the original service, and how sure the probabilities are. */
export interface ModeOptions {
  /**
   * m/s, average: faster is no road nor common railway; and the average and 95 % quantile that together say the same
   */
  airAverage: number;
  airAverageWithPeak: number;
  airPeak: number;
  /**
   * Power of the probabilities, fitted on the training days with dates or itineraries left out: cells see the same, and
   * the mean over a leg is surer than any of them.
   */
  sharpness: number;
}

/** The values in use; nothing but an aeroplane or a fast train moves beyond these speeds, m/s. */
const modeDefaults: ModeOptions = {
  airAverage: 150 / 3.6,
  airAverageWithPeak: 100 / 3.6,
  airPeak: 150 / 3.6,
  sharpness: 1.25,
};

/** A mode with its probability, and the probability of every other possible mode; they sum to 1. */
export interface Mode {
  sensed_mode: string;
  mode_confidence: number;
  mode_probabilities: Record<string, number>;
}

/** The mode of a leg. `average` and `fastest`: its speed, m/s. */
export function modeOf(
  leg: Leg,
  cells: Cells,
  vehicle: VehicleOdds | null,
  speed: { average: number; fastest: number },
  options = modeDefaults,
): Mode {
  const [walk, cycle, motor] = movingShares(leg, cells);
  const byAir =
    speed.average > options.airAverage ||
    (speed.average > options.airAverageWithPeak && speed.fastest > options.airPeak);
  if (byAir)
    return {
      sensed_mode: 'PredictedModeTypes.AIR_OR_HSR',
      mode_confidence: 1,
      mode_probabilities: { AIR_OR_HSR: 1 },
    };
  const { car, bus, rail } = vehicle ?? onlyCar;
  const chances = sharpened([walk, cycle, motor * car, motor * bus, motor * rail], options.sharpness);
  const best = likeliest(leg.state, chances);
  const mode_probabilities: Record<string, number> = {};
  for (let m = 0; m < modeNames.length; m += 1) {
    const rounded = Math.round(chances[m]! * 1000) / 1000;
    if (rounded > 0 || m === best) mode_probabilities[modeNames[m]!] = rounded;
  }
  const name = modeNames[best]!;
  return { sensed_mode: `PredictedModeTypes.${name}`, mode_confidence: mode_probabilities[name]!, mode_probabilities };
}

/** Modes that the states tell of; a ride is in one of the last three. */
const modeNames = ['WALKING', 'BICYCLING', 'CAR', 'BUS', 'TRAIN'] as const;

const onlyCar: VehicleOdds = { car: 1, bus: 0, rail: 0 };

/** The probabilities to a power; they sum to 1 again. */
function sharpened(chances: readonly number[], power: number): number[] {
  const raised = chances.map((p) => p ** power);
  let sum = 0;
  for (const p of raised) sum += p;
  return raised.map((p) => p / sum);
}

/** Index of the likeliest mode of a state; of equally likely ones the first. */
function likeliest(state: number, chances: readonly number[]): number {
  if (state === cellStates.walk) return 0;
  if (state === cellStates.cycle) return 1;
  let best = 2;
  for (let m = 3; m < chances.length; m += 1) if (chances[m]! > chances[best]!) best = m;
  return best;
}

/** Mean probabilities of walking, cycling and riding in the leg's cells, without rest; they sum to 1. */
export function movingShares({ state, start, end }: Leg, { ts, probability }: Cells): [number, number, number] {
  let [walk, cycle, motor] = [0, 0, 0];
  for (let i = 0; i < ts.length; i += 1) {
    if (ts[i]! < start || ts[i]! > end) continue;
    walk += probability[4 * i + cellStates.walk]!;
    cycle += probability[4 * i + cellStates.cycle]!;
    motor += probability[4 * i + cellStates.motor]!;
  }
  const moving = walk + cycle + motor;
  if (moving === 0)
    return [state === cellStates.walk ? 1 : 0, state === cellStates.cycle ? 1 : 0, state === cellStates.motor ? 1 : 0];
  return [walk / moving, cycle / moving, motor / moving];
}
