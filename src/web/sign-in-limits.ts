// Limits for signing in: wrong passwords from one network, in all and per account. Passwords are computed one at a
// time, as each takes 32 MiB.
import { WindowCounts } from '../util/rate-counts.ts';

const failureWindow = 900; // s
const mostFailures = { ofOrigin: 30, ofAccount: 5 };

/** The most passwords in the queue, of known browsers and of other callers each; then per network or browser. */
const mostQueued = { all: 16, ofOrigin: 2, ofUnknown: 8 };

/** Counts in one process. */
export class SignInLimits {
  readonly #failures: WindowCounts;
  /** Counted by network and account, so that strangers on another network cannot lock a person out. */
  readonly #ofAccount: WindowCounts;
  /** Passwords that wait, and the one that is computed, by network or known browser. */
  readonly #queue: { of: string | null; isKnown: boolean; run: () => Promise<void> }[] = [];

  /** `now`: seconds since the epoch. */
  constructor(now: () => number) {
    this.#failures = new WindowCounts(failureWindow, now);
    this.#ofAccount = new WindowCounts(failureWindow, now);
  }

  /**
   * Seconds that a network with too many wrong passwords has to wait; 0: none. Callers without a known network are not
   * counted together: one could lock out all others. The lock of each account limits guessing.
   */
  heldFor(origin: string | null): number {
    return origin !== null && this.#failures.of(origin) >= mostFailures.ofOrigin ? this.#failures.left() : 0;
  }

  /** True for too many wrong passwords for this account from this network. Unknown networks count as one. */
  isHeldFrom(origin: string | null, account: string): boolean {
    return this.#ofAccount.of(`${origin} ${account}`) >= mostFailures.ofAccount;
  }

  /**
   * Counts a computed password; a right one resets the account. Tries for a locked account do not count for the
   * network.
   */
  tried(origin: string | null, account: string, { isRight, isLocked }: { isRight: boolean; isLocked: boolean }): void {
    const name = `${origin} ${account}`;
    this.#ofAccount.add(name, isRight ? -this.#ofAccount.of(name) : 1);
    if (origin !== null && !isRight && !isLocked) this.#failures.add(origin);
  }

  /** Runs `work` in the queue, known browsers first; null: the queue is full. `browser`: hash of a known browser. */
  async inSlot<T>(origin: string | null, work: () => Promise<T>, browser: string | null = null): Promise<T | null> {
    const isKnown = browser !== null;
    const of = browser ?? origin;
    const queued = this.#queue.filter((one) => one.isKnown === isKnown);
    const most = of === null ? mostQueued.ofUnknown : mostQueued.ofOrigin;
    if (queued.length >= mostQueued.all || queued.filter((one) => one.of === of).length >= most) return null;
    return new Promise((resolve, reject) => {
      this.#queue.push({ of, isKnown, run: () => work().then(resolve, reject) });
      if (this.#queue.length === 1) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    for (;;) {
      const next = this.#queue.find(({ isKnown }) => isKnown) ?? this.#queue[0];
      if (next === undefined) return;
      await next.run();
      this.#queue.splice(this.#queue.indexOf(next), 1);
    }
  }
}
