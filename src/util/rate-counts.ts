// Counts by name within the current minute, hour or day, for rate limits.
//
//     limit 3 a minute    08:00:10  08:00:40  08:00:50  08:00:55           08:01:00
//     count before        0         1         2         3                  0, a new window
//     call                passes    passes    passes    429, left(): 5 s   passes

const mostRemembered = 20_000; // names; beyond this number the oldest is forgotten

/** Each process has its own counts. */
export class WindowCounts {
  readonly seconds: number;
  readonly #now: () => number;
  #window = 0;
  #counts = new Map<string, number>();

  /** `seconds`: length of a window. `now`: seconds since the epoch. */
  constructor(seconds: number, now: () => number) {
    this.seconds = seconds;
    this.#now = now;
  }

  of(name: string): number {
    return this.#current().get(name) ?? 0;
  }

  add(name: string, more = 1): void {
    const counts = this.#current();
    const sum = Math.max(0, (counts.get(name) ?? 0) + more);
    if (counts.size >= mostRemembered && !counts.has(name)) counts.delete(counts.keys().next().value!);
    counts.set(name, sum);
  }

  /** Seconds until the next window begins. */
  left(): number {
    return this.seconds - (this.#now() % this.seconds);
  }

  #current(): Map<string, number> {
    const window = Math.floor(this.#now() / this.seconds);
    if (window !== this.#window) [this.#window, this.#counts] = [window, new Map()];
    return this.#counts;
  }
}
