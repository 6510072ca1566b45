// Converts payloads of other apps and imported recordings, which have the codes of `payloads.ts` already.
import type { Entry } from '../../model/entry.ts';
import { batteryStatuses, motionTypes } from '../../model/payloads.ts';
import { type Conversion, codeOf, numberOf, timeOf, withTime } from './common.ts';
import { transitionConverter } from './transition.ts';

const statuses = new Map<number, number>(Object.values(batteryStatuses).map((code) => [code, code]));
const motions = new Map<number, number>(Object.values(motionTypes).map((code) => [code, code]));

/** To payload `Battery`, percent. */
export function convertOtherBattery(entry: Entry): Conversion {
  const { data } = entry;
  const level = numberOf(data.battery_level_pct, 'data.battery_level_pct', { min: -100, max: 100 });
  const status = codeOf(statuses, data.battery_status, 'data.battery_status');
  return withTime(entry, timeOf(data.ts, 'data.ts'), { battery_level_pct: level, battery_status: status });
}

/** Percent for readings without a confidence: the same as `medium` of an iPhone. */
const usualConfidence = 75;

/** To payload `MotionActivity`. */
export function convertOtherMotionActivity(entry: Entry): Conversion {
  const { data } = entry;
  const type = codeOf(motions, data.type, 'data.type');
  const confidence = numberOf(data.confidence ?? usualConfidence, 'data.confidence', { min: 0, max: 100 });
  return withTime(entry, timeOf(data.ts, 'data.ts'), { type, confidence });
}

/** To payload `Transition`. */
export const convertOtherTransition = transitionConverter({ states: {}, transitions: {} });
