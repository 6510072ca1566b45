// A change of the timeseries as edits of chunks, the same on every backend. Pure.
import { type EntryText, entryTextOf } from '../../model/entry.ts';
import { zoneNamed } from '../../model/time.ts';
import { keptEntry } from '../kept-entry.ts';
import { touch } from '../marks.ts';
import type { KeptEntry, Marked, TimeseriesChange } from '../store.ts';
import type { Edit } from './edit.ts';
import type { ChunkRow } from './form.ts';
import { HeldEntry, type PlaceInPiece } from './held-piece.ts';

/** An entry to put, as a chunk keeps it; its receipt only if known. */
export interface PutRow extends EntryText {
  zone: string | null;
  received_ts?: number;
  held?: PlaceInPiece;
}

/** An entry to put that lies in columns: its text is made when it is asked for. */
class HeldRow implements PutRow, ChunkRow {
  readonly key: string;
  readonly write_ts: number;
  readonly ts: number | null;
  readonly zone: string | null;
  readonly received_ts: number;
  readonly held: PlaceInPiece;

  constructor({ ts, zone }: KeptEntry, held: HeldEntry) {
    this.key = held.key;
    this.write_ts = held.write_ts;
    this.ts = ts;
    this.zone = zone === undefined ? zoneNamed(held.entry) : zone;
    this.received_ts = held.received_ts;
    this.held = held;
  }

  get text(): string {
    return this.held.piece.texts[this.held.place]!;
  }
}

/** What a change did. */
export interface ChangeCounts {
  inserted: number;
  updated: number;
  unchanged: number;
  removed: number;
}

/** The entries of a change as chunks keep them. */
export function putRows(put: TimeseriesChange['put']): PutRow[] {
  return put.map((one) => {
    if ('source' in one && one.source instanceof HeldEntry) return new HeldRow(one as KeptEntry, one.source);
    const { entry, ts, text: known, received_ts } = keptEntry(one);
    const { key, write_ts, text } = entryTextOf(entry, known);
    const zone = zoneNamed(entry);
    return received_ts === undefined
      ? { key, write_ts, ts, text, zone }
      : { key, write_ts, ts, text, zone, received_ts };
  });
}

/** A change as edits by key and `write_ts`. They note in `counts` and `touched` what they do. */
export function editsByKey(
  rows: readonly PutRow[],
  remove: TimeseriesChange['remove'],
  touched: Marked,
  counts: ChangeCounts,
  now: number,
): Map<string, Map<number, Edit>> {
  const byKey = new Map<string, Map<number, Edit>>();
  const add = (key: string, writeTs: number, edit: Edit): void => {
    const edits = byKey.get(key) ?? new Map<number, Edit>();
    byKey.set(key, edits);
    const earlier = edits.get(writeTs);
    edits.set(writeTs, earlier === undefined ? edit : (row) => edit(earlier(row)));
  };
  for (const { key, write_ts } of remove) {
    add(key, write_ts, (row) => {
      if (row === undefined) return undefined;
      counts.removed++;
      touch(touched, key, row.ts);
      return undefined;
    });
  }
  for (const row of rows) {
    add(row.key, row.write_ts, (before) => {
      const { after, result } = putOver(before, row, now);
      if (result === 'inserted') touch(touched, row.key, row.ts);
      if (result === 'updated') touch(touched, row.key, before!.ts, row.ts);
      counts[result]++;
      return after;
    });
  }
  return byKey;
}

/** The stored form of an entry over the earlier one of its identity. A known receipt stays; an unknown one is now. */
function putOver(
  before: ChunkRow | undefined,
  row: PutRow,
  now: number,
): { after: ChunkRow; result: 'inserted' | 'updated' | 'unchanged' } {
  if (before === undefined && row instanceof HeldRow) return { after: row, result: 'inserted' };
  const { write_ts, ts, zone, text, received_ts } = row;
  if (before === undefined) {
    return { after: { write_ts, ts, zone, text, received_ts: received_ts ?? now }, result: 'inserted' };
  }
  const received = received_ts ?? before.received_ts;
  if (before.text !== text) {
    return { after: { write_ts, ts, zone, text, received_ts: received }, result: 'updated' };
  }
  const after = received === before.received_ts ? before : { ...before, received_ts: received };
  return { after, result: 'unchanged' };
}
