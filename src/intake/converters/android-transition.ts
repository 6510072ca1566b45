// Converts states and transitions of Android phones.
import { states, transitions } from '../../model/payloads.ts';
import { transitionConverter } from './transition.ts';

/** To payload `Transition`. */
export const convertAndroidTransition = transitionConverter({
  states: {
    'local.state.start': states.START,
    'local.state.waiting_for_trip_start': states.WAITING_FOR_TRIP_START,
    'local.state.ongoing_trip': states.ONGOING_TRIP,
    'local.state.tracking_stopped': states.TRACKING_STOPPED,
    unknown: states.TRACKING_STOPPED,
  },
  transitions: {
    'local.transition.initialize': transitions.INITIALIZE,
    'local.transition.exited_geofence': transitions.EXITED_GEOFENCE,
    'local.transition.stopped_moving': transitions.STOPPED_MOVING,
    'local.transition.stop_tracking': transitions.STOP_TRACKING,
    'local.transition.start_tracking': transitions.START_TRACKING,
    'local.transition.tracking_error': transitions.TRACKING_ERROR,
    'local.transition.ble_beacon_found': transitions.BLE_BEACON_FOUND,
    'local.transition.ble_beacon_lost': transitions.BLE_BEACON_LOST,
    booted: transitions.BOOTED,
  },
});
