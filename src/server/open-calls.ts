// How many calls, and streamed answers among them, each caller has open at once in this process.
import { tooManyCalls } from './problem.ts';

/** What one caller may have open at once. */
export interface OpenLimits {
  calls: number;
  /** Answers that are sent in pieces, as long as the caller reads them. */
  streams: number;
}

/** No phone has more than a few calls open; a script that reads in parallel may have some. */
const openLimits: OpenLimits = { calls: 64, streams: 8 };

/** Counts what is open; what is entered is left once, by the function that comes back. */
export class OpenCalls {
  readonly #limits: OpenLimits;
  readonly #open = { calls: new Map<string, number>(), streams: new Map<string, number>() };

  constructor(limits: OpenLimits = openLimits) {
    this.#limits = limits;
  }

  /** Throws a 429 `Problem` when the caller has as many open as one caller may. */
  enter(userId: string, kind: keyof OpenLimits): () => void {
    const open = this.#open[kind];
    const count = open.get(userId) ?? 0;
    if (count >= this.#limits[kind]) {
      const what = kind === 'calls' ? 'calls' : 'streamed answers';
      throw tooManyCalls(`expected at most ${this.#limits[kind]} ${what} open at once; end one of those first`, 5, {
        limit: `open_${kind}`,
        most: this.#limits[kind],
      });
    }
    open.set(userId, count + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const now = open.get(userId)! - 1;
      if (now === 0) open.delete(userId);
      else open.set(userId, now);
    };
  }
}
