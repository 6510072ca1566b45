// Limits of signing in: wrong passwords of one network, and passwords that are computed at once, as each takes 32 MiB.

const window = 900; // s
const failuresPerOrigin = 30;
const mostRemembered = 10_000; // networks
const mostWaiting = 8; // passwords

/** Counts in one process. */
export class SignInLimits {
  readonly #now: () => number;
  #window = 0;
  #failures = new Map<string, number>();
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** `now`: seconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * True for a network with too many wrong passwords. Of callers of whom no network is known nothing is counted:
   * anybody could keep all others out; the lock of each account holds against guessing.
   */
  isHeld(origin: string | null): boolean {
    return (origin === null ? 0 : (this.#ofWindow().get(origin) ?? 0)) >= failuresPerOrigin;
  }

  failed(origin: string | null): void {
    if (origin !== null) this.#ofWindow().set(origin, (this.#ofWindow().get(origin) ?? 0) + 1);
  }

  #ofWindow(): Map<string, number> {
    const at = Math.floor(this.#now() / window);
    if (at !== this.#window || this.#failures.size >= mostRemembered) [this.#window, this.#failures] = [at, new Map()];
    return this.#failures;
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
