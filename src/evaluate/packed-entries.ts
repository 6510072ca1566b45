// Keeps entries outside of the JavaScript heap. One location a second makes 86,400 a day.
import type { Entry } from '../model/entry.ts';

const entriesPerBuffer = 1000; // few, because each read parses a whole buffer

export class PackedEntries implements Iterable<Entry> {
  readonly #packed: Buffer[] = [];
  #open: Entry[] = [];

  add(entry: Entry): void {
    this.#open.push(entry);
    if (this.#open.length < entriesPerBuffer) return;
    this.#packed.push(Buffer.from(JSON.stringify(this.#open)));
    this.#open = [];
  }

  *[Symbol.iterator](): Generator<Entry> {
    for (const part of this.#packed) yield* JSON.parse(part.toString()) as Entry[];
    yield* this.#open;
  }
}
