// Stores of layout 1 and 2 keep a document for each entry: they become chunks user by user, while the store is in use.
import { entryTextOf } from '../../model/entry.ts';
import { isMobilityError } from '../../model/errors.ts';
import { unescapeText } from '../../model/json-text.ts';
import { isTimeZone } from '../../model/time.ts';
import { editsInOrder } from '../chunks/edit.ts';
import type { ChunkRow } from '../chunks/form.ts';
import { editChunks } from './chunk-rows.ts';
import type { Connection } from './connection.ts';
import { entriesOf, receivedOf } from './entries.ts';
import { requireMember } from './members.ts';
import { newPage, removeRows } from './rows.ts';
import type { MovedRow, Tx } from './user-rows.ts';

/** Rows that one transaction folds at most. */
const rowsAtOnce = 1_000;

/** A store with no more rows than these is folded when it is opened by a newer program. */
export const foldedAtOnce = 10_000;

/** How many entries of a user do not lie in chunks yet. */
export async function rowsToFold({ rowsLeft, reading }: Connection, userId: string): Promise<number> {
  return rowsLeft === null ? 0 : reading(userId, (from) => from.rows('timeseries').count());
}

/**
 * Resolves when all entries of a user lie in chunks, or at the signal, with the number of those that it brought there.
 * An interruption leaves each entry in one place or the other; the next call goes on from there. Rows of somebody who
 * is not admitted stay: an erasure removes them.
 */
export async function fold(connection: Connection, userId: string, signal?: AbortSignal): Promise<number> {
  const { rowsLeft } = connection;
  if (rowsLeft === null || rowsLeft.folded.has(userId)) return 0;
  let folded = 0;
  try {
    while (!signal?.aborted) {
      const some = await connection.atomically(userId, foldSome);
      folded += some;
      if (some > 0) continue;
      rowsLeft.folded.add(userId);
      break;
    }
  } catch (error) {
    if (!isMobilityError(error, 'MOBILITY_USER_UNKNOWN')) throw error;
  }
  return folded;
}

/** Folds the next rows; returns how many. */
async function foldSome(tx: Tx): Promise<number> {
  const page = newPage<MovedRow>(rowsAtOnce);
  await page.fill(tx.rows('timeseries').find({}, { sort: { key: 1, write_ts: 1 }, limit: rowsAtOnce }));
  if (page.rows.length === 0) return 0;
  await requireMember(tx, 'errors');
  const entries = await entriesOf(tx, page.rows);
  const byKey = new Map<string, ChunkRow[]>();
  for (const [i, row] of page.rows.entries()) {
    const { text } = entryTextOf(entries[i]!);
    const zone = isTimeZone(row.zone) ? row.zone : null;
    const own = { write_ts: row.write_ts, ts: row.ts ?? null, received_ts: receivedOf(row), zone, text };
    const key = unescapeText(row.key);
    const rows = byKey.get(key) ?? [];
    byKey.set(key, rows);
    rows.push(own);
  }
  const edits = [...byKey].map(([key, rows]) => [key, editsInOrder(rows, (own, before) => before ?? own)] as const);
  await editChunks(tx, new Map(edits));
  await removeRows(tx, 'timeseries', page.rows, [{ _id: { $in: page.rows.map(({ _id }) => _id) } }]);
  return page.rows.length;
}
