// Step "modes": a cleaned section's motion type and speeds -> the mode it is shown with.
import { median, quantile } from '../../geo/speed.ts';
import { motionTypes } from '../../model/payloads.ts';

export interface InferModeOptions {
  /** km/h, average: faster is no road; and the average and 90th percentile of speed that together say the same */
  airAverage: number;
  airAverageWithPeak: number;
  airPeak: number;
  /** m/s; the fastest median speed of a walk, and of a ride on a bicycle */
  walkingSpeed: number;
  cyclingSpeed: number;
}

export const inferModeDefaults: InferModeOptions = {
  airAverage: 150,
  airAverageWithPeak: 100,
  airPeak: 150,
  walkingSpeed: 1.7,
  cyclingSpeed: 8.5,
};

export interface SectionFigures {
  /** m */
  distance: number;
  /** s */
  duration: number;
  /** m/s, one per vertex, first 0 */
  speeds: readonly number[];
}

const { BICYCLING, ON_FOOT, WALKING, UNKNOWN, AIR_OR_HSR } = motionTypes;
const kmh = 3.6;

/** What the phone says, corrected where speed and length rule it out (the original's mode overrides). */
export function motionType(type: number, figures: SectionFigures, options = inferModeDefaults): number {
  const { distance, duration, speeds } = figures;
  if (!(distance > 0 && duration > 0)) return type;
  const average = (distance / duration) * kmh;
  const peak = quantile(speeds, 0.9) * kmh;
  if (average > options.airAverage || (average > options.airAverageWithPeak && peak > options.airPeak))
    return AIR_OR_HSR;
  if (type === ON_FOOT && distance > 10_000 && average > 10) return UNKNOWN;
  if (type === BICYCLING && distance > 100_000 && average > 20) return UNKNOWN;
  return type;
}

const motionNames = new Map<number, string>(Object.entries(motionTypes).map(([name, code]) => [code, name]));

/**
 * The mode as clients read it: `MotionTypes.X` where the phone's own word stands (a vehicle that is not told apart is
 * `MotionTypes.IN_VEHICLE`), `PredictedModeTypes.X` where speed decided. Rules of speed after the original's rule engine, without a map.
 */
export function sensedMode(type: number, figures: SectionFigures, options = inferModeDefaults): string {
  const corrected = motionType(type, figures, options);
  if (corrected === AIR_OR_HSR) return 'PredictedModeTypes.AIR_OR_HSR';
  const speed = median(figures.speeds.slice(1));
  if ((corrected === WALKING || corrected === ON_FOOT) && speed > options.cyclingSpeed) return 'MotionTypes.IN_VEHICLE';
  if (corrected === UNKNOWN && speed <= options.walkingSpeed) return 'PredictedModeTypes.WALKING';
  if (corrected === UNKNOWN && speed > options.cyclingSpeed) return 'MotionTypes.IN_VEHICLE';
  return `MotionTypes.${motionNames.get(corrected) ?? 'UNKNOWN'}`;
}

/** True for modes that neither feet nor a bicycle make. */
export function isMotorisedMode(sensed: string): boolean {
  return !/\.(WALKING|ON_FOOT|RUNNING|BICYCLING|UNKNOWN|STILL)$/.test(sensed);
}
