// Limits of signing in: tries of one network, and passwords that are computed at once, as each takes 32 MiB.

const window = 900; // s
const triesPerOrigin = 30;
const mostRemembered = 10_000; // networks
const mostWaiting = 8; // passwords

/** Counts in one process. */
export class SignInLimits {
  readonly #now: () => number;
  #window = 0;
  #tries = new Map<string, number>();
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** `now`: seconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Counts a try; false: there were too many. Callers of whom no network is known count together. */
  mayTry(origin: string | null): boolean {
    const at = Math.floor(this.#now() / window);
    if (at !== this.#window || this.#tries.size >= mostRemembered) [this.#window, this.#tries] = [at, new Map()];
    const name = origin ?? '';
    const tries = (this.#tries.get(name) ?? 0) + 1;
    this.#tries.set(name, tries);
    return tries <= (origin === null ? 10 * triesPerOrigin : triesPerOrigin);
  }

  /** Runs `work` after all before it; null: too many wait. */
  async inTurn<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.#waiting >= mostWaiting) return null;
    this.#waiting += 1;
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn.finally(() => {
      this.#waiting -= 1;
    });
  }
}
