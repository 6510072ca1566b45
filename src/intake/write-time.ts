// When something was written that the service itself puts: `write_ts` names an entry within its user and key.

const step = 1e-6; // s; a time of today holds four of a step

let last = 0;

/**
 * A time within the millisecond that begins at `now`, s, or soon after: later than the one before, and another one than
 * a second process would choose.
 */
export function writeTime(now: number): number {
  const chosen = now + Math.random() / 1000;
  last = chosen <= last && last < now + 1 ? last + step : chosen;
  return last;
}
