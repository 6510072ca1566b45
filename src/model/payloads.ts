// The payloads of pushed entries after conversion, with the unit of each field, and the codes in them.
import type { LocalDateTime } from './time.ts';

/** The time of a payload. Local times are absent without a zone: the reader chooses the zone. */
export interface TimeFields {
  /** Seconds since the epoch. */
  ts: number;
  local_dt?: LocalDateTime;
  /** ISO 8601 with numeric offset. */
  fmt_time?: string;
}

/** `background/location`: all locations of the phone; `background/filtered_location`: the usable ones. */
export interface LocationPayload extends TimeFields {
  /** Degrees WGS84, -90 to 90. */
  latitude: number;
  /** Degrees WGS84, -180 to 180. */
  longitude: number;
  /** The same position as GeoJSON: `[longitude, latitude]`. */
  loc: { type: 'Point'; coordinates: [longitude: number, latitude: number] };
  /** m above sea level. Android: 0 if unknown. */
  altitude?: number | null;
  /** m; the true position is within this radius with 68 % probability; never negative. */
  accuracy?: number | null;
  /** m/s. Unknown: 0 on Android, -1 on iOS. */
  sensed_speed?: number | null;
  /** Degrees clockwise from north (`bearing` of the phone). Unknown: 0 on Android, -1 on iOS. */
  heading?: number | null;
  /** m, vertical accuracy. iOS only; -1 if unknown. */
  vaccuracy?: number | null;
  /** Floor in a building. iOS only; 0 if unknown. */
  floor?: number | null;
  /** ns since the phone started. Android only. */
  elapsedRealtimeNanos?: number | null;
  /** How the phone samples: in intervals of time (`time`) or of distance (`distance`). */
  filter?: string | null;
}

/** `background/motion_activity`: a motion reading. Entries of iOS also keep its six flags. */
export interface MotionActivityPayload extends TimeFields {
  /** A code of `motionTypes`. */
  type: number;
  /** Percent, 0 to 100. iOS: 50, 75 or 100; null for another confidence level; absent if it sent none. */
  confidence?: number | null;
  /** iOS: `low`, `medium` or `high`. */
  confidence_level?: string;
}

/** Names and codes of motion. 6 is not used. */
export const motionTypes = {
  IN_VEHICLE: 0,
  BICYCLING: 1,
  ON_FOOT: 2,
  STILL: 3,
  UNKNOWN: 4,
  TILTING: 5,
  WALKING: 7,
  RUNNING: 8,
  NONE: 9,
  STOPPED_WHILE_IN_VEHICLE: 10,
  AIR_OR_HSR: 11,
} as const;

export type MotionType = (typeof motionTypes)[keyof typeof motionTypes];

export const iosMotions = {
  stationary: motionTypes.STILL,
  walking: motionTypes.WALKING,
  running: motionTypes.RUNNING,
  cycling: motionTypes.BICYCLING,
  automotive: motionTypes.IN_VEHICLE,
  unknown: motionTypes.UNKNOWN,
} as const;

/** `background/battery`. Entries of Android also keep other fields, such as `android_temperature` (0.1 degrees C). */
export interface BatteryPayload extends TimeFields {
  /** Percent, 0 to 100; negative if the phone did not know it. */
  battery_level_pct: number;
  /** A code of `batteryStatuses`. */
  battery_status: number;
}

export const batteryStatuses = { UNKNOWN: 0, DISCHARGING: 1, CHARGING: 2, FULL: 3, NOT_CHARGING: 4 } as const;

export type BatteryStatus = (typeof batteryStatuses)[keyof typeof batteryStatuses];

/** `statemachine/transition`: a step of the state machine that switches tracking on and off. */
export interface TransitionPayload extends TimeFields {
  /** State before the transition, a code of `states`. */
  curr_state: number;
  /** A code of `transitions`; null: the phone sent none. */
  transition: number | null;
}

/** States of the phone's state machine. */
export const states = { START: 0, WAITING_FOR_TRIP_START: 1, ONGOING_TRIP: 2, TRACKING_STOPPED: 3 } as const;

/** Transitions of the phone's state machine. 20 is this service's own, because e-mission uses 18 for two. */
export const transitions = {
  INITIALIZE: 0,
  EXITED_GEOFENCE: 1,
  STOPPED_MOVING: 2,
  STOP_TRACKING: 3,
  BOOTED: 4,
  INIT_COMPLETE: 5,
  TRIP_STARTED: 6,
  RECEIVED_SILENT_PUSH: 7,
  TRIP_END_DETECTED: 8,
  TRIP_RESTARTED: 9,
  END_TRIP_TRACKING: 10,
  TRACKING_STOPPED: 11,
  NOP: 12,
  VISIT_STARTED: 13,
  VISIT_ENDED: 14,
  NONE: 15,
  DATA_PUSHED: 16,
  START_TRACKING: 17,
  BLE_BEACON_FOUND: 18,
  BLE_BEACON_LOST: 19,
  TRACKING_ERROR: 20,
} as const;

/** `background/bluetooth_ble`: a beacon came into reach, went out of reach, or was measured. */
export interface BluetoothBeaconPayload extends TimeFields {
  /** A code of `beaconEvents`. */
  eventType: number;
  /** Identity of the beacon: a UUID and two numbers. */
  uuid?: string | null;
  major?: number | null;
  minor?: number | null;
  /** `ProximityImmediate`, `ProximityNear`, `ProximityFar` or `ProximityUnknown`. */
  proximity?: string | null;
  /** m to the beacon, -1 if unknown. */
  accuracy?: number | null;
  /** dBm */
  rssi?: number | null;
}

export const beaconEvents = { REGION_ENTER: 0, REGION_EXIT: 1, RANGE_UPDATE: 2 } as const;

/** `manual/incident`: the user marked a place during a trip. `ts`: when they were there, not when they marked it. */
export interface IncidentPayload extends TimeFields {
  /** GeoJSON, `[longitude, latitude]`, degrees. */
  loc: { type: 'Point'; coordinates: [longitude: number, latitude: number] };
  /** 0 (happy) to 100 (stressed). */
  stress?: number | null;
}

/** `stats/client_*`: statistics of the app about itself, as pushed. */
export interface StatsPayload {
  name?: string | null;
  /** Seconds if it is a duration, -1 for events without a value. Newer apps send any JSON. */
  reading?: unknown;
  /** Seconds since the epoch. */
  ts?: number | null;
  client_app_version?: unknown;
  client_os_version?: unknown;
}

/** `manual/mode_confirm` and others: user input about a trip or a place, which its times identify. */
export interface UserInputPayload {
  /** Start and end of the trip or place as the app showed it, seconds since the epoch. Surveys may have only one. */
  start_ts?: number | null;
  end_ts?: number | null;
  start_local_dt?: LocalDateTime;
  start_fmt_time?: string;
  end_local_dt?: LocalDateTime;
  end_fmt_time?: string;
  label?: string | null;
  /** For surveys: name, version, and answers. */
  name?: unknown;
  version?: unknown;
  xmlResponse?: unknown;
  jsonDocResponse?: unknown;
  match_id?: unknown;
  /** `ACTIVE` or `DELETED`. */
  status?: unknown;
}

/** `manual/demographic_survey`, `manual/survey`: answers that belong to no trip. */
export interface SurveyPayload extends TimeFields {
  label?: string | null;
  name?: unknown;
  version?: unknown;
  xmlResponse?: unknown;
  jsonDocResponse?: unknown;
}

/** `config/*`: settings and consent of the app, as pushed. Some times are in ms, as in the phone (`filter_time`). */
export interface ConfigPayload {
  [name: string]: unknown;
}
