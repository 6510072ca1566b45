// Makes the `write_ts` of entries that the service itself puts. It must be unique within their user and key.

const step = 1e-6; // s; about four doubles of the size of today's times lie within a step

let last = 0;

/**
 * Returns a random time within the millisecond after `now` (s). If that is not after the last returned time, returns
 * the last time plus `step`. The randomness keeps the times of two processes different.
 */
export function writeTime(now: number): number {
  const chosen = now + Math.random() / 1000;
  last = chosen <= last && last < now + 1 ? last + step : chosen;
  return last;
}
