// Lists of numbers side by side in one piece of memory: each piece costs more than to fill it.

/** Lists of `n` zeros by name. */
export function floats<Name extends string>(n: number, ...names: Name[]): Record<Name, Float64Array> {
  const lists: Partial<Record<Name, Float64Array>> = {};
  const buffer = new ArrayBuffer(Float64Array.BYTES_PER_ELEMENT * n * names.length);
  for (let i = 0; i < names.length; i += 1) {
    lists[names[i]!] = new Float64Array(buffer, Float64Array.BYTES_PER_ELEMENT * n * i, n);
  }
  return lists as Record<Name, Float64Array>;
}
