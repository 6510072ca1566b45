// Limits for signing in. Passwords are checked one at a time, because each check takes 32 MiB.
import { WindowCounts } from '../util/rate-counts.ts';

const failureWindow = 900; // s
/** Wrong passwords from one network within the window: for all accounts, and for one account. */
const mostFailures = { ofOrigin: 30, ofAccount: 5 };

/**
 * The most passwords in the queue. `all`: from all known browsers; other callers may add as many.
 * `ofOrigin`: from one known browser or network. `ofUnknown`: from all callers on unknown networks.
 */
const mostQueued = { all: 16, ofOrigin: 2, ofUnknown: 8 };

/** The counts and the queue belong to one process. */
export class SignInLimits {
  readonly #failures: WindowCounts;
  /** By network and account, so that callers on another network cannot lock a manager out. */
  readonly #ofAccount: WindowCounts;
  /** Passwords that are or will be checked. `of`: the known browser or the network of the sender. */
  readonly #queue: { of: string | null; isKnown: boolean; run: () => Promise<void> }[] = [];

  constructor(now: () => number) {
    this.#failures = new WindowCounts(failureWindow, now);
    this.#ofAccount = new WindowCounts(failureWindow, now);
  }

  /**
   * Seconds that a network with too many wrong passwords must wait. Callers without a known network
   * never wait: one of them could lock out all others. The lock of each account stops guessing.
   */
  networkWait(origin: string | null): number {
    return origin !== null && this.#failures.of(origin) >= mostFailures.ofOrigin ? this.#failures.left() : 0;
  }

  /** True after too many wrong passwords for the account from one network. `null` counts as one. */
  isAccountBlocked(origin: string | null, account: string): boolean {
    return this.#ofAccount.of(`${origin} ${account}`) >= mostFailures.ofAccount;
  }

  /**
   * A right password resets the count of its account for this network. A wrong password for a
   * locked account does not count for the network as a whole.
   */
  countTry(origin: string | null, account: string, tried: { isRight: boolean; isLocked: boolean }): void {
    const { isRight, isLocked } = tried;
    const name = `${origin} ${account}`;
    this.#ofAccount.add(name, isRight ? -this.#ofAccount.of(name) : 1);
    if (origin !== null && !isRight && !isLocked) this.#failures.add(origin);
  }

  /** Returns null if the queue is full. Known browsers come first. `browser`: the hash of such a browser. */
  async runInQueue<T>(origin: string | null, work: () => Promise<T>, browser: string | null = null): Promise<T | null> {
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
