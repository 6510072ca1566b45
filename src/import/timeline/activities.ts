// What Google calls ways of moving, in its exports of every year.
import { type MotionType, motionTypes } from '../../model/payloads.ts';

const named: Readonly<Record<string, MotionType>> = {
  CYCLING: motionTypes.BICYCLING,
  EXITING_VEHICLE: motionTypes.UNKNOWN,
  FLYING: motionTypes.AIR_OR_HSR,
  MOTORCYCLING: motionTypes.IN_VEHICLE,
  ON_BICYCLE: motionTypes.BICYCLING,
  ON_FOOT: motionTypes.ON_FOOT,
  RUNNING: motionTypes.RUNNING,
  STILL: motionTypes.STILL,
  TILTING: motionTypes.TILTING,
  UNKNOWN: motionTypes.UNKNOWN,
  WALKING: motionTypes.WALKING,
};

/**
 * The code of motion; null for a word that is not known. Buses, trains and ferries are vehicles here, as with phones.
 */
export function motionOf(word: unknown): MotionType | null {
  if (typeof word !== 'string') return null;
  const name = word.trim().toUpperCase().replaceAll(' ', '_');
  if (Object.hasOwn(named, name)) return named[name]!;
  return name.startsWith('IN_') ? motionTypes.IN_VEHICLE : null;
}
