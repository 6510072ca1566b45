export function partsOf<T>(list: readonly T[], size: number): T[][] {
  const parts: T[][] = [];
  for (let i = 0; i < list.length; i += size) parts.push(list.slice(i, i + size));
  return parts;
}

/** Like `partsOf`, but for a source that may not fit into memory. */
export async function* readInParts<T>(source: AsyncIterable<T> | Iterable<T>, size: number): AsyncGenerator<T[]> {
  let part: T[] = [];
  for await (const one of source) {
    if (part.push(one) < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}
