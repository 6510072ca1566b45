// Converts states and transitions of iPhones.
import { states, transitions } from '../../model/payloads.ts';
import { transitionConverter } from './transition.ts';

/** To payload `Transition`. `T_GEOFENCE_CREATION_ERROR` and the state `UNKNOWN` have no code and are rejected. */
export const convertIosTransition = transitionConverter({
  states: {
    STATE_START: states.START,
    STATE_WAITING_FOR_TRIP_START: states.WAITING_FOR_TRIP_START,
    STATE_ONGOING_TRIP: states.ONGOING_TRIP,
    STATE_TRACKING_STOPPED: states.TRACKING_STOPPED,
  },
  transitions: {
    T_INITIALIZE: transitions.INITIALIZE,
    T_EXITED_GEOFENCE: transitions.EXITED_GEOFENCE,
    T_TRIP_ENDED: transitions.STOPPED_MOVING,
    T_FORCE_STOP_TRACKING: transitions.STOP_TRACKING,
    booted: transitions.BOOTED,
    T_INIT_COMPLETE: transitions.INIT_COMPLETE,
    T_TRIP_STARTED: transitions.TRIP_STARTED,
    T_RECEIVED_SILENT_PUSH: transitions.RECEIVED_SILENT_PUSH,
    T_TRIP_END_DETECTED: transitions.TRIP_END_DETECTED,
    T_TRIP_RESTARTED: transitions.TRIP_RESTARTED,
    T_END_TRIP_TRACKING: transitions.END_TRIP_TRACKING,
    T_TRACKING_STOPPED: transitions.TRACKING_STOPPED,
    T_NOP: transitions.NOP,
    T_VISIT_STARTED: transitions.VISIT_STARTED,
    T_VISIT_ENDED: transitions.VISIT_ENDED,
    T_DATA_PUSHED: transitions.DATA_PUSHED,
    T_START_TRACKING: transitions.START_TRACKING,
    T_BLE_BEACON_FOUND: transitions.BLE_BEACON_FOUND,
    T_BLE_BEACON_LOST: transitions.BLE_BEACON_LOST,
  },
});
