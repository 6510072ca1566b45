// Limits the bytes of request bodies that a process holds: in all, of each caller, and of senders that are not
// authenticated yet. Large bodies wait in a queue for room, and are processed one at a time.
import { type Problem, tooManyCalls, unavailable } from './problem.ts';

/** The limits of a process, in bytes. A body always fits if no other counts towards the limit. */
export interface BodyLimits {
  /** Of all large bodies of callers. */
  total: number;
  /** Of the large bodies of one caller. */
  perCaller: number;
  /** Of all large bodies of senders that are not authenticated yet. */
  strangers: number;
  /** Bodies up to `size` have a room of their own, so that large ones never keep them out. */
  small: { size: number; room: number };
  /** Large bodies in the queue. */
  queue: number;
  /** ms in the queue after which a body is refused. */
  patience: number;
}

const mebibyte = 1024 * 1024;

/** Of a process: with 32 MiB, some 150 MiB of memory are enough for 64 phones that send 10,000 entries at once. */
export const bodyLimits: BodyLimits = {
  total: 16 * mebibyte,
  perCaller: 12 * mebibyte,
  strangers: 16 * mebibyte,
  small: { size: 128 * 1024, room: 16 * mebibyte },
  queue: 256,
  patience: 30_000,
};

// ms for which a body may be on its way before it is ended, if another one needs its room.
const strangersTime = 2_000; // an ordinary call arrives in one piece
const callersTime = 30_000;
const queueCheck = 1_000; // ms between two checks whether a slow body makes room

/** The bytes that one call holds. */
export interface BodyShare {
  readonly bytes: number;
  /** UUID of the caller; null before the sender is authenticated. */
  readonly owner: string | null;
  /** Set once all of the body has come: from then on it is not ended. */
  isReceived: boolean;
  /** Rejects with a 503 `Problem` if this body is ended for the sake of others. */
  readonly ended: Promise<never>;
  /**
   * Resolves when the call holds so many bytes in all. The small body of a caller that becomes a large one may wait for
   * its room; a large one that grows never waits, so bodies cannot wait for each other. Rejects with a 429 `Problem` if
   * other bodies of the caller leave no room, and with a 503 one if there is none.
   */
  hold(bytes: number): Promise<void>;
  /** Counts the bytes as those of a caller. Throws a 429 `Problem` if other bodies of the caller leave no room. */
  belongsTo(userId: string): void;
  /** Resolves when this large body may be processed, until it is released. */
  turn(): Promise<void>;
  /** Gives back all bytes, and the turn. Can be repeated. */
  release(): void;
}

/** Bodies of at most `small.size` bytes, larger ones of senders not yet authenticated, and larger ones of callers. */
type Pool = 'small' | 'strangers' | 'large';

/** `born` in ms. */
type Share = { -readonly [Name in keyof BodyShare]: BodyShare[Name] } & { born: number; end(problem: Problem): void };

type Waiting = { share: Share; bytes: number; start: () => void };

/** The budget of one process. `now`: a steady clock, ms. */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #now: () => number;
  readonly #held: Record<Pool, number> = { small: 0, strangers: 0, large: 0 };
  /** Those that hold bytes, the oldest first. */
  readonly #shares = new Set<Share>();
  #queue: Waiting[] = [];
  readonly #turns: { share: Share; start: () => void }[] = [];

  constructor(limits: BodyLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** A share for a new call. */
  share(): BodyShare {
    let end: (problem: Problem) => void = () => {};
    const ended = new Promise<never>((_, reject) => {
      end = reject;
    });
    ended.catch(() => {}); // nobody may listen
    const share: Share = {
      ...{ bytes: 0, owner: null, isReceived: false, born: this.#now(), ended, end },
      hold: (bytes) => this.#hold(share, bytes),
      belongsTo: (userId) => this.#assign(share, userId),
      turn: () =>
        new Promise((start) => {
          if (this.#turns.push({ share, start }) === 1) start();
        }),
      release: () => this.#release(share),
    };
    return share;
  }

  async #hold(share: Share, bytes: number): Promise<void> {
    if (bytes <= share.bytes) return this.#set(share, bytes);
    const mayWait = this.#pool(share, bytes) === 'large' && this.#pool(share) !== 'large';
    this.#makeRoom(share, bytes);
    const lack = this.#lack(share, bytes);
    if (lack === 'part') throw this.#partIsFull();
    if (lack === null && !(mayWait && this.#queue.length > 0)) return this.#set(share, bytes);
    if (!mayWait || this.#queue.length >= this.#limits.queue) throw noRoom();
    await this.#wait(share, bytes);
  }

  #assign(share: Share, userId: string): void {
    const { bytes } = share;
    this.#set(share, 0);
    share.owner = userId;
    const lack = this.#lack(share, bytes);
    this.#set(share, bytes);
    if (lack === 'part') throw this.#partIsFull();
  }

  #release(share: Share): void {
    const place = this.#turns.findIndex((turn) => turn.share === share);
    if (place !== -1) this.#turns.splice(place, 1);
    if (place === 0) this.#turns[0]?.start();
    this.#set(share, 0);
  }

  #set(share: Share, bytes: number): void {
    const isLess = bytes < share.bytes;
    this.#held[this.#pool(share)] -= share.bytes;
    share.bytes = bytes;
    this.#held[this.#pool(share)] += bytes;
    if (bytes > 0) this.#shares.add(share);
    else this.#shares.delete(share);
    if (isLess) this.#startWaiting();
  }

  #pool({ bytes: held, owner }: Share, bytes = held): Pool {
    if (bytes <= this.#limits.small.size) return 'small';
    return owner === null ? 'strangers' : 'large';
  }

  /** What keeps the share from holding so many bytes: the part of its caller, or the room of all. */
  #lack(share: Share, bytes: number): 'part' | 'room' | null {
    const { total, perCaller, strangers, small } = this.#limits;
    const pool = this.#pool(share, bytes);
    const fits = (others: number, limit: number): boolean => others === 0 || others + bytes <= limit;
    if (pool === 'large' && !fits(this.#othersOf(share), perCaller)) return 'part';
    const others = this.#held[pool] - (this.#pool(share) === pool ? share.bytes : 0);
    return fits(others, { large: total, strangers, small: small.room }[pool]) ? null : 'room';
  }

  /** Bytes of the other large bodies of the same caller, those in the queue included. */
  #othersOf(share: Share): number {
    const isOther = (other: Share): boolean => other !== share && other.owner === share.owner;
    let sum = 0;
    for (const other of this.#shares) if (isOther(other) && this.#pool(other) === 'large') sum += other.bytes;
    for (const waiting of this.#queue) if (isOther(waiting.share)) sum += waiting.bytes;
    return sum;
  }

  /** Ends bodies that have been on their way for too long, the oldest first, until there is room. */
  #makeRoom(share: Share, bytes: number): void {
    const pool = this.#pool(share, bytes);
    for (const other of this.#shares) {
      const lack = this.#lack(share, bytes);
      if (lack === null) return;
      const age = this.#now() - other.born;
      const isSlow = !other.isReceived && age >= (other.owner === null ? strangersTime : callersTime);
      const isInTheWay = this.#pool(other) === pool && (lack === 'room' || other.owner === share.owner);
      if (other === share || !isSlow || !isInTheWay) continue;
      this.#release(other);
      other.end(unavailable('this body came too slowly while others waited; nothing was stored, send it again'));
    }
  }

  /** Waits in the queue. What came of the body so far is not counted: the length of the queue limits it. */
  async #wait(share: Share, bytes: number): Promise<void> {
    this.#set(share, 0);
    const check = setInterval(() => this.#startWaiting(), queueCheck);
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((start, refuse) => {
        timer = setTimeout(() => refuse(noRoom()), this.#limits.patience);
        this.#queue.push({ share, bytes, start });
      });
    } finally {
      clearInterval(check);
      clearTimeout(timer);
      this.#queue = this.#queue.filter((waiting) => waiting.share !== share);
      this.#startWaiting();
    }
  }

  /** Lets the first bodies of the queue start, as far as there is room. */
  #startWaiting(): void {
    const [first] = this.#queue;
    if (first === undefined) return;
    this.#makeRoom(first.share, first.bytes);
    if (this.#queue[0] !== first || this.#lack(first.share, first.bytes) !== null) return;
    this.#queue.shift();
    this.#set(first.share, first.bytes);
    first.start();
    this.#startWaiting();
  }

  #partIsFull(): Problem {
    return tooManyCalls('other calls of yours hold all that one caller may have waiting; end those first', 5, {
      limit: 'waiting_bytes',
      most: this.#limits.perCaller,
    });
  }
}

const noRoom = (): Problem =>
  unavailable('too many bodies wait on this server; nothing was stored by this call, send it again later');
