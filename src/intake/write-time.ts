// Makes the `write_ts` of entries that the service itself puts. It must be unique within their user and key.

const step = 1e-6; // s; about four doubles of the size of today's times lie within a step

let last = 0;

/**
 * A time within the millisecond that begins at `now`, s, or soon after it. It is later than the time that was returned
 * before, and almost certainly differs from the times of other processes.
 */
export function writeTime(now: number): number {
  const chosen = now + Math.random() / 1000;
  last = chosen <= last && last < now + 1 ? last + step : chosen;
  return last;
}
