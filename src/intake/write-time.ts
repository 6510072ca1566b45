// The `write_ts` of entries that the service itself puts: unique for a user and a key.

const step = 1e-6; // s; large enough that adding it changes a time: doubles near today's times are 0.24e-6 s apart

let last = 0;

/**
 * Returns a random time within the millisecond after `now` (s), or `step` after the last returned time if that is
 * later, and by less than a second. The randomness keeps the times of two processes different.
 */
export function writeTime(now: number): number {
  const chosen = now + Math.random() / 1000;
  last = chosen <= last && last < now + 1 ? last + step : chosen;
  return last;
}
