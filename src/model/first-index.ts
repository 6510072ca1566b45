/** Finds by binary search the first index that passes; `length`: none does. All later indexes must pass, too. */
export function firstIndex(length: number, passes: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
