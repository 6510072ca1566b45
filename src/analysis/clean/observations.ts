// What the analysis reads of a phone: locations, motion readings and steps of its state machine.
import type { Fix } from '../../model/geo/speed.ts';
import { states, transitions } from '../../model/payloads.ts';
import { someWithin } from '../sorted-times.ts';

/** How the phone samples: about every 30 s (`time`, Android), or every so many metres (`distance`, iOS). */
export type Sampling = 'time' | 'distance';

/** A usable location of the phone. */
export interface Location extends Fix {
  /** m above sea level; null if the phone did not give it */
  altitude: number | null;
  /** m, radius at 68 % */
  accuracy: number;
  /** m/s that the phone sensed, as it says it: unknown is 0 on Android, -1 on iOS; null: it said nothing */
  speed: number | null;
  sampling: Sampling;
  zone: string;
  /** True when the phone did not name the zone. */
  zoneGuessed: boolean;
}

/** A motion reading; `type` as in `motionTypes`. */
export interface Motion {
  ts: number;
  type: number;
  /** 0 to 100 */
  confidence: number;
}

/** A step of the phone's state machine; codes as in `transitions` and `states`. */
export interface PhoneEvent {
  ts: number;
  transition: number | null;
  state: number | null;
}

/** What a phone sent, each list ascending by `ts`. */
export interface Observations {
  locations: readonly Location[];
  motions: readonly Motion[];
  events: readonly PhoneEvent[];
}

const restarts = new Set<number | null>([transitions.BOOTED, transitions.STOP_TRACKING]);

/** True when the phone was restarted, or its tracking stopped, between two times. */
export function restartedBetween(events: readonly PhoneEvent[], from: number, to: number): boolean {
  return someWithin(events, from, to, isInterruption);
}

const isInterruption = ({ transition, state }: PhoneEvent): boolean =>
  restarts.has(transition) || (transition === transitions.VISIT_ENDED && state === states.WAITING_FOR_TRIP_START);

/**
 * True for an event that tells that the phone was switched off and on again, or its tracking stopped; not for a mere
 * visit.
 */
export const isRestart = ({ transition }: PhoneEvent): boolean => restarts.has(transition);

const exits = new Set<number | null>([transitions.EXITED_GEOFENCE, transitions.VISIT_ENDED]);

/** True for an event by which the phone says that it noticed the user leaving. */
export const isExit = ({ transition }: PhoneEvent): boolean => exits.has(transition);

const ends = new Set<number | null>([transitions.STOPPED_MOVING, transitions.END_TRIP_TRACKING]);

/** True for an event by which a phone says that the user rests, or an import that its recording ends. */
export const isEnd = ({ transition }: PhoneEvent): boolean => ends.has(transition);
