/** What a change of an entry affects. `documents` includes the stored `figures` of months. */
type Affects = 'trips' | 'documents' | 'figures' | 'nothing';

/** Facts about a key, such as who writes its entries. */
export interface KeyRow {
  key: string;
  /** `document`: written by the server, pulled by phones. `derived`: made of trips on request. */
  kind: 'pushed' | 'document' | 'derived';
  affects: Affects;
}

/** The keys that the program itself names. */
export const keys = {
  location: 'background/location',
  filteredLocation: 'background/filtered_location',
  motionActivity: 'background/motion_activity',
  /** Motion readings of the app of 2015. */
  activity: 'background/activity',
  transition: 'statemachine/transition',
  battery: 'background/battery',
  incident: 'manual/incident',
  correction: 'manual/correction',
  modeConfirm: 'manual/mode_confirm',
  purposeConfirm: 'manual/purpose_confirm',
  replacedMode: 'manual/replaced_mode',
  sensorConfig: 'config/sensor_config',
  syncConfig: 'config/sync_config',
  consent: 'config/consent',
} as const;

const pushed = (key: string, affects: Affects = 'nothing'): KeyRow => ({ key, kind: 'pushed', affects });

const derived = (key: string): KeyRow => ({ key, kind: 'derived', affects: 'nothing' });

/** All keys, sorted. `diary/trips-<YYYY-MM-DD>` means one key per day. */
export const keyTable: readonly KeyRow[] = [
  derived('analysis/cleaned_place'),
  derived('analysis/cleaned_section'),
  derived('analysis/cleaned_stop'),
  derived('analysis/cleaned_trip'),
  derived('analysis/cleaned_untracked'),
  derived('analysis/composite_trip'),
  derived('analysis/confirmed_place'),
  derived('analysis/confirmed_trip'),
  derived('analysis/confirmed_untracked'),
  derived('analysis/inferred_section'),
  derived('analysis/recreated_location'),
  pushed('background/activity', 'trips'),
  pushed('background/battery'),
  pushed('background/bluetooth_ble'),
  pushed('background/filtered_location', 'trips'),
  pushed('background/location', 'trips'),
  pushed('background/motion_activity', 'trips'),
  { key: 'common-trips', kind: 'document', affects: 'nothing' },
  pushed('config/app_ui_config'),
  pushed('config/consent'),
  pushed('config/sensor_config'),
  pushed('config/sync_config'),
  { key: 'diary/trips-<YYYY-MM-DD>', kind: 'document', affects: 'nothing' },
  pushed('manual/correction', 'documents'),
  pushed('manual/demographic_survey'),
  pushed('manual/destination_confirm', 'figures'),
  pushed('manual/incident', 'documents'),
  pushed('manual/mode_confirm', 'figures'),
  pushed('manual/place_addition_input', 'figures'),
  pushed('manual/place_user_input', 'figures'),
  pushed('manual/purpose_confirm', 'figures'),
  pushed('manual/replaced_mode', 'figures'),
  pushed('manual/survey'),
  pushed('manual/trip_addition_input', 'figures'),
  pushed('manual/trip_user_input', 'figures'),
  derived('segmentation/raw_trip'),
  pushed('statemachine/transition', 'trips'),
  pushed('stats/client_error'),
  pushed('stats/client_nav_event'),
  pushed('stats/client_time'),
];

const rows = new Map(keyTable.map((row) => [row.key, row]));

/** Returns the facts; null: the key is unknown, and its entries are stored and served unchanged. */
export function keyRow(key: string): KeyRow | null {
  return rows.get(key.startsWith('diary/trips-') ? 'diary/trips-<YYYY-MM-DD>' : key) ?? null;
}

export const affectsOf = (key: string): Affects => rows.get(key)?.affects ?? 'nothing';

export const figureKeys: readonly string[] = keyTable.flatMap(({ key, affects }) =>
  affects === 'documents' || affects === 'figures' ? [key] : [],
);

/** The document key of one local day. */
export const dayKey = (day: string): string => `diary/trips-${day}`;

export const configKeys: readonly string[] = [keys.sensorConfig, keys.syncConfig, keys.consent];
