// How many bytes of bodies a process holds at once: in all, of one caller, and of those of whom nobody knows yet who
// sends them; and how many large bodies are processed at the same time.
import { LiveSet } from './live-set.ts';
import { type Problem, tooManyCalls, unavailable } from './problem.ts';
import { type MayRead, ReadingLine } from './reading-line.ts';

/** Bytes that may be held at once. */
export interface BodyLimits {
  /** In all. */
  total: number;
  /** Of one known caller. */
  perCaller: number;
  /** Of all whose caller is not known yet. */
  strangers: number;
  /** ms that a body waits for room before it is refused. Default 0. */
  patience?: number;
  /** What bodies of at most `size` bytes may take together beyond `total`, so that large ones leave them room. */
  small?: { size: number; room: number };
  /** Large bodies that are processed at the same time. Default 1. */
  turns?: number;
  /** Bytes in memory from which on large bodies are read one after the other. Default: `total`. */
  ahead?: number;
  /**
   * Bytes beyond `total` that are read of the body that waits as first, to notice that its sender is gone. Default 0.
   */
  peek?: number;
}

/** The part of a `BodyBudget` that one call holds. */
export interface BodyShare {
  /**
   * Throws a `Problem` when so many more bytes would not fit now: 503, or 429 where it is the caller's own calls that
   * are too many.
   */
  check(bytes: number): void;
  /**
   * Takes the room of bytes that are to come, as soon as there is room for all of them. Rejects as `check` throws: with
   * 429 at once, with 503 where there is no room in time; and when the body is evicted. While this body waits as the
   * first of all, `readAhead` is called again and again: it reads a piece, keeps it, and returns its bytes, 0 to be
   * called no more. Where it rejects, so does this.
   */
  reserve(bytes: number, readAhead?: () => Promise<number>): Promise<void>;
  /** Takes bytes that came, first of those reserved, as soon as they fit; rejects as `reserve`. */
  arrive(bytes: number): Promise<void>;
  /**
   * Resolves when the next piece of this body may be read: at once, unless so much has come already that more would
   * only wait in memory. Undefined: now.
   */
  readOn(): Promise<void> | undefined;
  /** As `arrive`, without waiting; throws as `check` does. */
  grow(bytes: number): void;
  /**
   * Resolves when it is the turn of this body among the large ones, which callers have one after the other. It has its
   * turn until it is released.
   */
  turn(): Promise<void>;
  /** From now on these bytes are those of a known caller. */
  belongsTo(userId: string): void;
  /** Rejects with a 503 `Problem` when the slow body of a stranger has to make room for others; else never settles. */
  readonly evicted: Promise<never>;
  /** Gives back everything taken. */
  release(): void;
}

const pace = 10_000; // ms over which the pace of a body is taken
const leastPace = 64 * 1024; // bytes in that time: what comes more slowly makes room for those who wait
const lookAgain = 1_000; // ms after which a waiting body checks again, even if nothing was released

interface Held {
  bytes: number;
  /** Of these, bytes that have not come yet. */
  ahead: number;
  /** Bytes that are in memory beyond these, as they were read before there was room. */
  early: number;
  /** Why it waits no more: it was evicted, or its sender is gone; null: it may wait. */
  end: unknown;
  /** UUID of the caller; null: not known yet. */
  userId: string | null;
  /** Bytes that came in this window of `pace`, and in the one before. */
  fresh: number;
  before: number;
  /** When this window began, ms; and the call. */
  since: number;
  born: number;
  /** Place among all calls, as they began. */
  number: number;
  /** True while it is not read on, for the sake of others. */
  paused: boolean;
  /** Takes it out of those that hold bytes; null while it is not among them. */
  leave: (() => void) | null;
  evict: (problem: Problem) => void;
}

/** A place in the line of bodies that wait for room. */
interface Place {
  held: Held;
  /** For which it needs room. */
  bytes: number;
  readAhead: (() => Promise<number>) | undefined;
  isWatched: boolean;
  hasLeft: boolean;
}

/**
 * What all calls of this process may hold at once. The only body there is always fits, and so does the only one of a
 * caller: no limit keeps it out forever. Where strangers have used up their part, the slowest of them makes room, so
 * that open connections that hardly send close the door to nobody.
 */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #all = new LiveSet<Held>();
  readonly #now: () => number;
  readonly #waiting = new LiveSet<() => void>();
  readonly #line: Place[] = [];
  readonly #working: Held[] = [];
  readonly #queue: { held: Held; begin: () => void }[] = [];
  readonly #reading: ReadingLine<Held>;
  #total = 0;
  /** Of these, bytes that have not come yet. */
  #ahead = 0;
  /** Bytes beyond these that were read before there was room. */
  #early = 0;
  #count = 0;
  #strangers = 0;

  /** `now`: a steady clock, ms. */
  constructor(limits: BodyLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
    this.#reading = new ReadingLine({
      reading: () => this.#mayBeRead(),
      // Who has others at work comes after those who have none, as they do when their turn is given.
      rank: ({ userId }) => this.#working.filter((one) => one.userId === userId).length,
      order: ({ number }) => number,
    });
  }

  /** A share that grows with a body. */
  share(): BodyShare {
    const now = this.#now();
    let evict: (problem: Problem) => void = () => {};
    const evicted = new Promise<never>((_, reject) => {
      evict = reject;
    });
    evicted.catch(() => {}); // possibly without a listener
    const held: Held = {
      bytes: 0,
      ahead: 0,
      early: 0,
      end: null,
      userId: null,
      fresh: 0,
      before: 0,
      since: now,
      born: now,
      number: this.#count++,
      paused: false,
      leave: null,
      evict,
    };
    return {
      evicted,
      check: (bytes) => this.#check(held, bytes),
      reserve: (bytes, readAhead) => {
        const take = (): void => {
          this.#take(held, bytes);
          held.ahead += bytes;
          this.#ahead += bytes;
        };
        return this.#fit(held, bytes, take, readAhead);
      },
      readOn: () => this.#readOn(held),
      arrive: async (bytes) => {
        const more = Math.max(0, bytes - held.ahead);
        if (more > 0) await this.#fit(held, more, () => this.#grow(held, bytes));
        else this.#grow(held, bytes);
      },
      grow: (bytes) => {
        if (bytes > held.ahead) this.#check(held, bytes - held.ahead);
        this.#grow(held, bytes);
      },
      turn: () => {
        const begun = this.#begin(held);
        this.#reading.leave(held);
        return begun;
      },
      belongsTo: (userId) => {
        if (held.userId === null) this.#strangers -= held.bytes;
        held.userId = userId;
        this.#check(held, 0);
      },
      release: () => {
        this.#giveBack(held);
        this.#end(held);
        this.#reading.leave(held);
        this.#wake();
      },
    };
  }

  /** Waits for others to end while there is no room. What is refused holds nothing any more. */
  async #fit(held: Held, bytes: number, take: () => void, readAhead?: () => Promise<number>): Promise<void> {
    const { patience = 0, small } = this.#limits;
    const began = this.#now();
    // What waits gets room in the order in which it came, but for small bodies, and for large ones that have begun.
    const mayPass = held.bytes > (small?.size ?? 0) || held.bytes + bytes <= (small?.size ?? 0);
    const place: Place = { held, bytes, readAhead, isWatched: false, hasLeft: false };
    if (!mayPass) this.#line.push(place);
    try {
      for (;;) {
        if (held.end !== null) throw held.end;
        const hasPart = this.#checkPart(held, bytes);
        // Strangers who wait for the part of strangers hold up nobody else.
        const isNext = hasPart && (mayPass || this.#line.find((one) => this.#hasPart(one)) === place);
        if (isNext && this.#hasRoom(held, bytes)) break;
        if (this.#now() >= began + patience) throw tooMuchWaits();
        if (isNext && !mayPass) this.#watch(place);
        await this.#change();
        this.#endSlow();
      }
      this.#excuse(held, began);
      take();
    } catch (error) {
      this.#giveBack(held);
      this.#wake();
      throw error;
    } finally {
      if (!mayPass) this.#leave(place);
    }
  }

  #leave(place: Place): void {
    this.#line.splice(this.#line.indexOf(place), 1);
    place.hasLeft = true;
    this.#early -= place.held.early;
    place.held.early = 0;
    if (place.isWatched) this.#reading.leave(place.held);
    this.#wake();
  }

  /**
   * Reads on the body for which the others wait: nobody shall wait for a sender who is gone, and the end of a
   * connection shows only when everything before it has been read.
   */
  #watch(place: Place): void {
    const { held, readAhead } = place;
    const { peek = 0 } = this.#limits;
    if (place.isWatched || readAhead === undefined) return;
    place.isWatched = true;
    const read = async (): Promise<void> => {
      while (this.#early < peek) {
        if (this.#mayBeRead() !== 'all') await this.#reading.join(held);
        if (place.hasLeft) return;
        const bytes = await readAhead();
        if (bytes === 0 || place.hasLeft) return;
        held.early += bytes;
        this.#early += bytes;
      }
      place.isWatched = false;
    };
    read().catch((error: unknown) => {
      held.end ??= error;
      this.#wake();
    });
  }

  /** Resolves when something was released, and after a while. */
  #change(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        leave();
        resolve();
      };
      const timer = setTimeout(wake, lookAgain);
      const leave = this.#waiting.add(wake);
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  #grow(held: Held, bytes: number): void {
    const more = Math.max(0, bytes - held.ahead);
    held.ahead -= bytes - more;
    this.#ahead -= bytes - more;
    this.#take(held, more);
    this.#turn(held);
    held.fresh += bytes;
  }

  /** Ends slow bodies of known callers, or of one of them, in favour of waiting ones. */
  #endSlow(userId: string | null = null): void {
    const now = this.#now();
    for (const one of this.#all) {
      if (userId !== null && one.userId !== userId) continue;
      if (one.ahead === 0 || one.paused || now - one.born < 2 * pace || this.#pace(one) >= leastPace) continue;
      this.#drop(one);
    }
  }

  #mayBeRead(): MayRead {
    const { total, ahead = total } = this.#limits;
    if (this.#total - this.#ahead + this.#early < ahead) return 'all';
    return this.#queue.length === 0 ? 'one' : 'none'; // whole bodies that wait for their turn
  }

  #readOn(held: Held): Promise<void> | undefined {
    const isSmall = held.bytes - held.ahead <= (this.#limits.small?.size ?? 0);
    if (held.userId === null || isSmall || this.#mayBeRead() === 'all') return;
    return this.#pause(held);
  }

  async #pause(held: Held): Promise<void> {
    const began = this.#now();
    held.paused = true;
    await this.#reading.join(held);
    held.paused = false;
    this.#excuse(held, began);
  }

  /** A sender that sent nothing since then is not slow: it was not read. */
  #excuse(held: Held, began: number): void {
    const time = this.#now() - began;
    held.since += time;
    held.born += time;
  }

  async #begin(held: Held): Promise<void> {
    if (this.#working.includes(held)) return;
    if (this.#working.length >= (this.#limits.turns ?? 1)) {
      await new Promise<void>((begin) => {
        this.#queue.push({ held, begin });
      });
    } else {
      this.#working.push(held);
    }
  }

  /**
   * The next turn goes to the first body of a caller without one, so that many bodies of one caller do not block
   * others.
   */
  #end(held: Held): void {
    const at = this.#working.indexOf(held);
    if (at === -1) return;
    this.#working.splice(at, 1);
    const isAtWork = (userId: string | null): boolean => this.#working.some((one) => one.userId === userId);
    const next = this.#queue.findIndex((one) => !isAtWork(one.held.userId) && one.held.userId !== held.userId);
    const [one] = this.#queue.splice(Math.max(0, next), 1);
    if (one === undefined) return;
    this.#working.push(one.held);
    one.begin();
  }

  #take(held: Held, bytes: number): void {
    held.leave ??= this.#all.add(held);
    held.bytes += bytes;
    this.#total += bytes;
    if (held.userId === null) this.#strangers += bytes;
  }

  #check(held: Held, bytes: number): void {
    if (!this.#checkPart(held, bytes) || !this.#hasRoom(held, bytes)) throw tooMuchWaits();
  }

  /**
   * True where the part of this caller, or that of strangers, has room for so many more bytes; slow bodies make room
   * for them. Throws 429 where the part of a caller has none: the caller's own calls are to end, and no waiting helps.
   */
  #checkPart(held: Held, bytes: number): boolean {
    const { userId } = held;
    if (this.#hasPart({ held, bytes })) return true;
    if (userId === null) this.#makeRoom(held, bytes);
    else this.#endSlow(userId);
    if (this.#hasPart({ held, bytes })) return true;
    if (userId === null) return false;
    throw tooManyCalls('other calls of yours hold all that one caller may have waiting; end those first', 5, {
      limit: 'waiting_bytes',
      most: this.#limits.perCaller,
    });
  }

  #hasRoom(held: Held, bytes: number): boolean {
    const { total, small } = this.#limits;
    const room = small !== undefined && held.bytes + bytes <= small.size ? total + small.room : total;
    return this.#total <= held.bytes || this.#total + bytes <= room;
  }

  #hasPart({ held, bytes }: Pick<Place, 'held' | 'bytes'>): boolean {
    const { perCaller, strangers } = this.#limits;
    const [taken, part] = held.userId === null ? [this.#strangers, strangers] : [this.#of(held.userId), perCaller];
    return taken <= held.bytes || taken + bytes <= part;
  }

  #of(userId: string): number {
    let bytes = 0;
    for (const one of this.#all) if (one.userId === userId) bytes += one.bytes;
    return bytes;
  }

  /**
   * Ends bodies of strangers that have been coming for a while, the slowest first, of equally slow ones the oldest,
   * until there is room or only quicker ones are left.
   */
  #makeRoom(held: Held, bytes: number): void {
    if (this.#strangers + bytes <= this.#limits.strangers) return;
    const now = this.#now();
    this.#turn(held);
    const others = [...this.#all].filter(
      (one) =>
        one !== held && one.userId === null && now - one.born > 2 * pace && this.#pace(one) <= this.#pace(held) + bytes,
    );
    others.sort((a, b) => this.#pace(a) - this.#pace(b) || a.number - b.number);
    for (const one of others) {
      if (this.#strangers + bytes <= this.#limits.strangers) return;
      this.#drop(one);
    }
  }

  #giveBack(held: Held): void {
    held.leave?.();
    held.leave = null;
    this.#total -= held.bytes;
    this.#ahead -= held.ahead;
    if (held.userId === null) this.#strangers -= held.bytes;
    held.bytes = 0;
    held.ahead = 0;
  }

  #drop(held: Held): void {
    this.#giveBack(held);
    const problem = unavailable(
      'this body came so slowly that others needed its room; nothing was stored, send it again',
    );
    held.end = problem;
    held.evict(problem);
    this.#wake();
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
