import { keys } from '../../model/keys.ts';
import { convertAndroidBattery, convertIosBattery, convertOtherBattery } from './battery.ts';
import { convertBluetooth } from './bluetooth.ts';
import { type Converter, convertStats, unchanged } from './conversion.ts';
import { convertCorrection } from './correction-entry.ts';
import { convertLocation } from './location.ts';
import { convertIncident, convertOpenUserInput, convertSurvey, convertUserInput } from './manual.ts';
import { convertAndroidMotion, convertIosMotion, convertOtherMotion } from './motion-activity.ts';
import { convertAndroidTransition, convertIosTransition, convertOtherTransition } from './transition.ts';

/** `metadata.platform` may have any case. `other`: other apps, trackers, imports. */
export const platforms = ['android', 'ios', 'other'] as const;

export type LocalTimes = 'range' | 'one' | 'none';

/** Converters of a key. `generic`: for platforms without their own converter. */
export interface ConverterRow {
  key: string;
  android?: Converter;
  ios?: Converter;
  other?: Converter;
  generic?: Converter;
  localTimes?: LocalTimes; // default: `one`
}

/** Every key that phones push, sorted. The server writes documents such as `common-trips`. */
export const converterTable: readonly ConverterRow[] = [
  { key: keys.activity, android: convertAndroidMotion },
  { key: keys.battery, android: convertAndroidBattery, ios: convertIosBattery, other: convertOtherBattery },
  { key: 'background/bluetooth_ble', generic: convertBluetooth },
  { key: keys.filteredLocation, generic: convertLocation },
  { key: keys.location, generic: convertLocation },
  { key: keys.motionActivity, android: convertAndroidMotion, ios: convertIosMotion, other: convertOtherMotion },
  { key: 'config/app_ui_config', generic: unchanged, localTimes: 'none' },
  { key: keys.consent, generic: unchanged, localTimes: 'none' },
  { key: keys.sensorConfig, generic: unchanged, localTimes: 'none' },
  { key: keys.syncConfig, generic: unchanged, localTimes: 'none' },
  { key: keys.correction, generic: convertCorrection, localTimes: 'none' },
  { key: 'manual/demographic_survey', generic: convertSurvey },
  { key: 'manual/destination_confirm', generic: convertUserInput, localTimes: 'range' },
  { key: keys.incident, generic: convertIncident },
  { key: keys.modeConfirm, generic: convertUserInput, localTimes: 'range' },
  { key: 'manual/place_addition_input', generic: convertOpenUserInput, localTimes: 'range' },
  { key: 'manual/place_user_input', generic: convertOpenUserInput, localTimes: 'range' },
  { key: keys.purposeConfirm, generic: convertUserInput, localTimes: 'range' },
  { key: keys.replacedMode, generic: convertUserInput, localTimes: 'range' },
  { key: 'manual/survey', generic: convertSurvey },
  { key: 'manual/trip_addition_input', generic: convertOpenUserInput, localTimes: 'range' },
  { key: 'manual/trip_user_input', generic: convertOpenUserInput, localTimes: 'range' },
  {
    key: keys.transition,
    android: convertAndroidTransition,
    ios: convertIosTransition,
    other: convertOtherTransition,
  },
  { key: 'stats/client_error', generic: convertStats, localTimes: 'none' },
  { key: 'stats/client_nav_event', generic: convertStats, localTimes: 'none' },
  { key: 'stats/client_time', generic: convertStats, localTimes: 'none' },
];

const rows = new Map(converterTable.map((row) => [row.key, row]));

export function localTimesOf(key: string): LocalTimes {
  return rows.get(key)?.localTimes ?? 'one';
}

export function converterFor(platform: string, key: string): Converter | null {
  const row = rows.get(key);
  const known = platforms.find((name) => name === platform || name === platform.toLowerCase());
  return row === undefined || known === undefined ? null : (row[known] ?? row.generic ?? null);
}
