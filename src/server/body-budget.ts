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
export class BodyShare {
  readonly #budget: BodyBudget;
  readonly born: number;
  bytes = 0;
  /** True once all of the body has come: from then on it is not ended. */
  isReceived = false;
  /** UUID of the caller; null before the sender is authenticated. */
  owner: string | null = null;
  /** Rejects with a 503 `Problem` if this body is ended for the sake of others. */
  readonly ended: Promise<never>;
  readonly end: (problem: Problem) => void;

  constructor(budget: BodyBudget, now: number) {
    this.#budget = budget;
    this.born = now;
    let end: (problem: Problem) => void = () => {};
    this.ended = new Promise((_, reject) => {
      end = reject;
    });
    this.ended.catch(() => {}); // nobody may listen
    this.end = end;
  }

  /**
   * Resolves when the call holds so many bytes in all. The small body of a caller that becomes a large one may wait for
   * its room; a large one that grows never waits, so bodies cannot wait for each other. Rejects with a 429 `Problem` if other
   * bodies of the caller leave no room, and with a 503 one if there is none.
   */
  hold(bytes: number): Promise<void> {
    return this.#budget.hold(this, bytes);
  }

  /** Counts the bytes as those of a caller. Throws a 429 `Problem` if other bodies of the caller leave no room. */
  belongsTo(userId: string): void {
    this.#budget.assign(this, userId);
  }

  /** Resolves when this large body may be processed, until it is released. */
  turn(): Promise<void> {
    return this.#budget.turn(this);
  }

  /** Gives back all bytes, and the turn. Can be repeated. */
  release(): void {
    this.#budget.release(this);
  }
}

/** Bodies of at most `small.size` bytes, larger ones of senders not yet authenticated, and larger ones of callers. */
type Pool = 'small' | 'strangers' | 'large';

interface Waiting {
  share: BodyShare;
  bytes: number;
  leave: (problem: Problem | null) => void;
}

/** The budget of one process. `now`: a steady clock, ms. */
export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #now: () => number;
  readonly #held: Record<Pool, number> = { small: 0, strangers: 0, large: 0 };
  /** Bytes of large bodies of each caller, those in the queue included. */
  readonly #byCaller = new Map<string, number>();
  /** Shares that hold bytes, the oldest first. */
  readonly #shares = new Set<BodyShare>();
  readonly #queue: Waiting[] = [];
  readonly #turns: { share: BodyShare; start: () => void }[] = [];
  #check: NodeJS.Timeout | undefined;

  constructor(limits: BodyLimits, now: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#now = now;
  }

  /** A share for a new call. */
  share(): BodyShare {
    return new BodyShare(this, this.#now());
  }

  /** See `BodyShare.hold`. */
  async hold(share: BodyShare, bytes: number): Promise<void> {
    if (bytes <= share.bytes) return this.#set(share, bytes);
    const isNewlyLarge = this.#pool(share, bytes) === 'large' && this.#pool(share) !== 'large';
    this.#makeRoom(share, bytes);
    const lack = this.#lack(share, bytes);
    if (lack === 'part') throw this.#partIsFull();
    if (lack === null && !(isNewlyLarge && this.#queue.length > 0)) return this.#set(share, bytes);
    if (!isNewlyLarge || this.#queue.length >= this.#limits.queue) throw noRoom();
    await this.#wait(share, bytes);
  }

  /** See `BodyShare.belongsTo`. */
  assign(share: BodyShare, userId: string): void {
    const { bytes } = share;
    this.#set(share, 0);
    share.owner = userId;
    const isTooMuch = this.#lack(share, bytes) === 'part';
    this.#set(share, bytes);
    if (isTooMuch) throw this.#partIsFull();
  }

  /** See `BodyShare.turn`. */
  turn(share: BodyShare): Promise<void> {
    return new Promise((start) => {
      if (this.#turns.push({ share, start }) === 1) start();
    });
  }

  /** See `BodyShare.release`. */
  release(share: BodyShare): void {
    const place = this.#turns.findIndex((turn) => turn.share === share);
    if (place !== -1) this.#turns.splice(place, 1);
    if (place === 0) this.#turns[0]?.start();
    this.#set(share, 0);
  }

  #pool(share: BodyShare, bytes = share.bytes): Pool {
    if (bytes <= this.#limits.small.size) return 'small';
    return share.owner === null ? 'strangers' : 'large';
  }

  /** What keeps the share from holding so many bytes: the part of its caller, or the room of all. */
  #lack(share: BodyShare, bytes: number): 'part' | 'room' | null {
    const { total, perCaller, strangers, small } = this.#limits;
    const pool = this.#pool(share, bytes);
    const own = this.#pool(share) === pool ? share.bytes : 0;
    const fits = (held: number, limit: number): boolean => held <= own || held - own + bytes <= limit;
    if (pool === 'large' && !fits(this.#byCaller.get(share.owner!) ?? 0, perCaller)) return 'part';
    const room = { large: total, strangers, small: small.room }[pool];
    return fits(this.#held[pool], room) ? null : 'room';
  }

  /** Ends bodies that have been on their way for too long, the oldest first, until there is room. */
  #makeRoom(share: BodyShare, bytes: number): void {
    const pool = this.#pool(share, bytes);
    for (const other of this.#shares) {
      const lack = this.#lack(share, bytes);
      if (lack === null) return;
      const age = this.#now() - other.born;
      const isSlow = !other.isReceived && age >= (other.owner === null ? strangersTime : callersTime);
      const isInTheWay = this.#pool(other) === pool && (lack === 'room' || other.owner === share.owner);
      if (other === share || !isSlow || !isInTheWay) continue;
      this.release(other);
      other.end(unavailable('this body came too slowly while others waited; nothing was stored, send it again'));
    }
  }

  /** Waits in the queue. What came of the body so far is not counted: the length of the queue limits it. */
  async #wait(share: BodyShare, bytes: number): Promise<void> {
    this.#set(share, 0);
    this.#count(share.owner!, bytes);
    this.#check ??= setInterval(() => this.#startWaiting(), queueCheck);
    const problem = await new Promise<Problem | null>((resolve) => {
      const place: Waiting = { share, bytes, leave: resolve };
      const timer = setTimeout(() => place.leave(noRoom()), this.#limits.patience);
      place.leave = (reason) => {
        clearTimeout(timer);
        this.#queue.splice(this.#queue.indexOf(place), 1);
        this.#count(share.owner!, -bytes);
        if (reason === null) this.#set(share, bytes);
        resolve(reason);
        this.#startWaiting();
      };
      this.#queue.push(place);
    });
    if (problem !== null) throw problem;
  }

  /** Lets the first bodies of the queue start, as far as there is room. */
  #startWaiting(): void {
    const [first] = this.#queue;
    if (first === undefined) {
      clearInterval(this.#check);
      this.#check = undefined;
      return;
    }
    const hasRoom = (): boolean => this.#held.large === 0 || this.#held.large + first.bytes <= this.#limits.total;
    if (!hasRoom()) this.#makeRoom(first.share, first.bytes);
    if (this.#queue[0] === first && hasRoom()) first.leave(null);
  }

  #set(share: BodyShare, bytes: number): void {
    const { bytes: before, owner } = share;
    for (const [sign, some] of [
      [-1, before],
      [1, bytes],
    ] as const) {
      const pool = this.#pool(share, some);
      this.#held[pool] += sign * some;
      if (pool === 'large') this.#count(owner!, sign * some);
    }
    share.bytes = bytes;
    if (bytes === 0) this.#shares.delete(share);
    else if (before === 0) this.#shares.add(share);
    if (bytes < before) this.#startWaiting();
  }

  #count(userId: string, bytes: number): void {
    const held = (this.#byCaller.get(userId) ?? 0) + bytes;
    if (held === 0) this.#byCaller.delete(userId);
    else this.#byCaller.set(userId, held);
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
