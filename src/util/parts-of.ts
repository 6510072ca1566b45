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

/** Yields a list that `read` returns in pages of `size`. Each call gets the last element before its page. */
export async function* everyOf<T>(
  size: number,
  read: (last?: T) => Promise<readonly T[]>,
): AsyncGenerator<T, undefined> {
  for (let last: T | undefined; ; ) {
    const page = await read(last);
    yield* page;
    if (page.length < size) return;
    last = page.at(-1);
  }
}
