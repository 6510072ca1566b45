// Entries set aside.
import type { ClientSession, Document } from 'mongodb';
import type { Entry, Identity } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { errorIdOf, unusableIdOf, unusableKeyOf } from '../error-ids.ts';
import type { ErrorRow, ErrorTimeseries, UnusableEntry } from '../store.ts';
import type { Connection } from './connection.ts';
import { entryRow } from './entries.ts';
import { findByIdentity, identityOfRow, inPieces, rowIdentityOf, textOf } from './identities.ts';
import {
  addRows,
  groupsOf,
  type KnownRow,
  knownFields,
  type NewRow,
  newPage,
  newRow,
  payloadsOf,
  removeParts,
  withSession,
  writeParts,
  writeRows,
} from './rows.ts';

const longestList = 500;

const rowsAtOnce = 1000;

export function errorsOn(connection: Connection): ErrorTimeseries {
  return {
    list: (userId, { key, reason, after, limit }) =>
      connection.once(async () => {
        if (limit <= 0) return [];
        const filter: Document = { user_id: userId };
        if (key !== undefined) filter.key = escapeText(key);
        if (reason !== undefined) filter.reason = escapeText(reason);
        if (after !== undefined) filter.id = { $gt: after };
        const page = newPage(limit);
        await page.fill(connection.rows('errors').find(filter, { sort: { id: 1 }, limit }));
        const entries = await payloadsOf(connection, page.rows, 'entry');
        return page.rows.map((row, i) => errorOf(row, entries[i]!));
      }),
    summary: (userId) => connection.once(() => summarise(connection, userId)),
    async takeBack(userId, errors) {
      let back = 0;
      for (const some of inPieces(errors, rowsAtOnce)) back += await takeSomeBack(connection, userId, some);
      return back;
    },
    apply: (userId, { put, remove }) => apply(connection, userId, put, remove),
  };
}

function errorOf(row: Document, entry: JsonValue): ErrorRow {
  return {
    id: row.id,
    entry,
    identity: row.write_ts === null ? null : identityOfRow(row),
    reason: unescapeText(row.reason),
    message: unescapeText(row.message),
    first_ts: row.first_ts,
    last_ts: row.last_ts,
    tries: row.tries,
  };
}

async function summarise(
  connection: Connection,
  userId: string,
): Promise<{ key: string | null; reason: string; count: number }[]> {
  const groups = await connection
    .rows('errors')
    .aggregate([
      { $match: { user_id: userId } },
      { $group: { _id: { key: '$key', reason: '$reason' }, count: { $sum: 1 } } },
      { $sort: { '_id.key': 1, '_id.reason': 1 } },
    ])
    .toArray();
  return groups.map(({ _id, count }) => ({
    key: _id.key === null ? null : unescapeText(_id.key),
    reason: unescapeText(_id.reason),
    count,
  }));
}

/** The row of an entry that failed; when and how often is filled in when it is written. */
export function failureRow(
  userId: string,
  identity: Identity,
  entry: Entry,
  why: { reason: string; message: string },
): NewRow {
  return errorRow(userId, errorIdOf(identity), entry as unknown as JsonValue, why, identity);
}

/** The row of something unusable. */
export function unusableRow(userId: string, { entry, reason, message }: UnusableEntry): NewRow {
  return errorRow(userId, unusableIdOf(entry), entry, { reason, message }, null);
}

function errorRow(
  userId: string,
  id: string,
  entry: JsonValue,
  why: { reason: string; message: string },
  identity: Identity | null,
): NewRow {
  const key = identity === null ? unusableKeyOf(entry) : identity.key;
  const plain = {
    key: key === null ? null : escapeText(key),
    write_ts: identity === null ? null : identity.write_ts,
    reason: escapeText(why.reason),
    message: escapeText(why.message),
  };
  return newRow({ in: 'errors', user_id: userId, at: { id } }, plain, { entry });
}

/** Writes errors with the history that they bring along, the last of each id, and removes others. */
async function apply(
  connection: Connection,
  userId: string,
  put: readonly ErrorRow[],
  remove: readonly string[],
): Promise<void> {
  for (const ids of inPieces(remove, rowsAtOnce)) {
    await connection.atomically(async (session) =>
      removeErrors(connection, userId, await findErrors(connection, userId, ids, session), session),
    );
  }
  const rows = [...new Map(put.map((error) => [error.id, error])).values()].map((error): NewRow => {
    const { id, entry, identity, first_ts, last_ts, tries } = error;
    const made = errorRow(userId, id, entry, error, identity);
    return { ...made, row: { ...made.row, first_ts, last_ts, tries } };
  });
  await writeParts(connection, rows);
  for (const group of groupsOf(rows)) {
    const ids = group.map(({ place }) => place.at.id as string);
    await connection.atomically(async (session) => {
      const known = await findErrors(connection, userId, ids, session);
      await writeRows(connection, group, ({ place }) => known.get(place.at.id) as KnownRow | undefined, session);
    });
  }
}

/** Rows of errors by id. */
export async function findErrors(
  connection: Connection,
  userId: string,
  ids: readonly string[],
  session: ClientSession | undefined,
): Promise<Map<string, Document>> {
  const found = new Map<string, Document>();
  for (const some of inPieces(ids, longestList)) {
    const projection = { ...knownFields, id: 1, first_ts: 1, tries: 1 };
    const options = { projection, ...withSession(session) };
    const cursor = connection.rows('errors').find({ user_id: userId, id: { $in: some } }, options);
    for (const row of await cursor.toArray()) found.set(row.id, row);
  }
  return found;
}

/** Writes errors; one that is there already counts `times` more tries. */
export async function writeErrors(
  connection: Connection,
  userId: string,
  rows: readonly NewRow[],
  times: (row: NewRow) => number,
  now: number,
  session: ClientSession | undefined,
): Promise<void> {
  const ids = rows.map(({ place }) => place.at.id as string);
  const known = await findErrors(connection, userId, ids, session);
  const counted = rows.map((one): NewRow => {
    const old = known.get(one.place.at.id);
    const past = old ?? one.row;
    const counts = { first_ts: past.first_ts ?? now, last_ts: now, tries: (past.tries ?? 0) + times(one) };
    return { ...one, row: { ...one.row, ...counts } };
  });
  await writeRows(connection, counted, ({ place }) => known.get(place.at.id) as KnownRow | undefined, session);
}

/** Removes errors that were found before. */
export async function removeErrors(
  connection: Connection,
  userId: string,
  known: ReadonlyMap<string, Document>,
  session: ClientSession | undefined,
): Promise<void> {
  for (const ids of inPieces([...known.keys()], longestList)) {
    await connection.rows('errors').deleteMany({ user_id: userId, id: { $in: ids } }, withSession(session));
  }
  await removeParts(connection, userId, [...known.values()] as unknown as KnownRow[], session);
}

/** Without transactions: first the usercache, then the errors; what stands in both is cleared when the entry is settled. */
async function takeSomeBack(
  connection: Connection,
  userId: string,
  errors: readonly { id: string; entry: Entry }[],
): Promise<number> {
  const rows = new Map<string, NewRow>();
  for (const { id, entry } of errors) if (!rows.has(id)) rows.set(id, entryRow('usercache', userId, entry, {}));
  await writeParts(connection, [...rows.values()]);
  return connection.atomically(async (session) => {
    const there = await findErrors(connection, userId, [...rows.keys()], session);
    const identities = errors.filter(({ id }) => there.has(id)).map(({ entry }) => rowIdentityOf(entry));
    const waiting = await findByIdentity(connection, 'usercache', userId, identities, {}, session);
    const back = new Map<string, NewRow>();
    for (const [id, one] of rows) {
      const error = there.get(id);
      const text = textOf(one.place.at);
      if (error === undefined || waiting.has(text) || back.has(text)) continue;
      const failed = { first_ts: error.first_ts, tries: error.tries };
      back.set(text, { ...one, row: { ...one.row, failed } });
    }
    const added = await addRows(connection, [...back.values()], session);
    await removeErrors(connection, userId, there, session);
    return added.length;
  });
}
