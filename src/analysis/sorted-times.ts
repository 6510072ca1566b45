// Binary search in arrays that ascend by `ts`.

interface Timed {
  ts: number;
}

/** Index of the first element at or after `ts`; the length if there is none. */
export function firstAtOrAfter(sorted: readonly Timed[], ts: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]!.ts < ts) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Index of the first element after `ts`; the length if there is none. */
export function firstLater(sorted: readonly Timed[], ts: number): number {
  let i = firstAtOrAfter(sorted, ts);
  while (i < sorted.length && sorted[i]!.ts === ts) i += 1;
  return i;
}

/** Index of the first of the ascending `times` after `ts`; the length of `times` if all are at or before `ts`. */
export function firstLaterIn(times: ArrayLike<number>, ts: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= ts) low = middle + 1;
    else high = middle;
  }
  return low;
}

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
