import { dataTime, type Entry, type Identity } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { believedAhead, maxTime } from '../../model/time.ts';
import type { WritableRows } from '../rows/rows.ts';
import { objectIn, readColumn } from '../rows/sums.ts';
import { type BatchRow, batches } from '../rows/tables.ts';
import { inParts, levels, packText, spanOf, unpackText } from './pack.ts';

export interface PendingEntry {
  entry: Entry;
  received_ts: number;
  /** Earlier rejections of an entry that an operator recovered; null: not recovered. */
  failed: { first_ts: number; tries: number } | null;
}

/** The `waiting` column: facts that are needed without unpacking the entries, in their order. */
export interface BatchHeader {
  /** Each key, and the number of consecutive entries that have it. */
  keys: [key: string, count: number][];
  write_ts: number[];
  /** One number if all entries were received at the same time. */
  received_ts: number[] | number;
  failed: Record<number, { first_ts: number; tries: number }>;
}

/**
 * The earliest time when an entry may be processed; 0: at once.
 *
 *     write_ts                                                  due
 *     up to a day after the first receipt (`believedAhead`)     at once
 *     later, up to the last date of the calendar (`maxTime`)    at `write_ts`
 *     later, up to the largest safe integer                     at once: it is no date
 *     larger                                                    at `write_ts`, which never comes
 */
export function dueTime({ entry, received_ts }: PendingEntry): number {
  const { write_ts } = entry.metadata;
  const isNoDate = write_ts > maxTime && write_ts <= Number.MAX_SAFE_INTEGER;
  return write_ts > received_ts + believedAhead && !isNoDate ? write_ts : 0;
}

const mostEntries = 1_000; // per row

/**
 * Makes the rows of a put. The first row gets `id`, the next row `id + 1`. Entries that are not due
 * yet get rows of their own, so that the move can remove the other rows whole.
 */
export function batchRows(user: string, id: number, entries: readonly PendingEntry[]): BatchRow[] {
  const isDue = (one: PendingEntry): boolean => dueTime(one) === 0;
  const textOf = (some: readonly PendingEntry[]): string =>
    jsonText(some.map(({ entry }) => entry) as unknown as JsonValue);
  return [entries.filter(isDue), entries.filter((one) => !isDue(one))]
    .flatMap((some) => inParts(some, mostEntries, textOf, columnsOf))
    .map((columns, i) => ({ user, id: id + i, ...columns }));
}

function columnsOf(entries: readonly PendingEntry[], text: string): Omit<BatchRow, 'user' | 'id'> {
  const times = entries.map(({ entry }) => entry.metadata.write_ts);
  return {
    count: entries.length,
    first: Math.min(...times),
    last: Math.max(...times),
    ...spanOf(entries.map(({ entry }) => dataTime(entry.data))),
    due_ts: Math.min(...entries.map(dueTime)),
    waiting: JSON.stringify(toHeader(entries)),
    entries: packText(text, levels.brief),
  };
}

function toHeader(entries: readonly PendingEntry[]): BatchHeader {
  const received = entries.map(({ received_ts }) => received_ts);
  const header: BatchHeader = {
    keys: [],
    write_ts: entries.map(({ entry }) => entry.metadata.write_ts),
    received_ts: received.every((ts) => ts === received[0]) ? received[0]! : received,
    failed: {},
  };
  for (const [place, { entry, failed }] of entries.entries()) {
    const { key } = entry.metadata;
    const run = header.keys.at(-1);
    if (run?.[0] === key) run[1] += 1;
    else header.keys.push([key, 1]);
    if (failed !== null) header.failed[place] = failed;
  }
  return header;
}

export function identitiesIn({ keys, write_ts }: BatchHeader): Identity[] {
  const keyOfEach = keys.flatMap(([key, count]) => new Array<string>(count).fill(key));
  return keyOfEach.map((key, place) => ({ key, write_ts: write_ts[place]! }));
}

export function receiptAt({ received_ts }: BatchHeader, place: number): number {
  return typeof received_ts === 'number' ? received_ts : received_ts[place]!;
}

export function readHeader(row: Pick<BatchRow, 'user' | 'id' | 'waiting'>): BatchHeader {
  return objectIn(batches, row, 'waiting');
}

export function entriesIn(row: Pick<BatchRow, 'entries'>): { list: Entry[]; size: number } {
  const text = unpackText(row.entries);
  return { list: JSON.parse(text) as Entry[], size: text.length };
}

/** Reads the entries of a batch. `size`: characters of JSON. Throws `MOBILITY_STORE_DAMAGED`. */
export function readBatch(row: BatchRow): { list: PendingEntry[]; size: number } {
  const header = readHeader(row);
  const { list, size } = readColumn(batches, row, 'entries', () => entriesIn(row));
  const withPast = (entry: Entry, place: number): PendingEntry => {
    return { entry, received_ts: receiptAt(header, place), failed: header.failed[place] ?? null };
  };
  return { list: list.map(withPast), size };
}

/** Removes the entries for which `stays` is false, and the row if no entry stays. */
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
