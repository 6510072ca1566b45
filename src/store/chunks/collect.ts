// What a page is made of: entries whole, or what a caller makes of some of their fields.
import type { Entry } from '../../model/entry.ts';
import type { EntryFields, EntryVisitor } from '../store.ts';
import type { Chunk, ChunkHead } from './chunk.ts';

/** Takes the entries of a page in their order. */
export interface Collector {
  /** Characters of an entry: a page ends where they are too many. */
  sizeOf(chunk: Chunk<ChunkHead>, place: number): number;
  add(chunk: Chunk<ChunkHead>, place: number): void;
}

/** Entries whole. */
export class WholeEntries implements Collector {
  readonly entries: Entry[] = [];
  readonly received_ts: number[] = [];

  sizeOf(chunk: Chunk<ChunkHead>, place: number): number {
    return chunk.texts[place]!.length;
  }

  add(chunk: Chunk<ChunkHead>, place: number): void {
    this.entries.push(chunk.entryAt(place));
    this.received_ts.push(chunk.times.received_ts[place]!);
  }
}

/** An entry of which no field is asked for. */
const unseen = Object.freeze({ metadata: Object.freeze({}), data: Object.freeze({}) }) as unknown as Entry;

/** What `read` makes of some fields of entries; no texts are made. See `Timeseries.pick`. */
export class PickedEntries<Picked> implements Collector {
  readonly picked: Picked[] = [];
  private readonly fields: EntryFields;
  private readonly isBlind: boolean;
  private readonly read: EntryVisitor<Picked>;

  constructor(fields: EntryFields, read: EntryVisitor<Picked>) {
    this.fields = fields;
    this.isBlind = fields.metadata.length + fields.data.length === 0;
    this.read = read;
  }

  /** What entries of the chunk have on average. */
  sizeOf({ meanSize }: Chunk<ChunkHead>): number {
    return meanSize;
  }

  add(chunk: Chunk<ChunkHead>, place: number): void {
    const picked = this.read(this.isBlind ? unseen : chunk.glanceAt(place, this.fields));
    if (picked !== null) this.picked.push(picked);
  }
}
