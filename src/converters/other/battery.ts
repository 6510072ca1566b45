// Battery readings of other apps: percent, and the codes of `batteryStatuses`.
import type { Entry } from '../../model/entry.ts';
import { batteryStatuses } from '../../model/payloads.ts';
import { type Conversion, codeOf, numberOf, timeOf, withTime } from '../common.ts';

const statuses = new Map<number, number>(Object.values(batteryStatuses).map((code) => [code, code]));

/** Payload `Battery`. */
export function convertOtherBattery(entry: Entry): Conversion {
  const { data } = entry;
  const level = numberOf(data.battery_level_pct, 'data.battery_level_pct', { min: -100, max: 100 });
  const status = codeOf(statuses, data.battery_status, 'data.battery_status');
  const added = { battery_level_pct: level, battery_status: status };
  return withTime(entry, timeOf(data.ts, 'data.ts'), added);
}
