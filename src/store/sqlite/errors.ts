// The error timeseries: what was set aside, and its way back.
import { type EntryText, entryTextOf, type Identity } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { escapeText, jsonText, unescapeText } from '../../model/json-text.ts';
import { atOnce } from '../../turns.ts';
import { unusableKeyOf } from '../error-ids.ts';
import type { ErrorRow, ErrorTimeseries } from '../store.ts';
import { soundRow } from './damaged.ts';
import type { SqlValue } from './driver.ts';
import type { StoreFile } from './file.ts';
import { fold } from './fold.ts';
import type { Shard } from './folder.ts';
import { admittedUser, userIn } from './ids.ts';
import { addWaiting, knownBefore } from './put-waiting.ts';
import { columnsOf, type SummedRow, sumOf } from './row-sums.ts';
import { pageBytes, type Shards } from './rows.ts';

interface Row {
  id: string;
  key: string | null;
  write_ts: number | null;
  reason: string;
  message: string;
  first_ts: number;
  last_ts: number;
  tries: number;
  received_ts: number;
  length: number;
}

/** The error timeseries, in the usercache file. */
export function errorTimeseries(shards: Shards): ErrorTimeseries {
  return {
    list: async (userId, page) => {
      const file = shards.of(userId).usercache;
      return file.read(() => listPage(file, userId, page));
    },
    summary: async (userId) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const sql =
          'SELECT key, reason, count(*) AS count FROM errors WHERE user = ? GROUP BY key, reason ORDER BY key, reason';
        const rows = file.sql(sql).all<{ key: string | null; reason: string; count: number }>(userIn(file, userId));
        return rows.map(({ key, reason, count }) => {
          return { key: key === null ? null : unescapeText(key), reason: unescapeText(reason), count };
        });
      });
    },
    takeBack: async (userId, errors) => {
      if (errors.length === 0) return 0;
      const shard = shards.of(userId);
      const rows = errors.map((error) => entryTextOf(error.entry));
      const back = rows.map((row, i) => ({ ...row, id: errors[i]!.id }));
      await fold(shard.timeseries, userId);
      return shard.usercache.write(() => takeBackRows(shard, userId, back), back.length);
    },
    apply: async (userId, { put, remove }) => {
      if (put.length + remove.length === 0) return;
      const file = shards.of(userId).usercache;
      const rows = put.map(valuesOf);
      const gone = [...remove];
      await file.write(() => applyRows(file, userId, rows, gone), rows.length + gone.length);
    },
  };
}

function listPage(file: StoreFile, userId: string, page: Parameters<ErrorTimeseries['list']>[1]): ErrorRow[] {
  const sql = `
    SELECT row, id, key, write_ts, reason, message, first_ts, last_ts, tries, received_ts, octet_length(entry) AS length FROM errors
    WHERE user = ?1 AND id > ?2 AND (?3 IS NULL OR key = ?3) AND (?4 IS NULL OR reason = ?4)
    ORDER BY id LIMIT ?5`;
  const [key, reason] = [page.key, page.reason].map((text) => (text === undefined ? null : escapeText(text)));
  const rows = file
    .sql(sql)
    .all<Row & { row: number }>(userIn(file, userId), page.after ?? '', key!, reason!, page.limit);
  const found: ErrorRow[] = [];
  let bytes = 0;
  for (const { row: at, key: name, write_ts, length, ...rest } of rows) {
    bytes += length;
    if (found.length > 0 && bytes > pageBytes) break;
    found.push({
      ...rest,
      reason: unescapeText(rest.reason),
      message: unescapeText(rest.message),
      entry: readEntry(file, at),
      identity: write_ts === null ? null : { key: unescapeText(name!), write_ts },
    });
  }
  return found;
}

function readEntry(file: StoreFile, at: number): JsonValue {
  const sql = `SELECT ${columnsOf('errors')} FROM errors WHERE row = ?`;
  const row = file.sql(sql).get<SummedRow & { entry: string }>(at)!;
  return soundRow(file, 'errors', row, ({ entry }) => JSON.parse(entry));
}

type Back = EntryText & { id: string };

function takeBackRows(shard: Shard, userId: string, back: readonly Back[]): number {
  const file = shard.usercache;
  const user = admittedUser(file, userId);
  const settled = settledElsewhere(shard, userId, user, back);
  const take = file.sql('DELETE FROM errors WHERE user = ? AND id = ? RETURNING first_ts, tries, received_ts');
  const rows = back.flatMap(({ id, ...row }) => {
    if (settled.has(id)) return [];
    const error = take.get<{ first_ts: number; tries: number; received_ts: number }>(user, id);
    if (error === undefined) return [];
    const { first_ts, tries, received_ts } = error;
    return [{ ...row, received_ts, kept: false, failed: { first_ts, tries } }];
  });
  return atOnce(addWaiting(file, user, rows));
}

/**
 * Errors without identity that are not taken back, as the identity of their entry is known by now. Those that are older
 * than what is known are removed.
 */
function settledElsewhere(shard: Shard, userId: string, user: number, back: readonly Back[]): Set<string> {
  const file = shard.usercache;
  const lastOf = file.sql('SELECT last_ts FROM errors WHERE user = ? AND id = ? AND write_ts IS NULL');
  const unnamed = new Map<string, Identity & { last_ts: number }>();
  for (const { id, key, write_ts } of back) {
    const error = unnamed.has(id) ? undefined : lastOf.get<{ last_ts: number }>(user, id);
    if (error !== undefined) unnamed.set(id, { key, write_ts, last_ts: error.last_ts });
  }
  const settled = new Set<string>();
  if (unnamed.size === 0) return settled;
  const remove = file.sql('DELETE FROM errors WHERE user = ? AND id = ?');
  const known = atOnce(knownBefore(shard, userId, user, [...unnamed.values()]));
  for (const [i, [id, { last_ts }]] of [...unnamed].entries()) {
    const { received_ts } = known[i]!;
    if (received_ts === null) continue;
    settled.add(id);
    if (received_ts > last_ts) remove.run(user, id);
  }
  return settled;
}

/** The columns of an error, but for the user. Taken at once: what the caller does to the row later has no effect. */
function valuesOf({
  id,
  entry,
  identity,
  reason,
  message,
  first_ts,
  last_ts,
  tries,
  received_ts,
}: ErrorRow): SqlValue[] {
  const key = identity === null ? unusableKeyOf(entry) : identity.key;
  const place = [key === null ? null : escapeText(key), identity?.write_ts ?? null];
  return [
    id,
    ...place,
    escapeText(reason),
    escapeText(message),
    first_ts,
    last_ts,
    tries,
    received_ts ?? first_ts,
    jsonText(entry),
  ];
}

function applyRows(
  file: StoreFile,
  userId: string,
  put: readonly (readonly SqlValue[])[],
  remove: readonly string[],
): void {
  const user = admittedUser(file, userId);
  const erase = file.sql('DELETE FROM errors WHERE user = ? AND id = ?');
  for (const id of remove) erase.run(user, id);
  const insert = file.sql(`
    INSERT OR REPLACE INTO errors (user, id, key, write_ts, reason, message, first_ts, last_ts, tries, received_ts, entry, sum)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const values of put) insert.run(user, ...values, sumOf([user, ...values]));
}
