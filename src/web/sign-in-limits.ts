// Limits of signing in: wrong passwords of one network, in all and for one account, and passwords that are computed at
// once, as each takes 32 MiB.
import { WindowCounts } from '../util/rate-counts.ts';

const failureWindow = 900; // s
const mostFailures = { ofOrigin: 30, ofAccount: 5 };

/** Passwords that wait: of all, of one network, and of all callers of whom no network is known. */
const mostWaiting = { all: 16, ofOrigin: 2, ofUnknown: 8 };

/** Counts in one process. */
export class SignInLimits {
  readonly #failures: WindowCounts;
  /** By network and account: a stranger elsewhere keeps nobody out. */
  readonly #ofAccount: WindowCounts;
  /** Networks of the passwords that wait. */
  readonly #waiting: (string | null)[] = [];
  #last: Promise<unknown> = Promise.resolve();

  /** `now`: seconds since the epoch. */
  constructor(now: () => number) {
    this.#failures = new WindowCounts(failureWindow, now);
    this.#ofAccount = new WindowCounts(failureWindow, now);
  }

  /**
   * True for a network with too many wrong passwords. Of callers of whom no network is known nothing is counted:
   * anybody could keep all others out; the lock of each account holds against guessing.
   */
  isHeld(origin: string | null): boolean {
    return origin !== null && this.#failures.of(origin) >= mostFailures.ofOrigin;
  }

  /** True for too many wrong passwords for this account from there; unknown networks count as one. */
  isHeldFrom(origin: string | null, account: string): boolean {
    return this.#ofAccount.of(`${origin} ${account}`) >= mostFailures.ofAccount;
  }

  /** Counts a password that was computed. Tries for a locked account are not held against the network. */
  tried(origin: string | null, account: string, { isRight, isLocked }: { isRight: boolean; isLocked: boolean }): void {
    const name = `${origin} ${account}`;
    this.#ofAccount.add(name, isRight ? -this.#ofAccount.of(name) : 1);
    if (origin !== null && !isRight && !isLocked) this.#failures.add(origin);
  }

  /** Runs `work` after all before it; null: too many wait, and no network keeps all others out. */
  async inTurn<T>(origin: string | null, work: () => Promise<T>): Promise<T | null> {
    const waiting = this.#waiting;
    const most = origin === null ? mostWaiting.ofUnknown : mostWaiting.ofOrigin;
    if (waiting.length >= mostWaiting.all || waiting.filter((one) => one === origin).length >= most) return null;
    waiting.push(origin);
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => {});
    return turn.finally(() => waiting.splice(waiting.indexOf(origin), 1));
  }
}
