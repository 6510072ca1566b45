// A statement about a day, as an entry: the analysis stays as it is, and readers see the correction.
import type { Position } from './trip.ts';

/**
 * `ts`: a time within the trip, section or stay. `start_ts` to `end_ts`: a stretch of time. Seconds since the epoch.
 */
export type Correction =
  /** Entries of the time are not analysed: all, or entries of a platform or program, or entries pushed with a token. */
  | ({ kind: 'set_aside'; source?: string; token_id?: string } & Stretch)
  /** The section at `ts` was of this mode. */
  | { kind: 'mode'; ts: number; mode: string }
  /** The trip at `ts` was two: one ended and the next began then. */
  | { kind: 'split'; ts: number }
  /** The trips before and after the stay at `ts` were one. */
  | { kind: 'join'; ts: number }
  /** The trip at `ts` did not happen. */
  | { kind: 'drop'; ts: number }
  /** There was a trip; `distance` in m, default: straight. `end_loc`, default: where the next trip begins. */
  | ({ kind: 'add'; mode: string; distance?: number; end_loc?: Position } & Stretch)
  | ({ kind: 'at_home' } & Stretch)
  /** The user was where the trip before had ended. */
  | ({ kind: 'at_place' } & Stretch)
  /** The place of the stay at `ts` has this name. */
  | { kind: 'place_name'; ts: number; name: string }
  /** The correction with the `write_ts` of `of` no longer holds. */
  | { kind: 'undo'; of: number };

interface Stretch {
  start_ts: number;
  end_ts: number;
}

/** The kinds, each with the fields that it must have. */
export const correctionKinds: Readonly<Record<Correction['kind'], readonly string[]>> = {
  set_aside: ['start_ts', 'end_ts'],
  mode: ['ts', 'mode'],
  split: ['ts'],
  join: ['ts'],
  drop: ['ts'],
  add: ['start_ts', 'end_ts', 'mode'],
  at_home: ['start_ts', 'end_ts'],
  place_name: ['ts', 'name'],
  undo: ['of'],
  at_place: ['start_ts', 'end_ts'],
};

/** A correction with what its entry says beside it. */
export type Stated = Correction & {
  /** Names it within a user. */
  write_ts: number;
  /** When the service first received it. */
  received_ts: number;
  /** The operator who stated it, by a command. Absent: the person. */
  author?: string;
  reason?: string;
  /** Start and end of the trips concerned, as the author saw them. */
  seen?: readonly (readonly [start_ts: number, end_ts: number])[];
};

/** What became of a correction. `contradicted`: it holds, but later data say otherwise. */
export type Effect = 'applied' | 'contradicted' | 'without effect' | 'undone';

/** A correction and what became of it. */
export interface CorrectionStanding {
  correction: Stated;
  effect: Effect;
  /** The local day concerned; null: no trip is near, or it concerns none. */
  day: string | null;
}
