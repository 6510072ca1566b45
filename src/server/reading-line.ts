// Whose body is read on, when more has come than can be processed: one after the other, so that the others stay on
// their connections and not in memory.

/** Who may be read on: everybody, one at a time, or nobody for now. */
export type MayRead = 'all' | 'one' | 'none';

/** What the line has to know of the bodies in it. */
export interface ReadingRules<Body> {
  reading(): MayRead;
  /** The smaller, the sooner; of equal ones the one that began first. Asked for each time. */
  rank(body: Body): number;
  /** A number that grows from body to body as they began. */
  order(body: Body): number;
}

const patience = 3; // ms for which others wait for a piece of the one that may send

/**
 * The line of bodies that wait to be read on. Who may send and does not keeps the others waiting for no longer than
 * `patience`, so slow senders hold up nobody.
 */
export class ReadingLine<Body> {
  readonly #rules: ReadingRules<Body>;
  readonly #waiting: { body: Body; goOn: () => void }[] = [];
  #reader: { body: Body; timer: NodeJS.Timeout } | null = null;

  constructor(rules: ReadingRules<Body>) {
    this.#rules = rules;
  }

  /** Resolves when a body may be read on by one piece. */
  async join(body: Body): Promise<void> {
    this.#endOf(body);
    await new Promise<void>((goOn) => {
      this.#waiting.push({ body, goOn });
      this.look();
    });
  }

  /** This body needs no more of the line: it has come to its end, or nobody reads it any more. */
  leave(body: Body): void {
    this.#endOf(body);
    const at = this.#waiting.findIndex((one) => one.body === body);
    if (at !== -1) this.#waiting.splice(at, 1)[0]!.goOn();
    this.look();
  }

  /** Lets go on who may now. To be called when `reading` may have changed. */
  look(): void {
    if (this.#waiting.length === 0) return;
    const reading = this.#rules.reading();
    if (reading === 'all') for (const { goOn } of this.#waiting.splice(0)) goOn();
    if (reading !== 'one' || this.#reader !== null) return;
    const [next] = this.#waiting.splice(this.#first(), 1);
    const timer = setTimeout(() => {
      this.#reader = null;
      this.look();
    }, patience);
    this.#reader = { body: next!.body, timer };
    next!.goOn();
  }

  #first(): number {
    const { rank, order } = this.#rules;
    let first = 0;
    for (let i = 1; i < this.#waiting.length; i++) {
      const [a, b] = [this.#waiting[i]!.body, this.#waiting[first]!.body];
      if ((rank(a) - rank(b) || order(a) - order(b)) < 0) first = i;
    }
    return first;
  }

  #endOf(body: Body): void {
    if (this.#reader?.body !== body) return;
    clearTimeout(this.#reader.timer);
    this.#reader = null;
  }
}
