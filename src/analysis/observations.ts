// What the analysis reads of a phone: locations, motion readings and steps of its state machine.
import type { Fix } from '../geo/speed.ts';

/** How the phone samples: about every 30 s (`time`, Android), or every so many metres (`distance`, iOS). */
export type Sampling = 'time' | 'distance';

/** A usable location of the phone. */
export interface Location extends Fix {
  /** m above sea level; null where the phone did not tell */
  altitude: number | null;
  /** m, radius at 68 % */
  accuracy: number;
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
