import type { Entry } from '../../model/entry.ts';
import { batchRows, entriesIn, type PendingEntry, readHeader, receiptAt } from '../chunks/batch.ts';
import type { WritableRows } from '../rows/rows.ts';
import { readColumn } from '../rows/sums.ts';
import { type BatchRow, batches } from '../rows/tables.ts';

export async function replaceBatch(
  rows: WritableRows,
  row: BatchRow,
  stays: (place: number, entry: PendingEntry) => boolean,
): Promise<void> {
  const left = readBatch(row).list.filter((entry, place) => stays(place, entry));
  const [rest, ...others] = batchRows(row.user, row.id, left);
  if (others.length > 0) throw new Error('expected the rest of a batch to be one row');
  if (rest === undefined) await rows.remove(batches, { user: row.user, id: row.id });
  else await rows.put(batches, [rest]);
}

/** The entries of a batch. `size`: characters of JSON, about. Throws `MOBILITY_STORE_DAMAGED`. */
export function readBatch(row: BatchRow): { list: PendingEntry[]; size: number } {
  const header = readHeader(row);
  const { list, size } = readColumn(batches, row, 'entries', () => entriesIn(row));
  const withPast = (entry: Entry, place: number): PendingEntry => {
    return { entry, received_ts: receiptAt(header, place), failed: header.failed[place] ?? null };
  };
  return { list: list.map(withPast), size };
}
