// The codes in converted entries.

/** The code 6 is not used. */
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

export const batteryStatuses = { UNKNOWN: 0, DISCHARGING: 1, CHARGING: 2, FULL: 3, NOT_CHARGING: 4 } as const;

export type BatteryStatus = (typeof batteryStatuses)[keyof typeof batteryStatuses];

export const states = { START: 0, WAITING_FOR_TRIP_START: 1, ONGOING_TRIP: 2, TRACKING_STOPPED: 3 } as const;

/** e-mission uses 18 for two transitions, so `TRACKING_ERROR` has 20 here. */
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

export const beaconEvents = { REGION_ENTER: 0, REGION_EXIT: 1, RANGE_UPDATE: 2 } as const;
