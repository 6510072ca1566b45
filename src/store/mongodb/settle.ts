// The end of an entry's stay in the usercache: moved to the timeseries, or set aside.
import type { ClientSession, Document } from 'mongodb';
import { identityText } from '../../model/entry.ts';
import { errorIdOf } from '../error-ids.ts';
import type { FailedEntry, Usercache, WaitingRef } from '../store.ts';
import type { Connection } from './connection.ts';
import { entriesOf, waitingFields } from './entries.ts';
import { failureRow, findErrors, removeErrors, writeErrors } from './errors.ts';
import { deleteEntries, findByIdentity, inPieces, rowIdentity, textOf } from './identities.ts';
import { type KnownRow, type NewRow, removeParts, writeParts } from './rows.ts';

/** More refs than this take several transactions. */
const rowsAtOnce = 5000;

/**
 * Without transactions: errors of moved entries go before these do, and errors are written before their entries leave. What is
 * left half way still waits, and the next run moves it again.
 */
export function settleOn(connection: Connection): Usercache['settle'] {
  return async (userId, { moved, failed }, now) => {
    const refs = [...moved.map((ref) => ({ ref, why: null })), ...failed.map((ref) => ({ ref, why: ref }))];
    let left = 0;
    for (const some of inPieces(refs, rowsAtOnce)) left += await settleSome(connection, userId, some, now);
    return left;
  };
}

/** One end of a stay; `why` for an entry that failed. */
interface Leaving {
  ref: WaitingRef;
  why: FailedEntry | null;
}

async function settleSome(
  connection: Connection,
  userId: string,
  leaving: readonly Leaving[],
  now: number,
): Promise<number> {
  const moved = leaving.filter(({ why }) => why === null).map(({ ref }) => ref);
  const failed = leaving.map(({ why }) => why).filter((why) => why !== null);
  const errors = await errorsOf(connection, userId, failed);
  await writeParts(connection, [...errors.values()]);
  return connection.atomically(async (session) => {
    const left = await letGo(connection, userId, moved, session);
    return left + (await setAside(connection, userId, failed, errors, now, session));
  });
}

/** Rows of errors to be, by identity. */
async function errorsOf(
  connection: Connection,
  userId: string,
  failed: readonly FailedEntry[],
): Promise<Map<string, NewRow>> {
  return connection.once(async () => {
    const waiting = await stillWaiting(connection, userId, failed, null, undefined);
    const rows = waiting.map(({ row }) => row);
    const entries = await entriesOf(connection, rows);
    const made = waiting.map(({ ref }, i) => [identityText(ref), failureRow(userId, ref, entries[i]!, ref)] as const);
    return new Map(made);
  });
}

/** The refs that still wait at their revision, each once, with their rows. */
async function stillWaiting<Ref extends WaitingRef>(
  connection: Connection,
  userId: string,
  refs: readonly Ref[],
  fields: Document | null,
  session: ClientSession | undefined,
): Promise<{ ref: Ref; row: Document }[]> {
  const identities = refs.map((ref) => rowIdentity(ref));
  const rows = await findByIdentity(connection, 'usercache', userId, identities, fields, session);
  const waiting = new Map<string, { ref: Ref; row: Document }>();
  for (const ref of refs) {
    const row = rows.get(textOf(rowIdentity(ref)));
    if (row?.revision.toHexString() === ref.revision) waiting.set(identityText(ref), { ref, row });
  }
  return [...waiting.values()];
}

async function letGo(
  connection: Connection,
  userId: string,
  moved: readonly WaitingRef[],
  session: ClientSession | undefined,
): Promise<number> {
  const waiting = await stillWaiting(connection, userId, moved, waitingFields, session);
  const ids = waiting.map(({ ref }) => errorIdOf(ref));
  await removeErrors(connection, userId, await findErrors(connection, userId, ids, session), session);
  return removeWaiting(connection, userId, waiting, session);
}

async function setAside(
  connection: Connection,
  userId: string,
  failed: readonly FailedEntry[],
  errors: ReadonlyMap<string, NewRow>,
  now: number,
  session: ClientSession | undefined,
): Promise<number> {
  const waiting = await stillWaiting(connection, userId, failed, waitingFields, session);
  const rows: NewRow[] = [];
  for (const { ref, row } of waiting) rows.push(withPast(errors.get(identityText(ref))!, row.failed));
  if (rows.length > 0) await writeErrors(connection, userId, rows, () => 1, now, session);
  return removeWaiting(connection, userId, waiting, session);
}

/** An error that was taken back and failed again goes on counting. */
function withPast(error: NewRow, failed: Document | undefined): NewRow {
  return failed === undefined ? error : { ...error, row: { ...error.row, ...failed } };
}

async function removeWaiting(
  connection: Connection,
  userId: string,
  waiting: readonly { ref: WaitingRef; row: Document }[],
  session: ClientSession | undefined,
): Promise<number> {
  if (waiting.length === 0) return 0;
  const rows = waiting.map(({ row }) => row);
  const deleted = await deleteEntries(connection, 'usercache', userId, rows, session);
  await removeParts(connection, userId, rows as unknown as KnownRow[], session);
  return deleted;
}
