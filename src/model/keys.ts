// The table of keys: which payload belongs to a key, and whether phones push it, the server writes it, or it is made
// when asked.

/** What a change of such an entry touches: the trips, only the documents that show it, or nothing derived. */
export type Affects = 'trips' | 'documents' | 'nothing';

/** What the service knows of a key. */
export interface KeyRow {
  key: string;
  /** Name of the payload type in `payloads.ts`. */
  payload: string;
  /**
   * `pushed` by phones, a `document` that the server writes and phones pull, or `derived`: made from the trips when
   * asked.
   */
  kind: 'pushed' | 'document' | 'derived';
  affects: Affects;
}

/** The keys that the program itself names. */
export const keys = {
  location: 'background/location',
  filteredLocation: 'background/filtered_location',
  motionActivity: 'background/motion_activity',
  transition: 'statemachine/transition',
  battery: 'background/battery',
  incident: 'manual/incident',
  sensorConfig: 'config/sensor_config',
  syncConfig: 'config/sync_config',
  consent: 'config/consent',
  commonTrips: 'common-trips',
} as const;

const pushed = (key: string, payload: string, affects: Affects = 'nothing'): KeyRow => ({
  key,
  payload,
  kind: 'pushed',
  affects,
});

const derived = (key: string, payload: string): KeyRow => ({ key, payload, kind: 'derived', affects: 'nothing' });

/** Every key, sorted. `diary/trips-<YYYY-MM-DD>` stands for one key a day. */
export const keyTable: readonly KeyRow[] = [
  derived('analysis/cleaned_place', 'DerivedPlace'),
  derived('analysis/cleaned_section', 'DerivedSection'),
  derived('analysis/cleaned_stop', 'DerivedStop'),
  derived('analysis/cleaned_trip', 'DerivedTrip'),
  derived('analysis/cleaned_untracked', 'DerivedTrip'),
  derived('analysis/composite_trip', 'CompositeTrip'),
  derived('analysis/confirmed_place', 'DerivedPlace'),
  derived('analysis/confirmed_trip', 'DerivedTrip'),
  derived('analysis/confirmed_untracked', 'DerivedTrip'),
  derived('analysis/inferred_section', 'DerivedSection'),
  derived('analysis/recreated_location', 'DerivedLocation'),
  pushed('background/activity', 'MotionActivity', 'trips'),
  pushed('background/battery', 'Battery'),
  pushed('background/bluetooth_ble', 'BluetoothBeacon'),
  pushed('background/filtered_location', 'Location', 'trips'),
  pushed('background/location', 'Location', 'trips'),
  pushed('background/motion_activity', 'MotionActivity', 'trips'),
  { key: 'common-trips', payload: 'CommonTrips', kind: 'document', affects: 'nothing' },
  pushed('config/app_ui_config', 'Config'),
  pushed('config/consent', 'Config'),
  pushed('config/sensor_config', 'Config'),
  pushed('config/sync_config', 'Config'),
  { key: 'diary/trips-<YYYY-MM-DD>', payload: 'TripDocument', kind: 'document', affects: 'nothing' },
  pushed('manual/demographic_survey', 'Survey'),
  pushed('manual/destination_confirm', 'UserInput'),
  pushed('manual/incident', 'Incident', 'documents'),
  pushed('manual/mode_confirm', 'UserInput'),
  pushed('manual/place_addition_input', 'UserInput'),
  pushed('manual/place_user_input', 'UserInput'),
  pushed('manual/purpose_confirm', 'UserInput'),
  pushed('manual/replaced_mode', 'UserInput'),
  pushed('manual/survey', 'Survey'),
  pushed('manual/trip_addition_input', 'UserInput'),
  pushed('manual/trip_user_input', 'UserInput'),
  derived('segmentation/raw_trip', 'DerivedTrip'),
  pushed('statemachine/transition', 'Transition', 'trips'),
  pushed('stats/client_error', 'StatsEvent'),
  pushed('stats/client_nav_event', 'StatsEvent'),
  pushed('stats/client_time', 'StatsEvent'),
];

const rows = new Map(keyTable.map((row) => [row.key, row]));

/**
 * What the table says about a key; null for one that it does not know, whose entries are kept and served as they came.
 */
export function keyRow(key: string): KeyRow | null {
  return rows.get(key.startsWith('diary/trips-') ? 'diary/trips-<YYYY-MM-DD>' : key) ?? null;
}

/** What a change of an entry with this key touches. Unknown keys touch nothing. */
export function affectsOf(key: string): Affects {
  return rows.get(key)?.affects ?? 'nothing';
}

/** The document key of one local day. */
export function dayKey(day: string): string {
  return `diary/trips-${day}`;
}

/** The configuration keys whose documents stay valid whatever the days are. */
export const configKeys: readonly string[] = [keys.sensorConfig, keys.syncConfig, keys.consent];
