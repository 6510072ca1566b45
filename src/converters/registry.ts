// The table of converters: one row per key, one column per platform.
import { keys } from '../model/keys.ts';
import { convertAndroidBattery } from './android/battery.ts';
import { convertAndroidMotionActivity } from './android/motion-activity.ts';
import { convertAndroidTransition } from './android/transition.ts';
import type { Converter, LocalTimes } from './common.ts';
import { convertBluetooth } from './generic/bluetooth.ts';
import { convertConfig } from './generic/config.ts';
import { convertLocation } from './generic/location.ts';
import { convertIncident, convertOpenUserInput, convertSurvey, convertUserInput } from './generic/manual.ts';
import { convertStats } from './generic/stats.ts';
import { convertIosBattery } from './ios/battery.ts';
import { convertIosMotionActivity } from './ios/motion-activity.ts';
import { convertIosTransition } from './ios/transition.ts';
import { convertOtherBattery } from './other/battery.ts';
import { convertOtherMotionActivity } from './other/motion-activity.ts';

/**
 * The platforms, as `metadata.platform` names them in any case of letters. `other`: apps beside e-mission, trackers,
 * imports.
 */
export const platforms = ['android', 'ios', 'other'] as const;

/** A key and its converters; `generic` fills the platforms that have none of their own. */
export interface ConverterRow {
  key: string;
  android?: Converter;
  ios?: Converter;
  other?: Converter;
  generic?: Converter;
  /** The times of the payload that also get local fields; default: `data.ts`. */
  localTimes?: LocalTimes;
  /** The fields of the payload by which its converters judge an entry, beside `dataTimes`. */
  reads: readonly string[];
}

/** The fields that `dataTime` reads, and with them every converter. */
const dataTimes = ['ts', 'start_ts', 'end_ts'] as const;

/** What converters read of metadata: the key and platform by which they are found, the time of writing and its zone. */
const metadataRead = [
  'key',
  'platform',
  'write_ts',
  'time_zone',
  'filter',
  'write_fmt_time',
  'write_local_dt',
] as const;

const motionRead = [
  ...['type', 'confidence', 'confidence_level'],
  ...['stationary', 'walking', 'running', 'cycling', 'automotive', 'unknown'],
  ...['agb', 'agc', 'zzaEg', 'zzaEh', 'zzbjA', 'zzbjB', 'ajO', 'ajP', 'zzaKM', 'zzaKN', 'zzbhB', 'zzbhC'],
];
const batteryRead = ['battery_level_pct', 'battery_level_ratio', 'battery_status', 'local_dt'];
const beaconRead = ['eventType', 'uuid', 'proximity', 'major', 'minor', 'accuracy', 'rssi'];
const locationRead = [
  ...['longitude', 'latitude', 'accuracy', 'altitude', 'sensed_speed', 'bearing', 'heading', 'vaccuracy', 'floor'],
  ...['elapsedRealtimeNanos', 'filter'],
];

/**
 * Every key that phones push, sorted. Keys are compared whole. `common-trips` and `diary/trips-<day>` are documents
 * that the server writes for phones to pull: no phone pushes them, so they have no converter.
 */
export const converterTable: readonly ConverterRow[] = [
  { key: keys.activity, android: convertAndroidMotionActivity, reads: motionRead },
  {
    key: keys.battery,
    android: convertAndroidBattery,
    ios: convertIosBattery,
    other: convertOtherBattery,
    reads: batteryRead,
  },
  { key: 'background/bluetooth_ble', generic: convertBluetooth, reads: beaconRead },
  { key: keys.filteredLocation, generic: convertLocation, reads: locationRead },
  { key: keys.location, generic: convertLocation, reads: locationRead },
  {
    key: keys.motionActivity,
    android: convertAndroidMotionActivity,
    ios: convertIosMotionActivity,
    other: convertOtherMotionActivity,
    reads: motionRead,
  },
  { key: 'config/app_ui_config', generic: convertConfig, reads: [], localTimes: 'none' },
  { key: keys.consent, generic: convertConfig, reads: [], localTimes: 'none' },
  { key: keys.sensorConfig, generic: convertConfig, reads: [], localTimes: 'none' },
  { key: keys.syncConfig, generic: convertConfig, reads: [], localTimes: 'none' },
  { key: 'manual/demographic_survey', generic: convertSurvey, reads: ['label'] },
  { key: 'manual/destination_confirm', generic: convertUserInput, reads: ['label'], localTimes: 'range' },
  { key: keys.incident, generic: convertIncident, reads: ['loc', 'stress'] },
  { key: keys.modeConfirm, generic: convertUserInput, reads: ['label'], localTimes: 'range' },
  { key: 'manual/place_addition_input', generic: convertOpenUserInput, reads: ['label'], localTimes: 'range' },
  { key: 'manual/place_user_input', generic: convertOpenUserInput, reads: ['label'], localTimes: 'range' },
  { key: keys.purposeConfirm, generic: convertUserInput, reads: ['label'], localTimes: 'range' },
  { key: keys.replacedMode, generic: convertUserInput, reads: ['label'], localTimes: 'range' },
  { key: 'manual/survey', generic: convertSurvey, reads: ['label'] },
  { key: 'manual/trip_addition_input', generic: convertOpenUserInput, reads: ['label'], localTimes: 'range' },
  { key: 'manual/trip_user_input', generic: convertOpenUserInput, reads: ['label'], localTimes: 'range' },
  {
    key: keys.transition,
    android: convertAndroidTransition,
    ios: convertIosTransition,
    reads: ['currState', 'curr_state', 'transition'],
  },
  { key: 'stats/client_error', generic: convertStats, reads: ['name'], localTimes: 'none' },
  { key: 'stats/client_nav_event', generic: convertStats, reads: ['name'], localTimes: 'none' },
  { key: 'stats/client_time', generic: convertStats, reads: ['name'], localTimes: 'none' },
];

const rows = new Map(converterTable.map((row) => [row.key, row]));

/** Of each key, the fields of an entry by which its converters judge it. */
const fieldsOf = new Map(
  converterTable.map(({ key, reads }) => [key, { metadata: metadataRead, data: [...dataTimes, ...reads] }]),
);
const fieldsOfOthers = { metadata: metadataRead, data: dataTimes };

/** The fields that `timeMeant` reads of an entry under a key; of keys that nobody knows those that tell its time. */
export function fieldsJudged(key: string): { metadata: readonly string[]; data: readonly string[] } {
  return fieldsOf.get(key) ?? fieldsOfOthers;
}

/** Which times of a payload are told in local time too. */
export function localTimesOf(key: string): LocalTimes {
  return rows.get(key)?.localTimes ?? 'one';
}

/** The columns of the table: of each platform, converters by key. */
const columns = new Map<string, ReadonlyMap<string, Converter | undefined>>(
  platforms.map((platform) => [
    platform,
    new Map(converterTable.map((row) => [row.key, row[platform] ?? row.generic])),
  ]),
);

/** The cell that was asked for last: entries come key by key. */
let last: { platform: string; key: string; converter: Converter | null } = { platform: '', key: '', converter: null };

/** The converter of one cell of the table; null for an unknown platform, an unknown key, and an empty cell. */
export function converterFor(platform: string, key: string): Converter | null {
  if (last.key === key && last.platform === platform) return last.converter;
  const column = columns.get(platform) ?? columns.get(platform.toLowerCase());
  const converter = column?.get(key) ?? null;
  last = { platform, key, converter };
  return converter;
}
