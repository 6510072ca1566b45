// Entries of the shapes that were seen last, read without parsing them. What was seen decides how fast an entry is
// read, never what is read.
import type { EntryText } from '../model/entry.ts';
import { type AsciiBody, type Followed, follow, type Shape, shapeOf } from './shape.ts';
import { isEntry, type Taken } from './take-entry.ts';

/** Shapes that are kept: phones have some twenty keys, and some versions of each. */
const mostShapes = 48;

/**
 * What it costs to learn a shape, in entries read by shapes: learning takes as long as parsing some entries, so bodies
 * without two entries alike end it. Before there are any, 64 are learned.
 */
const learning = 8;
const mostCredit = 64 * learning;

interface KnownShape extends Shape {
  /** When it was of use last. */
  used: number;
  /** Place of the shape that came after it last time. */
  next: number;
}

/**
 * Reads entries that are like earlier ones, also of other bodies. Of those it keeps keys and names of members, and no
 * values.
 */
export class AlikeEntries {
  /** Where the entry ends that `read` gave last. */
  end = 0;
  private readonly shapes: KnownShape[] = [];
  /** Place of the shape that was of use last; -1 before the first. */
  private last = -1;
  private reads = 0;
  private credit = mostCredit;
  private readonly found: Followed = { end: 0, write_ts: 0, ts: 0 };

  /** What `takeEntry` makes of the entry that begins at `at`; null if it is of no known shape. */
  read(body: AsciiBody, at: number): EntryText | null {
    const { shapes, last } = this;
    if (last === -1) return null;
    const guess = shapes[last]!.next;
    if (follow(body, at, shapes[guess]!, this.found)) return this.entry(guess, body, at);
    for (let i = 0; i < shapes.length; i += 1) {
      if (i !== guess && follow(body, at, shapes[i]!, this.found)) return this.entry(i, body, at);
    }
    return null;
  }

  /** Remembers the shape of what was read from `text` in another way. `text`: ASCII. */
  learn(taken: Taken, text: string): void {
    if (this.credit < learning || !isEntry(taken) || taken.text !== text) return;
    this.credit -= learning;
    const shape = shapeOf(taken);
    if (shape === null) return;
    const place = this.shapes.length < mostShapes ? this.shapes.length : this.oldest();
    this.shapes[place] = { ...shape, used: 0, next: place };
    this.note(place);
  }

  private entry(place: number, { text }: AsciiBody, at: number): EntryText {
    const { key, ts: time } = this.shapes[place]!;
    const { end, write_ts, ts } = this.found;
    this.end = end;
    this.note(place);
    if (this.credit < mostCredit) this.credit += 1;
    return { key, write_ts, ts: time === -1 ? null : ts, text: text.slice(at, end) };
  }

  private note(place: number): void {
    if (this.last !== -1) this.shapes[this.last]!.next = place;
    this.last = place;
    this.reads += 1;
    this.shapes[place]!.used = this.reads;
  }

  private oldest(): number {
    const { shapes } = this;
    let oldest = 0;
    for (let i = 1; i < shapes.length; i += 1) if (shapes[i]!.used < shapes[oldest]!.used) oldest = i;
    return oldest;
  }
}
