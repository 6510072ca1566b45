// Converts battery readings of iPhones.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import { batteryStatuses } from '../../model/payloads.ts';
import { type Conversion, codeOf, numberOf, timeOf, withTime } from './common.ts';

const statuses = new Map<number, number>([
  [0, batteryStatuses.UNKNOWN],
  [1, batteryStatuses.DISCHARGING],
  [2, batteryStatuses.CHARGING],
  [3, batteryStatuses.FULL],
]);

/**
 * To payload `Battery`, with percent instead of the ratio. The time is `write_ts`. A ratio of -1 (-100 %) means that
 * the phone did not know the level. An entry that was converted before and is pushed again has percent already.
 */
export function convertIosBattery(entry: Entry): Conversion {
  const level = levelOf(entry.data);
  const status = codeOf(statuses, entry.data.battery_status, 'data.battery_status');
  const ts = timeOf(entry.metadata.write_ts, 'metadata.write_ts');
  const added = { battery_level_pct: level, battery_status: status };
  return withTime(entry, ts, added, ['battery_level_ratio']);
}

function levelOf({ battery_level_ratio: ratio, battery_level_pct: percent }: JsonObject): number {
  if (ratio === undefined && percent !== undefined) {
    return numberOf(percent, 'data.battery_level_pct', { min: -100, max: 100 });
  }
  return numberOf(ratio, 'data.battery_level_ratio', { min: -1, max: 1 }) * 100;
}
