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
    const last = this.count - 1;
    let i = 0;
    while (i < last && values[i] !== value) i += 1;
    for (; i < last; i += 1) values[i] = values[i + 1]!;
    this.count = last;
  }

  /** Takes one element of a value out, which has to be there, and puts another value in. */
  replace(leaving: number, entering: number): void {
    if (leaving === entering) return;
    const { values } = this;
    const last = this.count - 1;
    let i = 0;
    while (i < last && values[i] !== leaving) i += 1;
    for (; i < last && values[i + 1]! < entering; i += 1) values[i] = values[i + 1]!;
    for (; i > 0 && values[i - 1]! > entering; i -= 1) values[i] = values[i - 1]!;
    values[i] = entering;
  }

  /** The value at share `q` (0 to 1) of the order, the nearest one; `otherwise` when there is none. */
  at(q: number, otherwise: number): number {
    return this.count === 0 ? otherwise : this.values[Math.round(q * (this.count - 1))]!;
  }
}
