// When the service received an entry first, against when the phone claims to have written it: the same rule on every
// backend.

/**
 * s; phones' clocks are wrong by minutes and hours. What claims more than a day is taken for a clock that was ahead.
 */
export const believedAhead = 86_400;

/**
 * True when an entry takes no part yet at time `at`: it claims to have been written more than a day after it was
 * received, and that time has not come.
 */
export function isAhead(entry: { write_ts: number; received_ts: number }, at: number): boolean {
  return entry.write_ts > entry.received_ts + believedAhead && entry.write_ts > at;
}
