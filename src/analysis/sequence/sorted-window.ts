// A small sorted list that values enter and leave: order statistics of a window that moves on.

/** At most `size` numbers, ascending. */
export class SortedWindow {
  private readonly values: Float64Array;
  private count = 0;

  constructor(size: number) {
    this.values = new Float64Array(size + 1);
  }

  add(value: number): void {
    const { values } = this;
    let i = this.count;
    while (i > 0 && values[i - 1]! > value) {
      values[i] = values[i - 1]!;
      i -= 1;
    }
    values[i] = value;
    this.count += 1;
  }

  /** Takes one element of this value out; it has to be there. */
  remove(value: number): void {
    const { values } = this;
    let i = 0;
    while (values[i] !== value) i += 1;
    values.copyWithin(i, i + 1, this.count);
    this.count -= 1;
  }

  /** The value at share `q` (0 to 1) of the order, the nearest one; `otherwise` when there is none. */
  at(q: number, otherwise: number): number {
    return this.count === 0 ? otherwise : this.values[Math.round(q * (this.count - 1))]!;
  }
}
