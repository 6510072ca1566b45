// Items of which the first in an order is always at hand: for merging many sorted sources.

/** A heap; making one takes ownership of the list. */
export class Heap<T> {
  private readonly items: T[];
  private readonly compare: (a: T, b: T) => number;

  /** `compare` as in `sort`. */
  constructor(items: T[], compare: (a: T, b: T) => number) {
    this.items = items;
    this.compare = compare;
    for (let i = (items.length >> 1) - 1; i >= 0; i--) this.sink(i);
  }

  get size(): number {
    return this.items.length;
  }

  first(): T | undefined {
    return this.items[0];
  }

  removeFirst(): void {
    const last = this.items.pop();
    if (this.items.length === 0 || last === undefined) return;
    this.items[0] = last;
    this.sink(0);
  }

  /** Puts the first item, whose place in the order has changed, where it belongs. */
  firstChanged(): void {
    this.sink(0);
  }

  private sink(from: number): void {
    const { items, compare } = this;
    for (let i = from; ; ) {
      let least = i;
      for (let child = 2 * i + 1; child <= 2 * i + 2; child += 1) {
        if (child < items.length && compare(items[child]!, items[least]!) < 0) least = child;
      }
      if (least === i) return;
      [items[i], items[least]] = [items[least]!, items[i]!];
      i = least;
    }
  }
}
