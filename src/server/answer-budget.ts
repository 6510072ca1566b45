// Limits the bytes of answers that a process has made and not sent: in all, and of each caller.
import { tooManyCalls, unavailable } from './problem.ts';

/** The limits of a process, in bytes. An answer always fits if no other counts towards the limit. */
export interface AnswerLimits {
  /** Of all answers. */
  total: number;
  /** Of the answers of one caller; of all callers who are not authenticated together. */
  perCaller: number;
}

const mebibyte = 1024 * 1024;

/** Of a process: a phone fetches a MiB, a script some at a time. */
export const answerLimits: AnswerLimits = { total: 64 * mebibyte, perCaller: 16 * mebibyte };

/** What a streamed answer counts as: the pieces that wait in the process. */
export const streamBytes = 256 * 1024;

const smallAnswer = 16 * 1024; // bytes of an answer that is not counted: open calls and connections are limited
const slowAfter = 30_000; // ms after which an answer is ended, if another one needs its room

/** An answer that is not sent. `end` cuts it off; `since` in ms. */
interface Unsent {
  owner: string | null;
  bytes: number;
  since: number;
  end: () => void;
}

/** The budget of one process. */
export class AnswerBudget {
  readonly #limits: AnswerLimits;
  /** The oldest first. */
  readonly #unsent = new Set<Unsent>();

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
  }

  /**
   * Counts an answer until the returned function is called. `owner`: UUID of the caller; null before they are
   * authenticated. Calls `end` if the answer is sent slowly while others need its room. Throws a 429 `Problem` if other
   * answers of the caller leave no room, and a 503 one if those of all do.
   */
  hold(owner: string | null, bytes: number, end: () => void): () => void {
    if (bytes <= smallAnswer) return () => {};
    const answer = { owner, bytes, since: performance.now(), end };
    this.#makeRoom(answer);
    const { perCaller: most } = this.#limits;
    if (owner !== null && this.#isFull(answer, owner)) {
      const detail = `expected at most ${most} bytes of your answers to wait until you read them; read or end those first`;
      throw tooManyCalls(detail, 5, { limit: 'unsent_bytes', most });
    }
    if (this.#lacksRoom(answer)) throw unavailable('too many answers wait until they are read; ask again later');
    this.#unsent.add(answer);
    return () => void this.#unsent.delete(answer);
  }

  #makeRoom(answer: Unsent): void {
    for (const other of this.#unsent) {
      if (!this.#lacksRoom(answer) || answer.since - other.since < slowAfter) return;
      this.#unsent.delete(other);
      other.end();
    }
  }

  #lacksRoom(answer: Unsent): boolean {
    return this.#isFull(answer) || this.#isFull(answer, answer.owner);
  }

  /** True if the answers of all, or of one owner, leave no room for this one. */
  #isFull({ bytes }: Unsent, owner?: string | null): boolean {
    const { total, perCaller } = this.#limits;
    let others = 0;
    for (const other of this.#unsent) if (owner === undefined || other.owner === owner) others += other.bytes;
    return others > 0 && others + bytes > (owner === undefined ? total : perCaller);
  }
}
