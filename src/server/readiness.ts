// Whether this server can take what phones push: asked of the store at most once a second, however many ask.
import type { Store } from '../store/store.ts';
import { Problem, retryAfterSeconds, unavailable } from './problem.ts';
import type { StoreFigures } from './store-figures.ts';

const freshFor = 1_000; // ms that an answer of the store holds
const patience = 10_000; // ms that a store may take to answer
const mebibyte = 1024 * 1024;

/** When a server counts as not ready, although its store works; 0: never. */
export interface ReadyLimits {
  /** MiB that must be free on the disk of the store. */
  readyDiskMiB: number;
  /** Entries that may wait for the pipeline, of all users together. */
  readyWaiting: number;
}

/** Checks the store once for all concurrent callers. */
export class Readiness {
  readonly #store: Pick<Store, 'ping' | 'disk'>;
  readonly #figures: StoreFigures;
  readonly #limits: ReadyLimits;
  #asked = Number.NEGATIVE_INFINITY;
  #answer: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, 'ping' | 'disk'>, figures: StoreFigures, limits: ReadyLimits) {
    this.#store = store;
    this.#figures = figures;
    this.#limits = limits;
  }

  /**
   * Resolves when a small write and a small read worked a moment ago, and disk and backlog are within their limits.
   * Rejects with why not; a 503 `Problem` where the store is silent.
   */
  async check(): Promise<void> {
    if (performance.now() - this.#asked >= freshFor) {
      this.#asked = performance.now();
      this.#answer = inTime(this.#checkAll());
      this.#answer.catch(() => {}); // the caller that waits gets the error
    }
    await this.#answer;
  }

  async #checkAll(): Promise<void> {
    const { readyDiskMiB, readyWaiting } = this.#limits;
    await this.#store.ping();
    if (readyDiskMiB > 0) {
      const { free } = await this.#store.disk();
      const found = free === null ? Number.POSITIVE_INFINITY : Math.floor(free / mebibyte);
      if (found < readyDiskMiB)
        throw notReady('disk_free_mib', 'free MiB on the disk of the store', readyDiskMiB, found);
    }
    if (readyWaiting > 0) {
      const { waiting } = await this.#figures.get();
      if (waiting > readyWaiting) throw notReady('waiting_entries', 'waiting entries', readyWaiting, waiting);
    }
  }
}

function notReady(check: string, what: string, limit: number, found: number): Problem {
  const bound = found < limit ? 'least' : 'most';
  return new Problem(503, `expected at ${bound} ${limit} ${what}, found ${found}`, {
    headers: { 'Retry-After': String(retryAfterSeconds) },
    members: { check, limit, found },
  });
}

async function inTime(ping: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(unavailable('the store does not answer', 'MOBILITY_STORE_BUSY')), patience);
  });
  try {
    await Promise.race([ping, late]);
  } finally {
    clearTimeout(timer);
  }
}
