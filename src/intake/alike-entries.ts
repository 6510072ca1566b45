// Entries of the shapes that were seen last, read without parsing them. What was seen decides how fast an entry is
// read, never what is read.
import type { EntryText } from '../model/entry.ts';
import { type AsciiBody, type Followed, follow, type Shape, shapeOf } from './shape.ts';
import { isEntry, type Taken } from './take-entry.ts';

/** Shapes that are kept: phones have some twenty keys, and some versions of each. */
const mostShapes = 48;

/**
 * What it costs to learn a shape, which takes as long as parsing some entries: bodies without two entries alike all but
 * end it. Before there are any, 64 are learned. An entry read by its shape earns `hit`, any other 1.
 */
const learning = 64;
const mostCredit = 64 * learning;
const hit = 8;

/**
 * Bytes that may be compared in vain: entries that are like known ones up to their ends would make reading many times
 * slower than parsing. What an entry earns takes less time than it saves, or than parsing it.
 */
const mostPatience = 256 * 1024;
const patiencePerParsed = 256;
const patiencePerByte = 8;

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
  private patience = mostPatience;
  /** False: the entry that `read` did not know may be of a known shape. */
  private isNew = true;
  private readonly found: Followed = { end: 0, write_ts: 0, ts: 0 };

  /** What `takeEntry` makes of the entry that begins at `at`; null if it is of no known shape. */
  read(body: AsciiBody, at: number): EntryText | null {
    const { shapes, last } = this;
    this.isNew = last === -1 || this.patience > 0;
    this.earn(patiencePerParsed);
    if (last === -1 || !this.isNew) return null;
    const guess = shapes[last]!.next;
    if (this.follows(body, at, guess)) return this.entry(guess, body, at);
    for (let i = 0; i < shapes.length; i += 1) {
      if (i !== guess && this.follows(body, at, i)) return this.entry(i, body, at);
    }
    return null;
  }

  /** Remembers the shape of what was read from `text` in another way. `text`: ASCII. */
  learn(taken: Taken, text: string): void {
    if (this.credit < learning) {
      this.credit += 1;
      return;
    }
    if (!this.isNew || !isEntry(taken) || taken.text !== text) return;
    this.credit -= learning;
    const shape = shapeOf(taken);
    if (shape === null) return;
    const place = this.shapes.length < mostShapes ? this.shapes.length : this.oldest();
    this.shapes[place] = { ...shape, used: 0, next: place };
    this.note(place);
  }

  private follows(body: AsciiBody, at: number, place: number): boolean {
    if (follow(body, at, this.shapes[place]!, this.found)) return true;
    this.patience -= this.found.end - at;
    return false;
  }

  private entry(place: number, { text }: AsciiBody, at: number): EntryText {
    const { key, ts: time } = this.shapes[place]!;
    const { end, write_ts, ts } = this.found;
    this.end = end;
    this.note(place);
    this.credit = Math.min(this.credit + hit, mostCredit);
    this.earn((end - at) * patiencePerByte);
    return { key, write_ts, ts: time === -1 ? null : ts, text: text.slice(at, end) };
  }

  private earn(patience: number): void {
    this.patience = Math.min(this.patience + patience, mostPatience);
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
