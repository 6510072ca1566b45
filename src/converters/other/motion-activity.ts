// Motion readings of other apps: the codes of `motionTypes`.
import type { Entry } from '../../model/entry.ts';
import { motionTypes } from '../../model/payloads.ts';
import { type Conversion, codeOf, numberOf, timeOf, withTime } from '../common.ts';

const codes = new Map<number, number>(Object.values(motionTypes).map((code) => [code, code]));

/** Percent for readings of apps that tell no confidence: as an iPhone's `medium`. */
const usualConfidence = 75;

/** Payload `MotionActivity`. */
export function convertOtherMotionActivity(entry: Entry): Conversion {
  const { data } = entry;
  const type = codeOf(codes, data.type, 'data.type');
  const told = data.confidence !== undefined && data.confidence !== null;
  const confidence = told ? numberOf(data.confidence, 'data.confidence', { min: 0, max: 100 }) : usualConfidence;
  return withTime(entry, timeOf(data.ts, 'data.ts'), { type, confidence });
}
