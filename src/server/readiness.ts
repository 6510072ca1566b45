// Whether this server can take what phones push: asked of the store at most once a second, however many ask.
import type { Store } from '../store/store.ts';
import { Problem, retryAfterSeconds, unavailable } from './problem.ts';

const freshFor = 1_000; // ms that a result holds
const patience = 10_000; // ms that a store may take to answer
const mebibyte = 1024 * 1024;

/** Checks the store once for all concurrent callers. */
export class Readiness {
  readonly #store: Pick<Store, 'ping' | 'disk'>;
  readonly #leastDisk: number;
  #asked = Number.NEGATIVE_INFINITY;
  #result: Promise<void> = Promise.resolve();

  /** `leastDiskMiB`: MiB that must be free on the disk of the store; 0: any. */
  constructor(store: Pick<Store, 'ping' | 'disk'>, leastDiskMiB: number) {
    this.#store = store;
    this.#leastDisk = leastDiskMiB;
  }

  /**
   * Resolves if a small write and a small read worked a moment ago and the disk has space. Rejects with a 503 `Problem`
   * or the error of the store.
   */
  async check(): Promise<void> {
    if (performance.now() - this.#asked >= freshFor) {
      this.#asked = performance.now();
      this.#result = inTime(this.#checkAll());
      this.#result.catch(() => {}); // the caller that waits gets the error
    }
    await this.#result;
  }

  async #checkAll(): Promise<void> {
    await this.#store.ping();
    const limit = this.#leastDisk;
    const free = limit === 0 ? null : (await this.#store.disk()).free;
    if (free === null || free >= limit * mebibyte) return;
    const found = Math.floor(free / mebibyte);
    throw new Problem(503, `expected at least ${limit} free MiB on the disk of the store, found ${found}`, {
      headers: { 'Retry-After': String(retryAfterSeconds) },
      members: { check: 'disk_free_mib', limit, found },
    });
  }
}

function inTime(check: Promise<void>): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = () => reject(unavailable('the store does not answer', 'MOBILITY_STORE_BUSY'));
    const timer = setTimeout(late, patience);
    void check.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
