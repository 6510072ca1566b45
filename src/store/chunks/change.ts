// A change of the timeseries as edits of chunks, the same on every backend. Pure.
import { type EntryText, entryTextOf, type Identity } from '../../model/entry.ts';
import { zoneNamed } from '../../model/time.ts';
import { keptEntry } from '../kept-entry.ts';
import { touch } from '../marks.ts';
import type { Marked, TimeseriesChange } from '../store.ts';
import { type Edits, editsInOrder } from './edit.ts';
import type { ChunkRow } from './form.ts';
import { HeldRow, type PlaceInPiece } from './held-piece.ts';

/** An entry to put, as a chunk keeps it; its receipt only if known. */
export interface PutRow extends EntryText {
  zone: string | null;
  received_ts?: number;
  held?: PlaceInPiece;
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
  return put.map(putRow);
}

function putRow(one: TimeseriesChange['put'][number]): PutRow {
  if (one instanceof HeldRow) return one;
  const { entry, ts, text: known, received_ts } = keptEntry(one);
  const { key, write_ts, text } = entryTextOf(entry, known);
  const zone = zoneNamed(entry);
  return received_ts === undefined ? { key, write_ts, ts, text, zone } : { key, write_ts, ts, text, zone, received_ts };
}

/** A change as edits by key; what is removed goes first. They note in `counts` and `touched` what they do. */
export function editsByKey(
  rows: readonly PutRow[],
  remove: TimeseriesChange['remove'],
  touched: Marked,
  counts: ChangeCounts,
  now: number,
): Map<string, Edits> {
  const byKey = new Map<string, (PutRow | Identity)[]>();
  for (const list of [remove, rows]) {
    for (const one of list) {
      const ofKey = byKey.get(one.key);
      if (ofKey === undefined) byKey.set(one.key, [one]);
      else ofKey.push(one);
    }
  }
  const after = (one: PutRow | Identity, before: ChunkRow | undefined): ChunkRow | undefined => {
    if ('zone' in one) return putOver(before, one, now, touched, counts);
    if (before === undefined) return undefined;
    counts.removed++;
    touch(touched, one.key, before.ts);
    return undefined;
  };
  return new Map(Array.from(byKey, ([key, list]) => [key, editsInOrder(list, after)]));
}

/** The stored form of an entry over the earlier one of its identity. A known receipt stays; an unknown one is now. */
function putOver(
  before: ChunkRow | undefined,
  row: PutRow,
  now: number,
  touched: Marked,
  counts: ChangeCounts,
): ChunkRow {
  if (before === undefined) {
    counts.inserted++;
    touch(touched, row.key, row.ts);
    if (row instanceof HeldRow) return row;
  }
  const { write_ts, ts, zone, text, received_ts = before?.received_ts ?? now } = row;
  if (before === undefined) return { write_ts, ts, zone, text, received_ts };
  if (before.text !== text) {
    counts.updated++;
    touch(touched, row.key, before.ts, ts);
    return { write_ts, ts, zone, text, received_ts };
  }
  counts.unchanged++;
  return received_ts === before.received_ts ? before : { ...before, received_ts };
}
