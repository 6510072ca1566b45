// Converts battery readings of Android phones.
import type { Entry } from '../../model/entry.ts';
import { batteryStatuses } from '../../model/payloads.ts';
import { type Conversion, codeOf, isConverted, numberOf, timeOf, withTime } from './common.ts';

const statuses = new Map<number, number>([
  [1, batteryStatuses.UNKNOWN],
  [2, batteryStatuses.CHARGING],
  [3, batteryStatuses.DISCHARGING],
  [4, batteryStatuses.NOT_CHARGING],
  [5, batteryStatuses.FULL],
]);

/** The codes of an entry that was converted before and pushed again. */
const keptStatuses = new Map<number, number>(Object.values(batteryStatuses).map((code) => [code, code]));

/**
 * To payload `Battery`; other fields stay as pushed. The time is `write_ts`. A negative level means that the phone did
 * not know it.
 */
export function convertAndroidBattery(entry: Entry): Conversion {
  const level = numberOf(entry.data.battery_level_pct, 'data.battery_level_pct', { max: 100 });
  const status = codeOf(isConverted(entry) ? keptStatuses : statuses, entry.data.battery_status, 'data.battery_status');
  const ts = timeOf(entry.metadata.write_ts, 'metadata.write_ts');
  return withTime(entry, ts, { battery_level_pct: level, battery_status: status });
}
