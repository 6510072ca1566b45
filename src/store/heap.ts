// Items of which the first in an order is always at hand: for merging many sorted sources.

/** A heap; making one takes ownership of the list. */
export interface Heap<T> {
  first(): T | undefined;
  removeFirst(): void;
  /** Puts the first item, whose place in the order has changed, where it belongs. */
  firstChanged(): void;
}

/** Makes a heap of a list; `compare` as in `sort`. */
export function heapOf<T>(items: T[], compare: (a: T, b: T) => number): Heap<T> {
  const sink = (from: number): void => {
    for (let i = from; ; ) {
      let least = i;
      for (let child = 2 * i + 1; child <= 2 * i + 2; child += 1) {
        if (child < items.length && compare(items[child]!, items[least]!) < 0) least = child;
      }
      if (least === i) return;
      [items[i], items[least]] = [items[least]!, items[i]!];
      i = least;
    }
  };
  for (let i = (items.length >> 1) - 1; i >= 0; i--) sink(i);
  return {
    first: () => items[0],
    removeFirst: () => {
      const last = items.pop();
      if (items.length === 0 || last === undefined) return;
      items[0] = last;
      sink(0);
    },
    firstChanged: () => sink(0),
  };
}
