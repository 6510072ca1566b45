// Reads batches of waiting entries, and takes entries out of them.
import { batchRows, entriesIn, receiptAt, type WaitingEntry, waitingIn } from '../chunks/batch.ts';
import type { WritableRows } from '../rows/rows.ts';
import { damagedRow } from '../rows/sums.ts';
import { type BatchRow, batches } from '../rows/tables.ts';

/** Leaves only some entries in a batch. */
export async function replaceBatch(
  rows: WritableRows,
  row: BatchRow,
  stays: (place: number, entry: WaitingEntry) => boolean,
): Promise<void> {
  const left = waitingEntries(row).filter((entry, place) => stays(place, entry));
  const [rest, ...others] = batchRows(row.user, row.id, left);
  if (others.length > 0) throw new Error('expected the rest of a batch to be one row');
  if (rest === undefined) await rows.remove(batches, { user: row.user, id: row.id });
  else await rows.put(batches, [rest]);
}

function waitingEntries(row: BatchRow): WaitingEntry[] {
  const waiting = waitingIn(row);
  return readBatch(row).list.map((entry, place) => {
    return { entry, received_ts: receiptAt(waiting, place), failed: waiting.failed[place] ?? null };
  });
}

/** The entries of a batch. Throws `MOBILITY_STORE_DAMAGED`. */
export function readBatch(row: BatchRow): ReturnType<typeof entriesIn> {
  try {
    return entriesIn(row);
  } catch (error) {
    throw damagedRow(batches, row, 'its entries cannot be read', error);
  }
}
