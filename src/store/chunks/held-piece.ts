// Entries of one key that wait, held as the chunk that they may become would hold them. Pure.
import type { Entry, Identity } from '../../model/entry.ts';
import type { EntryFields, FieldSource, JudgedEntry, WaitingEntry } from '../store.ts';
import { ByteReader, ByteWriter } from './bytes.ts';
import type { KnownTimes } from './column-form.ts';
import { type EntryReader, fieldReader } from './entry-fields.ts';
import { type Columns, readColumns, textsOf } from './read-columns.ts';
import { readTimes, writeTimes } from './time-columns.ts';
import { encodeColumns } from './value-columns.ts';

/** An entry of a piece. */
export interface PlaceInPiece {
  piece: HeldPiece;
  place: number;
}

/** The piece of entries in the order of `write_ts`, as bytes; null for texts that would not come back from columns. */
export function writePiece(rows: readonly { write_ts: number; ts: number | null; text: string }[]): Uint8Array | null {
  const texts = rows.map(({ text }) => text);
  const times = { write_ts: new Float64Array(rows.length), ts: new Float64Array(rows.length) };
  for (const [i, { write_ts, ts }] of rows.entries()) {
    times.write_ts[i] = write_ts;
    times.ts[i] = ts ?? Number.NaN;
  }
  const columns = encodeColumns(texts, times);
  if (columns === null) return null;
  const writer = new ByteWriter();
  writer.varint(rows.length);
  writeTimes(writer, times.write_ts, null);
  writeTimes(writer, times.ts, times.write_ts);
  for (const text of texts) writer.varint(text.length);
  writer.raw(columns);
  return writer.bytes();
}

function areSame(some: Float64Array, others: Float64Array): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i += 1) if (!Object.is(some[i], others[i])) return false;
  return true;
}

/** A piece as it is read: texts and fields of its entries are made when they are asked for. */
export class HeldPiece {
  readonly count: number;
  /** Characters of all texts. */
  readonly size: number;
  /** The texts as columns: what a chunk of these entries compresses. */
  readonly bytes: Buffer;
  private readonly times: KnownTimes;
  private readonly lengths: Uint32Array;
  private read: Columns | null = null;
  private kept: readonly string[] | null = null;
  private reader: { fields: EntryFields; read: EntryReader } | null = null; // the one used last

  /** Reads what `writePiece` wrote. Throws a `RangeError` where the bytes end too early. */
  constructor(bytes: Buffer) {
    const reader = new ByteReader(bytes);
    this.count = reader.varint();
    if (this.count > bytes.length) throw new RangeError('the bytes end too early');
    const write_ts = readTimes(reader, this.count, null);
    this.times = { write_ts, ts: readTimes(reader, this.count, write_ts) };
    this.lengths = new Uint32Array(this.count);
    let size = 0;
    for (let i = 0; i < this.count; i += 1) {
      this.lengths[i] = reader.varint();
      size += this.lengths[i]!;
    }
    this.size = size;
    this.bytes = bytes.subarray(reader.place);
  }

  /** True if these are the times that the columns were written with: some values are told from them. */
  hasTimes({ write_ts, ts }: KnownTimes): boolean {
    return areSame(write_ts, this.times.write_ts) && areSame(ts, this.times.ts);
  }

  /** Characters of a text. */
  lengthAt(place: number): number {
    return this.lengths[place]!;
  }

  /** The texts of its entries. */
  get texts(): readonly string[] {
    this.kept ??= textsOf(this.columns);
    return this.kept;
  }

  /**
   * The named fields of an entry, until the next call; null where its text has to be parsed. Those it does not have may
   * be undefined.
   */
  glanceAt(place: number, fields: EntryFields): Entry | null {
    if (this.reader?.fields !== fields) this.reader = { fields, read: fieldReader(this.columns, fields) };
    return this.reader.read(place);
  }

  /** The columns of its texts. */
  get columns(): Columns {
    this.read ??= readColumns(this.bytes, this.count, this.times);
    return this.read;
  }
}

/** A waiting entry in a piece. */
export class HeldEntry implements WaitingEntry, FieldSource, PlaceInPiece {
  readonly key: string;
  readonly write_ts: number;
  readonly revision: string;
  readonly received_ts: number;
  readonly piece: HeldPiece;
  readonly place: number;
  private parsed: Entry | null = null;

  constructor({ key, write_ts }: Identity, revision: string, received_ts: number, { piece, place }: PlaceInPiece) {
    this.key = key;
    this.write_ts = write_ts;
    this.revision = revision;
    this.received_ts = received_ts;
    this.piece = piece;
    this.place = place;
  }

  get entry(): Entry {
    this.parsed ??= JSON.parse(this.text) as Entry;
    return this.parsed;
  }

  get text(): string {
    return this.piece.texts[this.place]!;
  }

  get source(): FieldSource {
    return this;
  }

  glance(fields: EntryFields): Entry | null {
    return this.piece.glanceAt(this.place, fields);
  }

  judged(ts: number | null, zone: string | null): JudgedEntry {
    return new HeldRow(this, ts, zone);
  }
}

/** An entry for the timeseries that lies in columns: its text is made when it is asked for. */
export class HeldRow implements JudgedEntry {
  readonly key: string;
  readonly write_ts: number;
  readonly ts: number | null;
  readonly zone: string | null;
  readonly received_ts: number;
  readonly held: HeldEntry;

  constructor(held: HeldEntry, ts: number | null, zone: string | null) {
    this.key = held.key;
    this.write_ts = held.write_ts;
    this.ts = ts;
    this.zone = zone;
    this.received_ts = held.received_ts;
    this.held = held;
  }

  get entry(): Entry {
    return this.held.entry;
  }

  get text(): string {
    return this.held.text;
  }
}
