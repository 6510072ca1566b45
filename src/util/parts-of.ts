/** Consecutive parts of a list, each with at most `size` elements. */
export function partsOf<T>(list: readonly T[], size: number): T[][] {
  const parts: T[][] = [];
  for (let i = 0; i < list.length; i += size) parts.push(list.slice(i, i + size));
  return parts;
}
