// The end of an entry's stay in the usercache: moved to the timeseries, or set aside.
import { identityText } from '../../model/entry.ts';
import { errorIdOf } from '../error-ids.ts';
import type { FailedEntry, Usercache, WaitingRef } from '../store.ts';
import type { Connection } from './connection.ts';
import { entriesOf, receivedOf } from './entries.ts';
import { failureRow, findErrors, removeErrors, writeErrors } from './errors.ts';
import { exactFilters, findBySpan, identityOfRow, rowIdentity, textOf } from './identities.ts';
import { inPieces, type KnownRow, knownFields, removeRows } from './rows.ts';
import type { PastFailures, Tx, WaitingRow } from './user-rows.ts';

/** More refs than this take several transactions. */
const rowsAtOnce = 5000;

/** Ends stays, see the contract. */
export function settleOn(connection: Connection): Usercache['settle'] {
  return async (userId, { moved, failed }, now) => {
    const leaving = [...moved.map((ref) => ({ ref, why: null })), ...failed.map((why) => ({ ref: why, why }))];
    let left = 0;
    for (const some of inPieces(leaving, rowsAtOnce)) {
      left += await connection.atomically(userId, (tx) => settleSome(tx, some, now));
    }
    return left;
  };
}

/** One end of a stay; `why` for an entry that failed. */
interface Leaving {
  ref: WaitingRef;
  why: FailedEntry | null;
}

/** A waiting row that leaves. */
interface LeavingRow extends Leaving {
  row: KnownRow & { failed?: PastFailures };
}

async function settleSome(tx: Tx, leaving: readonly Leaving[], now: number): Promise<number> {
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
