// Figures by day over everybody of a study: worked out when asked, beside the calls, and kept for an hour.
import { setImmediate, setTimeout } from 'node:timers/promises';
import { addDays, localDay } from '../model/time.ts';
import { everyUser } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { type DayFigures, DaySums } from './by-day.ts';
import { readDayTrips } from './read-day-trips.ts';

/** s; figures are computed again after this. */
const keptFor = 3600;

/** Different stretches of days kept at once. */
const mostKept = 32;

/** Days of one call. */
const mostDays = 62;

/** ms that a call waits for figures that are being worked out. */
const patience = 5000;

/** Whose figures, of which days, and what of them. */
export interface EverybodyQuery {
  /** Everybody who joined it; undefined: everybody who joined none. */
  study: string | undefined;
  /** Local days, both included. */
  days: { from: string; to: string };
  /** Groupings by metric. */
  asked: Readonly<Record<string, readonly string[]>>;
  /** No figure stands for fewer people. */
  least: number;
}

/** Works out the figures of everybody, one stretch of days at a time. `now`: seconds since the epoch. */
export class Everybody {
  readonly #store: Pick<Store, 'users' | 'trips' | 'timeseries' | 'usercache'>;
  readonly #now: () => number;
  readonly #made = new Map<string, { at: number; sums: DaySums }>();
  #running: Promise<void> | null = null;

  constructor(store: Pick<Store, 'users' | 'trips' | 'timeseries' | 'usercache'>, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /**
   * The figures, at most an hour old; nothing while they are still being worked out, and of more than `mostDays` days.
   * Days count once they are over everywhere: what comes later of a day shows within an hour.
   */
  async figures({ study, days, asked, least }: EverybodyQuery): Promise<Record<string, DayFigures[]>> {
    const over = addDays(localDay(this.#now(), 'UTC'), -2);
    const to = days.to < over ? days.to : over;
    if (days.from > to || addDays(days.from, mostDays) <= to) return {};
    const key = JSON.stringify([study ?? null, days.from, to]);
    const until = performance.now() + patience;
    while (!this.#isFresh(key)) {
      const left = until - performance.now();
      if (left <= 0) break;
      this.#running ??= this.#make(key, study, { from: days.from, to }).finally(() => {
        this.#running = null;
      });
      // A failure goes to the waiting callers; possibly none waits any more.
      this.#running.catch(() => {});
      await Promise.race([this.#running, setTimeout(left, undefined, { ref: false })]);
    }
    return this.#made.get(key)?.sums.figures(asked, { least }) ?? {};
  }

  #isFresh(key: string): boolean {
    const made = this.#made.get(key);
    return made !== undefined && Math.abs(this.#now() - made.at) < keptFor;
  }

  async #make(key: string, study: string | undefined, days: { from: string; to: string }): Promise<void> {
    const sums = new DaySums();
    const at = this.#now();
    for await (const user of everyUser(this.#store)) {
      if (user.study !== study) continue;
      sums.add(await readDayTrips(this.#store, user.uuid, days));
      await setImmediate();
    }
    this.#made.delete(key);
    this.#made.set(key, { at, sums });
    for (const oldest of this.#made.keys()) {
      if (this.#made.size <= mostKept) break;
      this.#made.delete(oldest);
    }
  }
}
