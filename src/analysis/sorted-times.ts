// Binary search in arrays that ascend by `ts`.
import { firstIndex } from '../model/first-index.ts';

interface Timed {
  ts: number;
}

/** Index of the first element at or after `ts`; the length if there is none. */
export const firstAtOrAfter = (sorted: readonly Timed[], ts: number): number =>
  firstIndex(sorted.length, (i) => sorted[i]!.ts >= ts);

/** Index of the first element after `ts`; the length if there is none. */
export const firstLater = (sorted: readonly Timed[], ts: number): number =>
  firstIndex(sorted.length, (i) => sorted[i]!.ts > ts);

/** Index of the first of the ascending `times` after `ts`; the length of `times` if all are at or before `ts`. */
export const firstLaterIn = (times: ArrayLike<number>, ts: number): number =>
  firstIndex(times.length, (i) => times[i]! > ts);

/** The elements with `ts` from `from` to `to`, both ends included. */
export function within<T extends Timed>(sorted: readonly T[], from: number, to: number): T[] {
  const found: T[] = [];
  for (let i = firstAtOrAfter(sorted, from); i < sorted.length && sorted[i]!.ts <= to; i += 1) found.push(sorted[i]!);
  return found;
}

/** True if an element with `ts` from `from` to `to`, both ends included, passes `test`. */
export function someWithin<T extends Timed>(
  sorted: readonly T[],
  from: number,
  to: number,
  test: (element: T) => boolean = () => true,
): boolean {
  for (let i = firstAtOrAfter(sorted, from); i < sorted.length && sorted[i]!.ts <= to; i += 1)
    if (test(sorted[i]!)) return true;
  return false;
}
