// Converts states and transitions of the phone's state machine.
import { states, transitions } from '../../model/payloads.ts';
import { nameOrCode, timeOf } from './checks.ts';
import { type Converter, withTime } from './conversion.ts';

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

/** Rejects `T_GEOFENCE_CREATION_ERROR` and the state `UNKNOWN`, which have no code. */
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

/** Other apps and imports send the codes of `states` and `transitions`. */
export const convertOtherTransition = transitionConverter({ states: {}, transitions: {} });

/**
 * Replaces the texts of a platform by codes. Keeps codes. The time of the event is `write_ts`. The
 * state is in `currState`, or in `curr_state` after a "force sync" of the app.
 */
function transitionConverter(texts: {
  states: Record<string, number>;
  transitions: Record<string, number>;
}): Converter {
  const stateNames = new Map(Object.entries(texts.states));
  const transitionNames = new Map(Object.entries(texts.transitions));
  return (entry) => {
    const { currState, curr_state: otherSpelling, transition } = entry.data;
    const state = nameOrCode(stateNames, currState ?? otherSpelling, 'data.currState', Object.values(states));
    const code =
      transition === null
        ? null
        : nameOrCode(transitionNames, transition, 'data.transition', Object.values(transitions));
    const ts = timeOf(entry.metadata.write_ts, 'metadata.write_ts');
    return withTime(entry, ts, { curr_state: state, transition: code }, ['currState']);
  };
}
