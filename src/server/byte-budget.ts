// Limits the bytes of bodies and answers that a process holds, in total and per owner. An owner is
// a caller, or the network of unauthenticated callers.
//
//     small pool, 16 MiB   ada: 1 MiB   network A: 8 MiB in 64 bodies   network B: 7 MiB
//     bob sends 2 KiB      full: the slowest body of network A ends with 503, and bob is served
import { type Problem, tooManyCalls, unavailable } from './problem.ts';

export const mebibyte = 1024 * 1024;

/**
 * Limits of one process, in bytes. 150 MiB of memory are enough for 64 phones that send 10,000
 * entries at the same time. A single body or answer always fits.
 */
export const byteLimits = {
  /** Bodies up to `smallSize` have their own pool, so that large bodies cannot keep them out. */
  small: { total: 16 * mebibyte, perCaller: mebibyte, perNetwork: 8 * mebibyte },
  smallSize: 128 * 1024,
  /** Larger bodies: `large` of authenticated callers, `strangers` of unauthenticated callers. */
  large: { total: 16 * mebibyte, perCaller: 12 * mebibyte, perNetwork: 0 },
  strangers: { total: 16 * mebibyte, perCaller: 0, perNetwork: 8 * mebibyte },
  answers: { total: 64 * mebibyte, perCaller: 16 * mebibyte, perNetwork: 16 * mebibyte },
  queue: 256, // large bodies that wait for room
  patience: 30_000, // ms in the queue after which a body is refused
};

export type ByteLimits = typeof byteLimits;

export const streamBytes = 256 * 1024; // bytes counted for a streamed answer: for pieces that are not sent yet
const smallAnswer = 16 * 1024; // bytes; smaller answers are not counted, since open calls are limited
const window = 5_000; // ms over which the speed of a body is measured
const slowBelow = 4 * 1024; // bytes per second; the speed below which a body is slow
const queueCheck = 1_000; // ms between searches for slow bodies, while other bodies wait for room

type Pool = 'small' | 'large' | 'strangers' | 'answers';

interface Holder extends Pick<BodyShare, 'expected' | 'isReceived'> {
  pool: Pool;
  owner: string;
  isStranger: boolean;
  bytes: number;
  born: number;
  /** Bytes by the time of their arrival, in steps of at least 0.5 s. */
  arrivals: { at: number; bytes: number }[];
  end(problem: Problem): void;
}

export interface BodyShare {
  readonly bytes: number;
  /** The size of the whole body, if announced. A large body starts only if all of it will fit. */
  expected: number;
  /** True when the whole body has arrived. The budget never ends such a body to make room. */
  isReceived: boolean;
  /** Rejects with a 503 `Problem` if this body is ended to make room for others. */
  readonly ended: Promise<never>;
  /**
   * Resolves when the call holds this many bytes in total. A body that becomes large may wait for
   * room. A body that is large already does not wait, since two large bodies could wait for each
   * other. Rejects with a 429 `Problem` if other bodies of the caller leave no room, and with a 503
   * `Problem` if the pool is full.
   */
  hold(bytes: number): Promise<void>;
  /** Counts the bytes for a caller. Throws a 429 `Problem` if their other bodies leave no room. */
  belongsTo(userId: string): void;
  /** Resolves when this large body may be processed. */
  slot(): Promise<void>;
  /** Releases all bytes and the slot. May be called repeatedly. */
  release(): void;
}

/** The budget of one process. `now`: a monotonic clock, ms. */
export class ByteBudget {
  readonly #limits: ByteLimits;
  readonly #now: () => number;
  readonly #holders = new Set<Holder>();
  #queue: { holder: Holder; bytes: number; start: () => void; refuse: (problem: Problem) => void }[] = [];
  readonly #slots: { holder: Holder; start: () => void }[] = [];

  constructor(limits: Partial<ByteLimits> = {}, now: () => number = () => performance.now()) {
    this.#limits = { ...byteLimits, ...limits };
    this.#now = now;
  }

  share(network: string | null = null): BodyShare {
    let end: (problem: Problem) => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = reject;
    });
    ended.catch(() => {}); // no unhandled rejection if the call does not await `ended`
    const holder: Holder & BodyShare = Object.assign(this.#holder('small', `network ${network}`, end), {
      ended,
      hold: (bytes: number) => this.#hold(holder, bytes),
      belongsTo: (userId: string) => this.#assign(holder, userId),
      slot: () =>
        new Promise<void>((start) => {
          if (this.#slots.push({ holder, start }) === 1) start();
        }),
      release: () => this.#release(holder),
    });
    return holder;
  }

  /**
   * Counts the bytes of an answer until the returned function is called. `caller` is null before
   * authentication. Calls `end` if this answer must end early, to make room for answers of callers
   * who hold fewer bytes. Throws a 429 `Problem` if earlier answers of the caller leave no room,
   * and a 503 `Problem` if the pool is full.
   */
  holdAnswer(caller: string | null, network: string | null, bytes: number, end: () => void): () => void {
    if (bytes <= smallAnswer) return () => {};
    const holder = this.#holder('answers', caller ?? `network ${network}`, end);
    holder.isStranger = caller === null;
    if (caller !== null && this.#lack(holder, 'answers', bytes) === 'part') {
      const most = this.#limits.answers.perCaller;
      const detail = `expected at most ${most} bytes of unread answers to one caller; read earlier answers or close their connections first`;
      throw tooManyCalls(detail, 5, { limit: 'unsent_bytes', most });
    }
    if (this.#makeRoom(holder, 'answers', bytes, true) !== null)
      throw unavailable('too many answers have not been read yet; try again later');
    this.#set(holder, 'answers', bytes);
    return () => this.#set(holder, 'answers', 0);
  }

  #holder(pool: Pool, owner: string, end: (problem: Problem) => void): Holder {
    const born = this.#now();
    return { pool, owner, isStranger: true, bytes: 0, expected: 0, isReceived: false, born, arrivals: [], end };
  }

  async #hold(holder: Holder, bytes: number): Promise<void> {
    this.#noteArrival(holder, bytes - holder.bytes);
    const pool = this.#poolOf(holder, bytes);
    const mayWait = pool === 'large' && holder.pool !== 'large';
    const lack = this.#makeRoom(holder, pool, bytes, mayWait);
    if (lack === 'part') throw this.#partIsFull(holder, pool);
    if (lack === null && !(mayWait && this.#queue.length > 0)) return this.#set(holder, pool, bytes);
    if (!mayWait) throw noRoom();
    await this.#wait(holder, bytes);
  }

  #assign(holder: Holder, userId: string): void {
    const { bytes } = holder;
    this.#set(holder, holder.pool, 0);
    Object.assign(holder, { owner: userId, isStranger: false });
    const pool = this.#poolOf(holder, bytes);
    const lack = this.#makeRoom(holder, pool, bytes, true);
    this.#set(holder, pool, bytes);
    if (lack === 'part') throw this.#partIsFull(holder, pool);
  }

  #release(holder: Holder): void {
    const place = this.#slots.findIndex((slot) => slot.holder === holder);
    if (place !== -1) this.#slots.splice(place, 1);
    if (place === 0) this.#slots[0]?.start();
    this.#set(holder, holder.pool, 0);
  }

  #set(holder: Holder, pool: Pool, bytes: number): void {
    const isLess = bytes < holder.bytes || pool !== holder.pool;
    Object.assign(holder, { pool, bytes });
    if (bytes > 0) this.#holders.add(holder);
    else this.#holders.delete(holder);
    if (isLess) this.#startWaiting();
  }

  #poolOf({ isStranger }: Holder, bytes: number): Pool {
    if (bytes <= this.#limits.smallSize) return 'small';
    return isStranger ? 'strangers' : 'large';
  }

  #noteArrival(holder: Holder, bytes: number): void {
    const at = this.#now();
    const last = holder.arrivals.at(-1);
    if (last !== undefined && at - last.at < window / 10) last.bytes += bytes;
    else holder.arrivals.push({ at, bytes });
    while (holder.arrivals[0]!.at < at - window) holder.arrivals.shift();
  }

  /** Returns bytes per second. An answer counts as infinitely fast for one `window`, then as slow. */
  #speed({ arrivals, born, pool }: Holder): number {
    const now = this.#now();
    if (pool === 'answers') return now - born < window ? Number.POSITIVE_INFINITY : 0;
    const recent = arrivals.reduce((sum, { at, bytes }) => (at >= now - window ? sum + bytes : sum), 0);
    return (recent * 1000) / Math.min(window, Math.max(now - born, 1000));
  }

  #isSlow = (holder: Holder): boolean => !holder.isReceived && this.#speed(holder) < slowBelow;

  // Returns the bytes that a holder takes from the budget: the bytes that have arrived, but the
  // announced size for a large body, so that every body that began can finish. While a large body is
  // slow, only its arrived bytes count.
  #weight(holder: Holder, bytes = holder.bytes, pool = holder.pool): number {
    return pool === 'large' && !this.#isSlow(holder) ? Math.max(bytes, holder.expected) : bytes;
  }

  /** Returns `part` if the owner of the holder would exceed its limit, `room` if the pool would. */
  #lack(holder: Holder, pool: Pool, bytes: number): 'part' | 'room' | null {
    const { total, perCaller, perNetwork } = this.#limits[pool];
    let [others, own] = [0, 0];
    for (const other of this.#holders) {
      if (other === holder || other.pool !== pool) continue;
      const weight = this.#weight(other);
      others += weight;
      if (other.owner === holder.owner) own += weight;
    }
    const weight = this.#weight(holder, bytes, pool);
    for (const waiting of pool === 'large' ? this.#queue : [])
      if (waiting.holder !== holder && waiting.holder.owner === holder.owner) own += waiting.bytes;
    if (own > 0 && own + weight > (holder.isStranger ? perNetwork : perCaller)) return 'part';
    return others > 0 && others + weight > total ? 'room' : null;
  }

  // Ends bodies until there is room: each time the slowest body of the owner with the most bytes.
  // Returns the limit still exceeded. `slowOnly`: only below `slowBelow`, so callers can wait.
  #makeRoom(holder: Holder, pool: Pool, bytes: number, slowOnly = false): 'part' | 'room' | null {
    for (;;) {
      const lack = this.#lack(holder, pool, bytes);
      if (lack === null) return null;
      const victim = this.#slowest(pool, lack === 'part' ? holder.owner : this.#largestOwner(pool));
      if (victim === undefined || victim === holder) return lack;
      if ((slowOnly || (lack === 'part' && !holder.isStranger)) && !this.#isSlow(victim)) return lack;
      this.#release(victim);
      victim.end(unavailable('this body arrived too slowly while others waited; nothing was stored, send it again'));
    }
  }

  #in(pool: Pool): Holder[] {
    return [...this.#holders].filter((holder) => holder.pool === pool);
  }

  /** Returns the owner with the most bytes in a pool, of the owners with a body that may be ended. */
  #largestOwner(pool: Pool): string | undefined {
    const holders = this.#in(pool);
    const sums = sumsByOwner(holders);
    const open = holders.filter(({ isReceived }) => !isReceived);
    return open.sort((a, b) => sums.get(b.owner)! - sums.get(a.owner)!)[0]?.owner;
  }

  /** Returns the slowest body of an owner that has not fully arrived. */
  #slowest(pool: Pool, owner: string | undefined): Holder | undefined {
    const open = this.#in(pool).filter((one) => one.owner === owner && !one.isReceived);
    const speeds = new Map(open.map((holder) => [holder, this.#speed(holder)]));
    const slow = open.filter((holder) => speeds.get(holder)! < Number.POSITIVE_INFINITY);
    return slow.sort((a, b) => speeds.get(a)! - speeds.get(b)!)[0];
  }

  /** Waits in the queue. The bytes do not count meanwhile: the length of the queue limits them. */
  async #wait(holder: Holder, bytes: number): Promise<void> {
    this.#set(holder, holder.pool, 0);
    const check = setInterval(() => this.#startWaiting(), queueCheck);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((start, refuse) => {
        timer = setTimeout(() => refuse(noRoom()), this.#limits.patience);
        this.#queue.push({ holder, bytes: Math.max(bytes, holder.expected), start, refuse });
        if (this.#queue.length > this.#limits.queue) this.#shortenQueue();
      });
    } finally {
      clearInterval(check);
      clearTimeout(timer);
      this.#queue = this.#queue.filter((waiting) => waiting.holder !== holder);
      this.#startWaiting();
    }
    this.#set(holder, 'large', bytes);
  }

  /** Refuses the newest body of the owner with the most bodies in the queue. */
  #shortenQueue(): void {
    const counts = sumsByOwner(this.#queue.map(({ holder: { owner } }) => ({ owner, bytes: 1 })));
    const most = Math.max(...counts.values());
    this.#queue.findLast(({ holder }) => counts.get(holder.owner) === most)!.refuse(noRoom());
  }

  /** Starts waiting bodies while there is room, first those whose owner holds the fewest bytes. */
  #startWaiting(): void {
    while (this.#queue.length > 0) {
      const sums = sumsByOwner(this.#in('large'));
      const held = ({ holder }: { holder: Holder }): number => sums.get(holder.owner) ?? 0;
      const next = this.#queue.reduce((a, b) => (held(b) < held(a) ? b : a));
      const { holder, bytes } = next;
      if (this.#makeRoom(holder, 'large', bytes, true) !== null || !this.#queue.includes(next)) return;
      this.#queue = this.#queue.filter((waiting) => waiting !== next);
      // The body was not read while it waited, so its speed is measured from now on.
      Object.assign(holder, { born: this.#now(), arrivals: [{ at: this.#now(), bytes: holder.expected }] });
      this.#set(holder, 'large', 1);
      next.start();
    }
  }

  #partIsFull(holder: Holder, pool: Pool): Problem {
    if (holder.isStranger) return noRoom();
    const detail = 'other calls of this caller use all bytes that one caller may send at once; wait until they end';
    return tooManyCalls(detail, 5, { limit: 'waiting_bytes', most: this.#limits[pool].perCaller });
  }
}

function sumsByOwner(parts: readonly Pick<Holder, 'owner' | 'bytes'>[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { owner, bytes } of parts) sums.set(owner, (sums.get(owner) ?? 0) + bytes);
  return sums;
}

const noRoom = (): Problem =>
  unavailable('too many bodies are waiting on this server; nothing was stored by this call, send it again later');
