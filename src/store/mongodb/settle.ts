// The end of an entry's stay in the usercache: moved to the timeseries, or set aside.
import { ObjectId } from 'mongodb';
import { identityText } from '../../model/entry.ts';
import { errorIdOf } from '../error-ids.ts';
import type { FailedEntry, Usercache, WaitingRef } from '../store.ts';
import type { Connection } from './connection.ts';
import { entriesOf, receivedOf } from './entries.ts';
import { failureRow, findErrors, removeErrors, writeErrors } from './errors.ts';
import { StaleReadError } from './failures.ts';
import { exactFilters, findBySpan, identityOfRow, type RowIdentity, rowIdentity, textOf } from './identities.ts';
import { inPieces, type KnownRow, knownFields, removeRows } from './rows.ts';
import type { PastFailures, Tx, WaitingRow } from './user-rows.ts';

/** More refs than this take several transactions. */
export const settledAtOnce = 5000;

/** Ends stays, see the contract. */
export function settleOn(connection: Connection): Usercache['settle'] {
  return async (userId, outcome, now) => {
    let left = 0;
    for (const some of inPieces(leavingOf(outcome), settledAtOnce)) {
      left += await connection.atomically(userId, (tx) => settleSome(tx, some, now));
    }
    return left;
  };
}

/** One end of a stay; `why` for an entry that failed. */
export interface Leaving {
  ref: WaitingRef;
  why: FailedEntry | null;
}

/** The ends that an outcome names. */
export function leavingOf({ moved, failed }: Parameters<Usercache['settle']>[1]): Leaving[] {
  return [...moved.map((ref) => ({ ref, why: null })), ...failed.map((why) => ({ ref: why, why }))];
}

/** A waiting row that leaves. */
interface LeavingRow extends Leaving {
  row: KnownRow & { failed?: PastFailures };
}

/** Ends stays in a transaction; returns how many. */
export async function settleSome(tx: Tx, leaving: readonly Leaving[], now: number): Promise<number> {
  const waiting = await stillWaiting(tx, leaving);
  const moved = waiting.filter(({ why }) => why === null).map(({ ref }) => errorIdOf(ref));
  await removeErrors(tx, await findErrors(tx, moved));
  await setAside(tx, waiting, now);
  await removeRows(
    tx,
    'usercache',
    waiting.map(({ row }) => row),
    exactFilters(waiting.map(({ ref }) => rowIdentity(ref))),
  );
  return waiting.length;
}

/** With more revisions than these, rows are read before they go. */
const mostRevisions = 100;

/**
 * The same for rows without parts, of which nearly always all still wait at their revision: they are not read. Throws
 * `StaleReadError` if one does not.
 */
export async function settleUnread(tx: Tx, leaving: readonly Leaving[], now: number): Promise<void> {
  const byRevision = new Map<string, RowIdentity[]>();
  for (const { ref } of leaving) {
    const own = byRevision.get(ref.revision);
    if (own === undefined) byRevision.set(ref.revision, [rowIdentity(ref)]);
    else own.push(rowIdentity(ref));
  }
  if (byRevision.size > mostRevisions || leaving.some(({ why }) => why !== null)) {
    await settleSome(tx, leaving, now);
    return;
  }
  await removeErrors(tx, await findErrors(tx, [...new Set(leaving.map(({ ref }) => errorIdOf(ref)))]));
  // Each identity at its own revision: that of another may be one at which it was pushed again, with other content.
  const operations = [...byRevision].flatMap(([text, own]) => {
    const revision = new ObjectId(text);
    return exactFilters(own).map((filter) => ({ deleteMany: { filter: { ...filter, revision, user_id: tx.userId } } }));
  });
  if (operations.length === 0) return;
  const { deletedCount } = await tx.rows('usercache').bulkWrite(operations);
  const expected = new Set(leaving.map(({ ref }) => identityText(ref))).size;
  if (deletedCount !== expected) throw new StaleReadError(expected, deletedCount, 'usercache');
}

/** Those that still wait at their revision, each once. */
async function stillWaiting(tx: Tx, leaving: readonly Leaving[]): Promise<LeavingRow[]> {
  const identities = leaving.map(({ ref }) => rowIdentity(ref));
  const rows = await findBySpan(tx, 'usercache', identities, [...knownFields, 'failed']);
  const waiting = new Map<string, LeavingRow>();
  for (const { ref, why } of leaving) {
    const [row, text] = [rows.get(textOf(rowIdentity(ref))), identityText(ref)];
    if (row?.revision.toHexString() === ref.revision && !waiting.has(text)) waiting.set(text, { ref, why, row });
  }
  return [...waiting.values()];
}

/** Writes the errors of those that failed. One that was taken back before and failed again goes on counting. */
async function setAside(tx: Tx, waiting: readonly LeavingRow[], now: number): Promise<void> {
  const failed = new Map<string, FailedEntry>();
  for (const { why } of waiting) if (why !== null) failed.set(identityText(why), why);
  const rows: WaitingRow[] = [];
  for (const filter of exactFilters([...failed.values()].map(rowIdentity))) {
    rows.push(...(await tx.rows('usercache').find(filter).toArray()));
  }
  const entries = await entriesOf(tx, rows);
  const errors = rows.map((row, i) => {
    const why = failed.get(identityText(identityOfRow(row)))!;
    const error = failureRow(tx.userId, why, entries[i]!, why);
    return { ...error, row: { ...error.row, ...row.failed, received_ts: receivedOf(row) } };
  });
  await writeErrors(tx, errors, () => 1, now);
}
