// When a lease is over, also under clocks that jump: the same rule on every backend.

/** s; clocks of hosts and servers that take over from each other differ by a little, and are put right by a little. */
export const clockSlack = 5;

/** s; the longest that a lease can be taken for, and the length of those that an earlier program took. */
export const longestLease = 86_400;

/**
 * True when a lease has ended. One that ends later than it can, taken or renewed now, was taken under a clock that was
 * ahead and has been put right since: it is over too, since nobody can tell when it began.
 */
export function isOver({ expires_ts, seconds }: { expires_ts: number; seconds: number }, at: number): boolean {
  return expires_ts <= at || expires_ts > at + seconds + clockSlack;
}
