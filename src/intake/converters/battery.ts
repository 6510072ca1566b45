// Converts battery readings: Android, iPhones and other apps use different codes and units.
import type { Entry } from '../../model/entry.ts';
import { batteryStatuses } from '../../model/payloads.ts';
import { codeOf, numberOf, timeOf } from './checks.ts';
import { type Conversion, isConverted, withTime } from './conversion.ts';

const androidStatuses = new Map<number, number>([
  [1, batteryStatuses.UNKNOWN],
  [2, batteryStatuses.CHARGING],
  [3, batteryStatuses.DISCHARGING],
  [4, batteryStatuses.NOT_CHARGING],
  [5, batteryStatuses.FULL],
]);

const iosStatuses = new Map<number, number>([
  [0, batteryStatuses.UNKNOWN],
  [1, batteryStatuses.DISCHARGING],
  [2, batteryStatuses.CHARGING],
  [3, batteryStatuses.FULL],
]);

const convertedStatuses = new Map<number, number>(Object.values(batteryStatuses).map((code) => [code, code]));

/** The time is `write_ts`. A negative level means that the phone did not know it. */
export function convertAndroidBattery(entry: Entry): Conversion {
  const level = numberOf(entry.data.battery_level_pct, 'data.battery_level_pct', { max: 100 });
  const status = statusOf(entry, isConverted(entry) ? convertedStatuses : androidStatuses);
  const ts = timeOf(entry.metadata.write_ts, 'metadata.write_ts');
  return withTime(entry, ts, { battery_level_pct: level, battery_status: status });
}

/**
 * The time is `write_ts`. A ratio of -1 (-100 %) means that the phone did not know the level. An
 * entry that was converted before and is pushed again has percent already.
 */
export function convertIosBattery(entry: Entry): Conversion {
  const { battery_level_ratio: ratio, battery_level_pct: percent } = entry.data;
  const isPercent = ratio === undefined && percent !== undefined;
  const level = isPercent ? percentOf(entry) : numberOf(ratio, 'data.battery_level_ratio', { min: -1, max: 1 }) * 100;
  const status = statusOf(entry, iosStatuses);
  const ts = timeOf(entry.metadata.write_ts, 'metadata.write_ts');
  return withTime(entry, ts, { battery_level_pct: level, battery_status: status }, ['battery_level_ratio']);
}

/** Other apps and imports send percent and the codes of `batteryStatuses`. */
export function convertOtherBattery(entry: Entry): Conversion {
  const level = percentOf(entry);
  const status = statusOf(entry, convertedStatuses);
  return withTime(entry, timeOf(entry.data.ts, 'data.ts'), { battery_level_pct: level, battery_status: status });
}

function percentOf({ data }: Entry): number {
  return numberOf(data.battery_level_pct, 'data.battery_level_pct', { min: -100, max: 100 });
}

function statusOf({ data }: Entry, codes: ReadonlyMap<number, number>): number {
  return codeOf(codes, data.battery_status, 'data.battery_status');
}
