// How the app of today knows modes: the names that it has icons for, their numbers, and the motion types they come
// from.
import { motionTypes } from '../model/payloads.ts';

/** Numbers of inferred modes, as stored by the original. */
const predictedModes = {
  UNKNOWN: 0,
  WALKING: 1,
  BICYCLING: 2,
  BUS: 3,
  TRAIN: 4,
  CAR: 5,
  AIR_OR_HSR: 6,
  SUBWAY: 7,
  TRAM: 8,
  LIGHT_RAIL: 9,
} as const;

/** Names with an icon and a colour that are no inferred modes: those that repeat the phone. */
const shownAsTheyAre: ReadonlySet<string> = new Set(['IN_VEHICLE', 'ON_FOOT', 'FERRY', 'AIR', 'TROLLEYBUS']);

/** The name under which the app draws a mode such as `PredictedModeTypes.CAR`. It knows no running. */
export function inferredMode(sensedMode: string): { name: string; code: number } {
  const word = sensedMode.slice(sensedMode.indexOf('.') + 1);
  if (word === 'RUNNING') return { name: 'WALKING', code: predictedModes.WALKING };
  if (Object.hasOwn(predictedModes, word)) return { name: word, code: predictedModes[word as 'CAR'] };
  return shownAsTheyAre.has(word) ? { name: word, code: predictedModes.UNKNOWN } : { name: 'UNKNOWN', code: 0 };
}

const motions: Readonly<Record<string, keyof typeof motionTypes>> = {
  WALKING: 'ON_FOOT',
  ON_FOOT: 'ON_FOOT',
  BICYCLING: 'BICYCLING',
  AIR_OR_HSR: 'AIR_OR_HSR',
  UNKNOWN: 'UNKNOWN',
};

/** The motion type that a phone tells of a mode: it knows vehicles as such only. */
export function motionMode(sensedMode: string): { name: string; code: number } {
  const { name } = inferredMode(sensedMode);
  const motion = motions[name] ?? 'IN_VEHICLE';
  return { name: motion, code: motionTypes[motion] };
}
