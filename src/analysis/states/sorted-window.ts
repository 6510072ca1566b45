/** A moving window of at most `size` values, kept sorted so that any quantile can be read. */
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

  remove(value: number): void {
    const { values } = this;
    const last = this.count - 1;
    let i = 0;
    while (i < last && values[i] !== value) i += 1;
    for (; i < last; i += 1) values[i] = values[i + 1]!;
    this.count = last;
  }

  /** The quantile `q` (0 to 1), without interpolation; `otherwise` if the window is empty. */
  at(q: number, otherwise: number): number {
    return this.count === 0 ? otherwise : this.values[Math.round(q * (this.count - 1))]!;
  }
}
