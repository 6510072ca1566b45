// Payloads of other apps and of imported recordings: they have the codes of `payloads.ts` already.
import type { Entry } from '../../model/entry.ts';
import { batteryStatuses, motionTypes } from '../../model/payloads.ts';
import { type Conversion, codeOf, numberOf, timeOf, withTime } from './common.ts';
import { transitionConverter } from './transition.ts';

const statuses = new Map<number, number>(Object.values(batteryStatuses).map((code) => [code, code]));
const motions = new Map<number, number>(Object.values(motionTypes).map((code) => [code, code]));

/** Payload `Battery`, percent. */
export function convertOtherBattery(entry: Entry): Conversion {
  const { data } = entry;
  const level = numberOf(data.battery_level_pct, 'data.battery_level_pct', { min: -100, max: 100 });
  const status = codeOf(statuses, data.battery_status, 'data.battery_status');
  return withTime(entry, timeOf(data.ts, 'data.ts'), { battery_level_pct: level, battery_status: status });
}

/** Percent for readings of apps that tell no confidence: as an iPhone's `medium`. */
const usualConfidence = 75;

/** Payload `MotionActivity`. */
export function convertOtherMotionActivity(entry: Entry): Conversion {
  const { data } = entry;
  const type = codeOf(motions, data.type, 'data.type');
  const confidence = numberOf(data.confidence ?? usualConfidence, 'data.confidence', { min: 0, max: 100 });
  return withTime(entry, timeOf(data.ts, 'data.ts'), { type, confidence });
}

/** Payload `Transition`. */
export const convertOtherTransition = transitionConverter({ states: {}, transitions: {} });
