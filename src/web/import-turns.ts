// Lets people import in turns: a process imports one file at a time, and an import takes up to several minutes.
//
//     ada imports    ben, cal ask: refused    ada ends, asks again: refused    ben asks: imports    cal, ada: refused

const askedFor = 600; // seconds for which a refused person comes before people who imported more recently
const rememberedFor = 3_600; // seconds after which an import is forgotten

/** Waiting people and recent imports of one process. `now`: seconds since the epoch. */
export class ImportTurns {
  readonly #now: () => number;
  /** By UUID: when a refused person last asked, and when a person's last import ended. Seconds since the epoch. */
  readonly #asked = new Map<string, number>();
  readonly #ended = new Map<string, number>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** False if the last import of some refused person is older than the last import of this person. */
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
