// Limits the bytes of bodies and answers that a process holds: in all, and of each owner. An owner is a caller, or the
// network of callers who are not authenticated yet. A byte counts when it has arrived, never before.
//
//     small pool, 16 MiB        ada: 1 MiB        eve: 9 MiB in 72 bodies, 6 MiB of strangers
//     bob sends 2 KiB           full: the slowest body of eve ends with 503, and bob is served
import { type Problem, tooManyCalls, unavailable } from './problem.ts';

/** Limits of a pool, in bytes. One body or answer alone always fits. */
export interface PoolLimits {
  total: number;
  /** Of one caller. */
  perCaller: number;
  /** Of all callers of one network who are not authenticated. */
  perNetwork: number;
}

/** The limits of a process. */
export interface ByteLimits {
  /** Bodies up to `smallSize`, so that large ones never keep them out. */
  small: PoolLimits;
  smallSize: number;
  /** Larger bodies of callers. */
  large: PoolLimits;
  /** Larger bodies of senders that are not authenticated yet. */
  strangers: PoolLimits;
  /** Answers that are not sent yet. */
  answers: PoolLimits;
  /** Large bodies that wait for room. */
  queue: number;
  /** ms in the queue after which a body is refused. */
  patience: number;
}

const mebibyte = 1024 * 1024;

/** Of a process: with these, some 150 MiB of memory are enough for 64 phones that send 10,000 entries at once. */
export const byteLimits: ByteLimits = {
  small: { total: 16 * mebibyte, perCaller: mebibyte, perNetwork: 8 * mebibyte },
  smallSize: 128 * 1024,
  large: { total: 16 * mebibyte, perCaller: 12 * mebibyte, perNetwork: 0 },
  strangers: { total: 16 * mebibyte, perCaller: 0, perNetwork: 8 * mebibyte },
  answers: { total: 64 * mebibyte, perCaller: 16 * mebibyte, perNetwork: 16 * mebibyte },
  queue: 256,
  patience: 30_000,
};

/** What a streamed answer counts as: the pieces that wait in the process. */
export const streamBytes = 256 * 1024;

const smallAnswer = 16 * 1024; // bytes of an answer that is not counted: open calls and connections are limited
const window = 5_000; // ms over which the speed of a body is measured
const slowBelow = 4 * 1024; // bytes a second
const queueCheck = 1_000; // ms between two checks whether a slow body makes room

type Pool = 'small' | 'large' | 'strangers' | 'answers';

/** The bytes that one call or answer holds. */
interface Holder {
  pool: Pool;
  owner: string;
  isStranger: boolean;
  bytes: number;
  /** Bytes of the whole body, if it was announced. A large body begins only if it will fit. */
  expected: number;
  /** True once all of it has come: from then on it is not ended. */
  isReceived: boolean;
  born: number;
  /** Bytes by the time of their arrival, in steps of at least 0.5 s. */
  arrivals: { at: number; bytes: number }[];
  end(problem: Problem): void;
}

/** The bytes of the body of one call. */
export interface BodyShare {
  readonly bytes: number;
  expected: number;
  isReceived: boolean;
  /** Rejects with a 503 `Problem` if this body is ended to make room for others. */
  readonly ended: Promise<never>;
  /**
   * Resolves when the call holds so many bytes in all. A body that becomes a large one may wait for room; a large one
   * that grows never waits, so bodies cannot wait for each other. Rejects with a 429 `Problem` if other bodies of the
   * caller leave no room, and with a 503 one if there is none.
   */
  hold(bytes: number): Promise<void>;
  /**
   * From now on the bytes count for this caller. Throws a 429 `Problem` if other bodies of the caller leave no room.
   */
  belongsTo(userId: string): void;
  /** Resolves when this large body may be processed, until it is released. */
  slot(): Promise<void>;
  /** Releases all bytes, and the slot for processing. Can be repeated. */
  release(): void;
}

/** The budget of one process. `now`: a steady clock, ms. */
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

  /** A share for the body of a new call from a network; null: the network is not known. */
  share(network: string | null = null): BodyShare {
    let end: (problem: Problem) => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = reject;
    });
    ended.catch(() => {}); // a call may end without listening
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
   * Counts an answer until the returned function is called. `caller`: UUID; null before they are authenticated. Calls
   * `end` if others need its room and the owner holds most. Throws a 429 `Problem` if other answers of the caller leave
   * no room, and a 503 one if there is none.
   */
  holdAnswer(caller: string | null, network: string | null, bytes: number, end: () => void): () => void {
    if (bytes <= smallAnswer) return () => {};
    const holder = this.#holder('answers', caller ?? `network ${network}`, end);
    holder.isStranger = caller === null;
    if (caller !== null && this.#lack(holder, 'answers', bytes) === 'part') {
      const most = this.#limits.answers.perCaller;
      const detail = `expected at most ${most} bytes of your answers to wait until you read them; read or end those first`;
      throw tooManyCalls(detail, 5, { limit: 'unsent_bytes', most });
    }
    if (this.#makeRoom(holder, 'answers', bytes, true) !== null)
      throw unavailable('too many answers wait until they are read; ask again later');
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

  // ---------------------------------------------------------------- speed

  #noteArrival(holder: Holder, bytes: number): void {
    const at = this.#now();
    const last = holder.arrivals.at(-1);
    if (last !== undefined && at - last.at < window / 10) last.bytes += bytes;
    else holder.arrivals.push({ at, bytes });
    while (holder.arrivals[0]!.at < at - window) holder.arrivals.shift();
  }

  /** Bytes a second over the last 5 s, or over the life of a younger body. An answer is slow after 5 s. */
  #speed({ arrivals, born, pool }: Holder): number {
    const now = this.#now();
    if (pool === 'answers') return now - born < window ? Number.POSITIVE_INFINITY : 0;
    const recent = arrivals.reduce((sum, { at, bytes }) => (at >= now - window ? sum + bytes : sum), 0);
    return (recent * 1000) / Math.min(window, Math.max(now - born, 1000));
  }

  #isSlow = (holder: Holder): boolean => !holder.isReceived && this.#speed(holder) < slowBelow;

  /** A large body on its way counts as a whole, so that those that have begun can end; a slow one counts as it came. */
  #weight(holder: Holder, bytes = holder.bytes, pool = holder.pool): number {
    return pool === 'large' && !this.#isSlow(holder) ? Math.max(bytes, holder.expected) : bytes;
  }

  // ---------------------------------------------------------------- room

  /** What keeps a holder from having so many bytes: the part of its owner, or the room of all. */
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
    if (pool === 'large')
      for (const waiting of this.#queue)
        if (waiting.holder !== holder && waiting.holder.owner === holder.owner) own += waiting.bytes;
    if (own > 0 && own + weight > (holder.isStranger ? perNetwork : perCaller)) return 'part';
    return others > 0 && others + weight > total ? 'room' : null;
  }

  /**
   * Ends bodies until there is room: the slowest one of the owner who holds most. Returns what is still lacking.
   * `slowOnly`: ends none that comes at 4 KiB/s or more, because the caller can wait.
   */
  #makeRoom(holder: Holder, pool: Pool, bytes: number, slowOnly = false): 'part' | 'room' | null {
    for (;;) {
      const lack = this.#lack(holder, pool, bytes);
      if (lack === null) return null;
      const victim = this.#slowest(pool, lack === 'part' ? holder.owner : this.#largestOwner(pool));
      if (victim === null || victim === holder) return lack;
      if ((slowOnly || (lack === 'part' && !holder.isStranger)) && !this.#isSlow(victim)) return lack;
      this.#release(victim);
      victim.end(unavailable('this body came too slowly while others waited; nothing was stored, send it again'));
    }
  }

  /** The owner with most bytes in a pool among those with a body that can be ended; undefined if there is none. */
  #largestOwner(pool: Pool): string | undefined {
    const sums = new Map<string, number>();
    const open = new Set<string>();
    for (const { pool: where, owner, bytes, isReceived } of this.#holders) {
      if (where !== pool) continue;
      sums.set(owner, (sums.get(owner) ?? 0) + bytes);
      if (!isReceived) open.add(owner);
    }
    return [...open].sort((a, b) => sums.get(b)! - sums.get(a)!)[0];
  }

  /** The slowest, of equally slow ones the oldest; null if all bodies of the owner have come. */
  #slowest(pool: Pool, owner: string | undefined): Holder | null {
    let [slowest, least]: [Holder | null, number] = [null, Number.POSITIVE_INFINITY];
    for (const other of this.#holders) {
      if (other.pool !== pool || other.owner !== owner || other.isReceived) continue;
      const speed = this.#speed(other);
      if (speed < least) [slowest, least] = [other, speed];
    }
    return slowest;
  }

  // ---------------------------------------------------------------- queue

  /** Waits in the queue. What came of the body so far is not counted: the length of the queue limits it. */
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

  /** Refuses the newest body of the owner with most bodies in the queue. */
  #shortenQueue(): void {
    const counts = new Map<string, number>();
    for (const { holder } of this.#queue) counts.set(holder.owner, (counts.get(holder.owner) ?? 0) + 1);
    const most = Math.max(...counts.values());
    this.#queue.findLast(({ holder }) => counts.get(holder.owner) === most)!.refuse(noRoom());
  }

  /** Lets bodies of the queue start as far as there is room, first for owners who hold least. */
  #startWaiting(): void {
    const held = ({ holder: { owner } }: { holder: Holder }): number =>
      [...this.#holders].reduce((sum, one) => sum + (one.pool === 'large' && one.owner === owner ? one.bytes : 0), 0);
    while (this.#queue.length > 0) {
      const next = this.#queue.reduce((a, b) => (held(b) < held(a) ? b : a));
      const { holder, bytes } = next;
      if (this.#makeRoom(holder, 'large', bytes, true) !== null || !this.#queue.includes(next)) return;
      this.#queue = this.#queue.filter((waiting) => waiting !== next);
      // It was not read while it waited: its speed counts from now on.
      Object.assign(holder, { born: this.#now(), arrivals: [{ at: this.#now(), bytes: holder.expected }] });
      this.#set(holder, 'large', 1);
      next.start();
    }
  }

  #partIsFull(holder: Holder, pool: Pool): Problem {
    if (holder.isStranger) return noRoom();
    return tooManyCalls('other calls of yours hold all that one caller may have waiting; end those first', 5, {
      limit: 'waiting_bytes',
      most: this.#limits[pool].perCaller,
    });
  }
}

const noRoom = (): Problem =>
  unavailable('too many bodies wait on this server; nothing was stored by this call, send it again later');
