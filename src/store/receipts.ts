// When the service received an entry first, against when the phone claims to have written it: the same rule on every
// backend.

/**
 * s; phones' clocks are often wrong by minutes or hours. More than a day means that the clock was ahead.
 */
export const believedAhead = 86_400;

/**
 * True if an entry must not be processed before time `at`: its `write_ts` is more than a day after its first receipt,
 * and that time has not come.
 */
export function isAhead(entry: { write_ts: number; received_ts: number }, at: number): boolean {
  return entry.write_ts > entry.received_ts + believedAhead && entry.write_ts > at;
}
