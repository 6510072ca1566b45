// Corrections: statements about a day, stored as entries. The stored analysis stays unchanged.
import type { Position } from './trip.ts';

/** `ts`: a time within the trip, section or stay. All times are seconds since the epoch. */
export type Correction =
  /** The analysis ignores entries of the range; with `source` or `token_id`, only some of them. */
  | ({ kind: 'set_aside'; source?: string; token_id?: string } & Stretch)
  /** The section at `ts` was of this mode. */
  | { kind: 'mode'; ts: number; mode: string }
  /** The trip at `ts` was two trips: the first ended, and the second began, at `ts`. */
  | { kind: 'split'; ts: number }
  /** The trips before and after the stay at `ts` were one trip. */
  | { kind: 'join'; ts: number }
  /** The trip at `ts` did not happen. */
  | { kind: 'drop'; ts: number }
  /** The phone missed a trip. Defaults: a straight line (m), and the start of the next trip. */
  | ({ kind: 'add'; mode: string; distance?: number; end_loc?: Position } & Stretch)
  | ({ kind: 'at_home' } & Stretch)
  /** The user stayed where the trip before ended, or with `next`, where the next trip begins. */
  | ({ kind: 'at_place'; at?: 'before' | 'next' } & Stretch)
  /** The place of the stay at `ts` has this name. */
  | { kind: 'place_name'; ts: number; name: string }
  /** The correction whose `write_ts` is `of` no longer holds. */
  | { kind: 'undo'; of: number };

interface Stretch {
  start_ts: number;
  end_ts: number;
}

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

export const longestDistance = 40_000_000; // m; about the circumference of the Earth

export type Stated = Correction & {
  write_ts: number;
  received_ts: number;
  /** The operator who made the correction. Absent: the user made it. */
  author?: string;
  reason?: string;
  /** Start and end of the concerned trips, as the author saw them. */
  seen?: readonly (readonly [start_ts: number, end_ts: number])[];
};

/** `contradicted`: the correction is applied, but data that arrived later contradict it. */
export type Effect = 'applied' | 'contradicted' | 'without effect' | 'undone';

export interface CorrectionStanding {
  correction: Stated;
  effect: Effect;
  /** The concerned local day; null: no trip is near, or the correction concerns no day. */
  day: string | null;
}
