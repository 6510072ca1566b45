// Step "modes": the mode of a leg as clients read it, its probability, and the probabilities of the other modes.
import type { Cells } from './decode.ts';
import type { Leg } from './legs.ts';
import { cellStates, stateNames } from './model.ts';
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
  const odds = vehicle ?? { car: 1, bus: 0, rail: 0 };
  const chances: Record<string, number> = byAir
    ? { AIR_OR_HSR: 1 }
    : sharpened(
        { WALKING: walk, BICYCLING: cycle, CAR: motor * odds.car, BUS: motor * odds.bus, TRAIN: motor * odds.rail },
        options.sharpness,
      );
  const own = byAir ? ['AIR_OR_HSR'] : namesOf(leg.state);
  const best = own.reduce((a, b) => (chances[b]! > chances[a]! ? b : a));
  const rounded = Object.entries(chances).map(([name, p]) => [name, Math.round(p * 1000) / 1000] as const);
  const mode_probabilities = Object.fromEntries(rounded.filter(([name, p]) => p > 0 || name === best));
  return { sensed_mode: `PredictedModeTypes.${best}`, mode_confidence: mode_probabilities[best]!, mode_probabilities };
}

/** The probabilities to a power; they sum to 1 again. */
function sharpened(chances: Record<string, number>, power: number): Record<string, number> {
  const raised = Object.entries(chances).map(([name, p]) => [name, p ** power] as const);
  const sum = raised.reduce((all, [, p]) => all + p, 0);
  return Object.fromEntries(raised.map(([name, p]) => [name, p / sum]));
}

/** Modes of a state. */
function namesOf(state: number): string[] {
  if (state === cellStates.walk) return ['WALKING'];
  return state === cellStates.cycle ? ['BICYCLING'] : ['CAR', 'BUS', 'TRAIN'];
}

/** Mean probabilities of walking, cycling and riding in the leg's cells, without rest; they sum to 1. */
export function movingShares({ state, start, end }: Leg, { ts, probability }: Cells): [number, number, number] {
  const sums = stateNames.map(() => 0);
  for (let i = 0; i < ts.length; i += 1) {
    if (ts[i]! < start || ts[i]! > end) continue;
    for (let s = 0; s < 4; s += 1) sums[s]! += probability[4 * i + s]!;
  }
  const moving = sums[1]! + sums[2]! + sums[3]!;
  if (moving === 0)
    return [state === cellStates.walk ? 1 : 0, state === cellStates.cycle ? 1 : 0, state === cellStates.motor ? 1 : 0];
  return [sums[1]! / moving, sums[2]! / moving, sums[3]! / moving];
}
