// Whether this server can take what phones push: asked of the store at most once a second, however many ask.
import type { Store } from '../store/store.ts';
import { unavailable } from './problem.ts';

const freshFor = 1_000; // ms that an answer of the store holds
const patience = 10_000; // ms that a store may take to answer

/** Checks the store once for all concurrent callers. */
export class Readiness {
  readonly #store: Pick<Store, 'ping'>;
  #asked = Number.NEGATIVE_INFINITY;
  #answer: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, 'ping'>) {
    this.#store = store;
  }

  /**
   * Resolves when a small write and a small read worked a moment ago. Rejects with why not; a 503 `Problem` where the
   * store is silent.
   */
  async check(): Promise<void> {
    if (performance.now() - this.#asked >= freshFor) {
      this.#asked = performance.now();
      this.#answer = inTime(this.#store.ping());
      this.#answer.catch(() => {}); // the caller that waits gets the error
    }
    await this.#answer;
  }
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
