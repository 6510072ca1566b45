// Folds log lines for a screen: lines that differ only in the entry are shown once, and their number at the end.

/** The part that differs between lines of one user, key and reason. */
const entryTime = / write_ts = [-\d.e+]+/g;
/** The time of a line, up to its level. */
const lineTime = /^\S+(?= |:[A-Z])/;

/** Counts lines about entries. */
export class LineFold {
  readonly #counts = new Map<string, number>();

  /** True if the line does not repeat an earlier one. */
  isNew(text: string): boolean {
    if (!text.includes(' write_ts = ')) return true;
    const name = text
      .replace(entryTime, '')
      .replace(/^.*?:(?=[A-Z]+:)/, '')
      .replace(lineTime, '');
    const count = this.#counts.get(name) ?? 0;
    this.#counts.set(name, count + 1);
    return count === 0;
  }

  /** `2,100 more like: …` for each line that was repeated. */
  rest(): string[] {
    const repeated = [...this.#counts].filter(([, count]) => count > 1);
    return repeated.map(([name, count]) => `${(count - 1).toLocaleString('en-US')} more like: ${name}`);
  }
}
