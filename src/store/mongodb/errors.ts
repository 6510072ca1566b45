// Entries set aside.
import type { Document } from 'mongodb';
import type { Entry, Identity } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { errorIdOf, unusableIdOf, unusableKeyOf } from '../error-ids.ts';
import type { ErrorRow, ErrorTimeseries, UnusableEntry } from '../store.ts';
import { receiptsInChunks } from './chunk-rows.ts';
import type { Connection } from './connection.ts';
import { entryRow, receivedOf } from './entries.ts';
import { fold } from './fold.ts';
import { findByIdentity, identityOfRow, type RowIdentity, rowIdentityOf, textOf } from './identities.ts';
import { requireMember } from './members.ts';
import {
  groupsOf,
  inPieces,
  type KnownRow,
  knownFields,
  type NewRow,
  newPage,
  newRow,
  payloadsOf,
  removeRows,
  writeRows,
} from './rows.ts';
import type { FailedRow, Tx, UserRows } from './user-rows.ts';

const longestList = 500;

const rowsAtOnce = 1000;

/** The error timeseries of users. */
export function errorsOn(connection: Connection): ErrorTimeseries {
  return {
    list: (userId, { key, reason, after, limit }) =>
      connection.reading(userId, async (from) => {
        if (limit <= 0) return [];
        const filter: Document = {};
        if (key !== undefined) filter.key = escapeText(key);
        if (reason !== undefined) filter.reason = escapeText(reason);
        if (after !== undefined) filter.id = { $gt: after };
        const page = newPage<FailedRow>(limit);
        await page.fill(from.rows('errors').find(filter, { sort: { id: 1 }, limit }));
        const entries = await payloadsOf<JsonValue>(from, page.rows, 'entry');
        return page.rows.map((row, i) => errorOf(row, entries[i]!));
      }),
    summary: (userId) => connection.reading(userId, summarise),
    async takeBack(userId, errors) {
      let back = 0;
      if (errors.length > 0) await fold(connection, userId);
      for (const some of inPieces(errors, rowsAtOnce)) {
        back += await connection.atomically(userId, (tx) => takeSomeBack(tx, some));
      }
      return back;
    },
    apply: (userId, { put, remove }) => apply(connection, userId, put, remove),
  };
}

function errorOf(row: FailedRow, entry: JsonValue): ErrorRow {
  const { id, key, write_ts, first_ts, last_ts, tries } = row;
  const identity = key === null || write_ts === null ? null : identityOfRow({ key, write_ts });
  const [reason, message] = [unescapeText(row.reason), unescapeText(row.message)];
  return { id, entry, identity, reason, message, first_ts, last_ts, tries, received_ts: receivedOf(row) };
}

async function summarise(from: UserRows): Promise<{ key: string | null; reason: string; count: number }[]> {
  const groups = await from
    .rows('errors')
    .aggregate<{ _id: { key: string | null; reason: string }; count: number }>({}, [
      { $group: { _id: { key: '$key', reason: '$reason' }, count: { $sum: 1 } } },
      { $sort: { '_id.key': 1, '_id.reason': 1 } },
    ])
    .toArray();
  return groups.map(({ _id: { key, reason }, count }) => ({
    key: key === null ? null : unescapeText(key),
    reason: unescapeText(reason),
    count,
  }));
}

/** The row of an entry that failed; when and how often is filled in when it is written. */
export function failureRow(
  userId: string,
  { key, write_ts }: Identity,
  entry: Entry | JsonValue,
  why: { reason: string; message: string },
): NewRow {
  return errorRow(userId, errorIdOf({ key, write_ts }), entry, why, { key, write_ts });
}

/** The row of something that is set aside at once. */
export function unusableRow(userId: string, { entry, identity, reason, message }: UnusableEntry): NewRow {
  if (identity !== undefined) return failureRow(userId, identity, entry, { reason, message });
  const key = unusableKeyOf(entry);
  return errorRow(userId, unusableIdOf(entry), entry, { reason, message }, { key, write_ts: null });
}

function errorRow(
  userId: string,
  id: string,
  entry: Entry | JsonValue,
  { reason, message }: { reason: string; message: string },
  { key, write_ts }: { key: string | null; write_ts: number | null },
): NewRow {
  const plain = {
    key: key === null ? null : escapeText(key),
    write_ts,
    reason: escapeText(reason),
    message: escapeText(message),
  };
  return newRow('errors', userId, { id }, plain, { entry });
}

/** Writes errors with the history that they bring along, the last of each id, and removes others. */
async function apply(
  connection: Connection,
  userId: string,
  put: readonly ErrorRow[],
  remove: readonly string[],
): Promise<void> {
  for (const ids of inPieces(remove, rowsAtOnce)) {
    await connection.atomically(userId, async (tx) => {
      await requireMember(tx, 'errors');
      await removeErrors(tx, await findErrors(tx, ids));
    });
  }
  const rows = [...new Map(put.map((error) => [error.id, error])).values()].map((error): NewRow => {
    const { id, entry, identity, first_ts, last_ts, tries, received_ts = first_ts } = error;
    const made = errorRow(userId, id, entry, error, identity ?? { key: unusableKeyOf(entry), write_ts: null });
    return { ...made, row: { ...made.row, first_ts, last_ts, tries, received_ts } };
  });
  for (const group of groupsOf(rows)) {
    await connection.atomically(userId, async (tx) => {
      await requireMember(tx, 'errors');
      const known = await findErrors(tx, group.map(idOfRow));
      await writeRows(tx, group, (row) => known.get(idOfRow(row)));
    });
  }
}

function idOfRow({ at }: NewRow): string {
  return at.id;
}

/** An error that is already stored. */
export type KnownError = KnownRow &
  Pick<FailedRow, 'id' | 'write_ts' | 'first_ts' | 'last_ts' | 'tries' | 'received_ts'>;

/** Errors by id. */
export async function findErrors(from: UserRows, ids: readonly string[]): Promise<Map<string, KnownError>> {
  const found = new Map<string, KnownError>();
  // Nearly nobody has errors, and nearly nothing that is asked for is one.
  if (ids.length > longestList && (await from.rows('errors').pick({}, ['id'], { limit: 1 }).toArray()).length === 0) {
    return found;
  }
  for (const some of inPieces(ids, longestList)) {
    const fields = ['id', 'write_ts', 'first_ts', 'last_ts', 'tries', 'received_ts', ...knownFields] as const;
    for (const row of await from
      .rows('errors')
      .pick({ id: { $in: some } }, fields)
      .toArray()) {
      found.set(row.id, row);
    }
  }
  return found;
}

/** When those of `identities` were received first that are in the timeseries or were set aside, by `textOf`. */
export async function knownElsewhere(tx: Tx, identities: readonly RowIdentity[]): Promise<Map<string, number>> {
  if (identities.length === 0) return new Map();
  const moved = await receiptsInChunks(tx, identities);
  const ids = new Map(identities.map((identity) => [errorIdOf(identityOfRow(identity)), textOf(identity)]));
  const failed = await findErrors(tx, [...ids.keys()]);
  const known = new Map([...failed].map(([id, row]) => [ids.get(id)!, receivedOf(row)]));
  for (const [text, received_ts] of moved) known.set(text, received_ts);
  return known;
}

/** Removes errors that were found in the transaction. */
export async function removeErrors(tx: Tx, known: ReadonlyMap<string, KnownError>): Promise<void> {
  const filters = inPieces([...known.keys()], longestList).map((ids) => ({ id: { $in: ids } }));
  await removeRows(tx, 'errors', [...known.values()], filters);
}

/** Writes errors; an error that already exists counts `times` more attempts. */
export async function writeErrors(
  tx: Tx,
  rows: readonly NewRow[],
  times: (row: NewRow) => number,
  now: number,
): Promise<void> {
  if (rows.length === 0) return;
  const known = await findErrors(tx, rows.map(idOfRow));
  const counted = rows.map((one): NewRow => {
    const before = known.get(idOfRow(one));
    const { first_ts = now, tries = 0 } = before ?? one.row;
    const received_ts = before === undefined ? (one.row.received_ts ?? now) : receivedOf(before);
    return { ...one, row: { ...one.row, first_ts, last_ts: now, tries: tries + times(one), received_ts } };
  });
  await writeRows(tx, counted, (row) => known.get(idOfRow(row)));
}

async function takeSomeBack(tx: Tx, errors: readonly { id: string; entry: Entry }[]): Promise<number> {
  await requireMember(tx, 'errors');
  const there = await findErrors(
    tx,
    errors.map(({ id }) => id),
  );
  const present = errors.filter(({ id }) => there.has(id));
  const identities = present.map(({ entry }) => rowIdentityOf(entry));
  const waiting = await findByIdentity(tx, 'usercache', identities, ['received_ts', 'revision']);
  const unnamed = present.filter(({ id }) => there.get(id)!.write_ts === null);
  const elsewhere = await knownElsewhere(
    tx,
    unnamed.map(({ entry }) => rowIdentityOf(entry)),
  );
  const back = new Map<string, NewRow>();
  const seen = new Set<string>();
  for (const { id, entry } of errors) {
    const error = there.get(id);
    const text = textOf(rowIdentityOf(entry));
    if (error === undefined || seen.has(id)) continue;
    seen.add(id);
    if (error.write_ts === null) {
      const twin = waiting.get(text);
      const known = twin === undefined ? elsewhere.get(text) : receivedOf(twin);
      // What is older than the known content goes; of the rest nobody can tell, and it stays.
      if (known !== undefined && known <= error.last_ts) there.delete(id);
      if (known !== undefined) continue;
    }
    if (waiting.has(text) || back.has(text)) continue;
    const failed = { first_ts: error.first_ts, tries: error.tries };
    back.set(text, entryRow('usercache', tx.userId, entry, { failed, received_ts: receivedOf(error) }));
  }
  await writeRows(tx, [...back.values()], () => undefined);
  await removeErrors(tx, there);
  return back.size;
}
