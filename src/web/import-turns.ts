// Turns of people who import files: the server reads one file at a time, which may take minutes.
//
//     ada imports    ben asks, cal asks: busy    ada ends, asks again: busy    ben asks: imports    cal, ada: busy

const askedFor = 600; // s for which a person who was refused comes before people who imported more recently
const rememberedFor = 3_600; // s after which an import no longer puts a person behind others

/** The turns in one process. */
export class ImportTurns {
  readonly #now: () => number;
  /** When people who wait for their turn asked last, and when the imports of people ended, by UUID. */
  readonly #asked = new Map<string, number>();
  readonly #ended = new Map<string, number>();

  /** `now`: seconds since the epoch. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** False if another person waits whose last import is longer ago. */
  isTurnOf(uuid: string): boolean {
    forget(this.#asked, this.#now() - askedFor);
    forget(this.#ended, this.#now() - rememberedFor);
    const last = (one: string): number => this.#ended.get(one) ?? 0;
    return [...this.#asked.keys()].every((other) => last(other) >= last(uuid));
  }

  /** Notes that the person has to wait. */
  refused(uuid: string): void {
    this.#asked.set(uuid, this.#now());
  }

  began(uuid: string): void {
    this.#asked.delete(uuid);
  }

  ended(uuid: string): void {
    this.#ended.set(uuid, this.#now());
  }
}

/** Removes what happened before a time. */
function forget(times: Map<string, number>, before: number): void {
  for (const [uuid, ts] of times) if (ts < before) times.delete(uuid);
}
