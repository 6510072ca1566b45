// Lets people import in turns: a process imports one file at a time, for up to several minutes.
//
//     ada imports   ben, cal ask: refused   ada ends, asks again: refused   ben asks: imports

const askedFor = 600; // s after which the request of a refused person is forgotten
const rememberedFor = 3_600; // s after which an import is forgotten

/** The waiting people and recent imports of one process. `now` is in seconds since the epoch. */
export class ImportTurns {
  readonly #now: () => number;
  readonly #asked = new Map<string, number>();
  readonly #ended = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** False if another person was refused whose last import is older than the last import of this person. */
  isTurnOf(uuid: string): boolean {
    forget(this.#asked, this.#now() - askedFor);
    forget(this.#ended, this.#now() - rememberedFor);
    const last = (one: string): number => this.#ended.get(one) ?? 0;
    return [...this.#asked.keys()].every((other) => last(other) >= last(uuid));
  }

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

function forget(times: Map<string, number>, before: number): void {
  for (const [uuid, ts] of times) if (ts < before) times.delete(uuid);
}
