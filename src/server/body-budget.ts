// How many bytes of bodies a process holds at once: in all, of one caller, and of those of whom nobody knows yet who
// sends them.
import { type Problem, tooManyCalls, unavailable } from './problem.ts';

/** Bytes that may be held at once. */
export interface BodyLimits {
  /** In all. */
  total: number;
  /** Of one known caller. */
  perCaller: number;
  /** Of all whose caller is not known yet. */
  strangers: number;
}

/** The part of a `BodyBudget` that one call holds. */
export interface BodyShare {
  /**
   * Throws a `Problem` when so many more bytes would not fit now: 503, or 429 where it is the caller's own calls that
   * are too many.
   */
  check(bytes: number): void;
  /** Takes bytes; throws as `check` does. */
  grow(bytes: number): void;
  /** From now on these bytes are those of a known caller. */
  belongsTo(userId: string): void;
  /** Rejects with a 503 `Problem` when the slow body of a stranger has to make room for others; else never settles. */
  readonly evicted: Promise<never>;
  /** Gives back everything taken. */
  release(): void;
}

const pace = 10_000; // ms over which the pace of a stranger's body is taken

interface Held {
  bytes: number;
  /** UUID of the caller; null: not known yet. */
  userId: string | null;
  /** Bytes that came in this window of `pace`, and in the one before. */
  fresh: number;
  before: number;
  /** When this window began, ms; and the call. */
  since: number;
  born: number;
  evict: (problem: Problem) => void;
}

/**
 * What all calls of this process may hold at once. The only body there is always fits, and so does the only one of a
 * caller: no limit keeps it out for ever. Where strangers have used up their part, the slowest of them makes room, so
 * that open connections that hardly send close the door to nobody.
 */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #all = new Set<Held>();
  readonly #now: () => number;
  #total = 0;
  #strangers = 0;

  /** `now`: a steady clock, ms. */
  constructor(limits: BodyLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** A share that grows with a body. */
  share(): BodyShare {
    const now = this.#now();
    let evict: (problem: Problem) => void = () => {};
    const evicted = new Promise<never>((_, reject) => {
      evict = reject;
    });
    evicted.catch(() => {}); // nobody may be listening any more
    const held: Held = { bytes: 0, userId: null, fresh: 0, before: 0, since: now, born: now, evict };
    return {
      evicted,
      check: (bytes) => this.#check(held, bytes),
      grow: (bytes) => {
        this.#check(held, bytes);
        this.#take(held, bytes);
      },
      belongsTo: (userId) => {
        if (held.userId === null) this.#strangers -= held.bytes;
        held.userId = userId;
        this.#check(held, 0);
      },
      release: () => {
        this.#all.delete(held);
        this.#total -= held.bytes;
        if (held.userId === null) this.#strangers -= held.bytes;
        held.bytes = 0;
      },
    };
  }

  #take(held: Held, bytes: number): void {
    this.#all.add(held);
    held.bytes += bytes;
    this.#total += bytes;
    if (held.userId === null) this.#strangers += bytes;
    this.#turn(held);
    held.fresh += bytes;
  }

  #check(held: Held, bytes: number): void {
    const { total, perCaller, strangers } = this.#limits;
    if (held.userId === null) {
      this.#makeRoom(held, bytes);
      if (this.#strangers > held.bytes && this.#strangers + bytes > strangers) throw tooMuchWaits();
    } else {
      const own = this.#of(held.userId);
      if (own > held.bytes && own + bytes > perCaller) {
        throw tooManyCalls('other calls of yours hold all that one caller may have waiting; end those first', 5, {
          limit: 'waiting_bytes',
          most: perCaller,
        });
      }
    }
    if (this.#total > held.bytes && this.#total + bytes > total) throw tooMuchWaits();
  }

  #of(userId: string): number {
    let bytes = 0;
    for (const one of this.#all) if (one.userId === userId) bytes += one.bytes;
    return bytes;
  }

  /**
   * Ends bodies of strangers that have been coming for a while, the slowest first, until there is room or only quicker
   * ones are left.
   */
  #makeRoom(held: Held, bytes: number): void {
    if (this.#strangers + bytes <= this.#limits.strangers) return;
    const now = this.#now();
    this.#turn(held);
    const others = [...this.#all].filter(
      (one) =>
        one !== held && one.userId === null && now - one.born > 2 * pace && this.#pace(one) <= this.#pace(held) + bytes,
    );
    others.sort((a, b) => this.#pace(a) - this.#pace(b));
    for (const one of others) {
      if (this.#strangers + bytes <= this.#limits.strangers) return;
      this.#all.delete(one);
      this.#strangers -= one.bytes;
      this.#total -= one.bytes;
      one.bytes = 0;
      one.evict(unavailable('this body came so slowly that others needed its room; nothing was stored, send it again'));
    }
  }

  #turn(held: Held): void {
    const passed = this.#now() - held.since;
    if (passed < pace) return;
    held.before = passed < 2 * pace ? held.fresh : 0;
    held.fresh = 0;
    held.since = this.#now();
  }

  #pace(held: Held): number {
    this.#turn(held);
    return held.fresh + held.before;
  }
}

const tooMuchWaits = (): Problem =>
  unavailable('too many bodies wait on this server; nothing was stored by this call, send it again later');
