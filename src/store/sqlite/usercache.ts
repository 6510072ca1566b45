// The usercache: entries that wait for the pipeline.
import { type EntryText, entryTextOf, type Identity } from '../../model/entry.ts';
import type { JsonValue } from '../../model/json.ts';
import { escapeText, jsonText } from '../../model/json-text.ts';
import { atOnce, mapInSlices } from '../../turns.ts';
import { errorIdOf, unusableIdOf, unusableKeyOf } from '../error-ids.ts';
import { believedAhead } from '../receipts.ts';
import type { FailedEntry, PutResult, UnusableEntry, Usercache, WaitingEntry, WaitingRef } from '../store.ts';
import { compareTexts } from '../text-order.ts';
import { findIdentity, newestWritten } from './chunks.ts';
import type { SqlValue } from './driver.ts';
import { inSnapshot, type StoreFile } from './file.ts';
import { chosenKeys, findPage, keysOf } from './find.ts';
import { fold } from './fold.ts';
import type { Shard } from './folder.ts';
import { admittedUser, takeNumbers, userIn } from './ids.ts';
import { sealRow } from './row-sums.ts';
import { largeEntry, pageBytes, parseEntry, type Shards, type SizedEntry, sizedEntry } from './rows.ts';

/** The usercache: entries that wait for the pipeline. */
export function usercache(shards: Shards): Usercache {
  return {
    put: async (userId, { entries, unusable, received_ts = [], kept = false }, now) => {
      // Taken at once: what the caller does to an entry later has no effect.
      const rows = entries.map((entry) => ('text' in entry ? entry : entryTextOf(entry)));
      const rejected = await mapInSlices(unusable, unusableRow);
      if (rows.length + rejected.length === 0) return [];
      const shard = shards.of(userId);
      await fold(shard.timeseries, userId);
      const work = function* (): Generator<void, PutResult[]> {
        const user = admittedUser(shard.usercache, userId);
        yield* setAside(shard.usercache, user, rejected, now);
        const receipts = rows.map((_, i) => received_ts[i]);
        return yield* kept
          ? keepWaiting(shard.usercache, user, rows, receipts, now)
          : putRows(shard, userId, user, rows, receipts, now);
      };
      return shard.usercache.writeInSteps(work, rows.length + rejected.length);
    },
    read: async (userId, { after, limit, at }) => {
      const file = shards.of(userId).usercache;
      return file.read(() =>
        readPage(file, userId, { after: after ?? null, limit, at: at ?? Number.POSITIVE_INFINITY }),
      );
    },
    settle: async (userId, { moved, failed }, now) => {
      if (moved.length + failed.length === 0) return 0;
      const file = shards.of(userId).usercache;
      const work = (): number => {
        const user = userIn(file, userId);
        if (user === null) return 0;
        const left = settleMoved(file, user, moved) + settleFailed(file, user, failed, now);
        giveBackPages(file);
        return left;
      };
      return file.write(work, moved.length + failed.length);
    },
    find: async (userId, query) => {
      const file = shards.of(userId).usercache;
      return file.read(() => findPage(file, 'waiting', userId, query));
    },
    summary: async (userId) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const sql =
          'SELECT count(*) AS count, min(write_ts) AS oldest_ts, max(write_ts) AS newest_ts FROM waiting WHERE user = ?';
        return { ...file.sql(sql).get<Awaited<ReturnType<Usercache['summary']>>>(userIn(file, userId))! };
      });
    },
    keys: async (userId) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const user = userIn(file, userId);
        return user === null ? [] : keysOf(file, 'waiting', user).map((id) => file.keys.nameOf(id));
      });
    },
    ahead: async (userId, at) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const sql = `
          SELECT count(*) AS count, min(write_ts) AS first_ts FROM waiting
          WHERE user = ? AND write_ts > ? AND write_ts > received_ts + ${believedAhead}`;
        return { ...file.sql(sql).get<Awaited<ReturnType<Usercache['ahead']>>>(userIn(file, userId), at)! };
      });
    },
  };
}

/**
 * Rows of one INSERT, the most that still fit first: one by one they take twice as long, beyond fifty nothing is
 * gained.
 */
const insertSizes = [50, 10, 1] as const;

function insertRows(file: StoreFile, values: readonly SqlValue[], rows: number): number {
  const places = rows === 1 ? onePlace : Array(rows).fill(onePlace).join(', ');
  const sql = `INSERT INTO waiting (user, key, write_ts, ts, revision, received_ts, entry) VALUES ${places} ON CONFLICT DO NOTHING`;
  return file.sql(sql).run(...values).changes;
}

const onePlace = '(?, ?, ?, ?, ?, ?, ?)';

/** A key of a batch: its number, and when times of it that do not wait were received first; null for one never met. */
interface KnownKey {
  id: number;
  receivedAt: (writeTs: number) => number | null;
}

function* putRows(
  shard: Shard,
  userId: string,
  user: number,
  rows: readonly EntryText[],
  receipts: readonly (number | undefined)[],
  now: number,
): Generator<void, PutResult[]> {
  const file = shard.usercache;
  const update = file.sql(
    'UPDATE waiting SET ts = ?, revision = ?, entry = ?, kept = NULL WHERE user = ? AND key = ? AND write_ts = ? AND revision <> ?',
  );
  const receive = file.sql('UPDATE waiting SET received_ts = ? WHERE user = ? AND key = ? AND write_ts = ?');
  const known = knownElsewhere(shard, userId, user);
  const met = new Map<string, KnownKey>();
  const keyOf = (name: string): KnownKey => {
    let key = met.get(name);
    if (key === undefined) {
      key = { id: file.keys.intern(name), receivedAt: known(name) };
      met.set(name, key);
    }
    return key;
  };
  const keys = rows.map(({ key }) => keyOf(key));
  const first = takeNumbers(file, 'revision', rows.length);
  const results: PutResult[] = [];
  for (let start = 0; start < rows.length; start = results.length) {
    const count = insertSizes.find((size) => start + size <= rows.length)!;
    const values: SqlValue[] = [];
    const before: (number | null)[] = [];
    for (let i = start; i < start + count; i++) {
      const { write_ts, ts, text } = rows[i]!;
      const received = keys[i]!.receivedAt(write_ts);
      before.push(received);
      values.push(user, keys[i]!.id, write_ts, ts, first + i, receipts[i] ?? received ?? now, text);
    }
    const allNew = insertRows(file, values, count) === count;
    for (let i = start; i < start + count; i++) {
      const { write_ts, ts, text } = rows[i]!;
      const { id } = keys[i]!;
      // What the INSERT left out waits already, under another revision.
      const waits = !allNew && update.run(ts, first + i, text, user, id, write_ts, first + i).changes === 1;
      if (waits && receipts[i] !== undefined) receive.run(receipts[i]!, user, id, write_ts);
      results.push(waits || before[i - start] !== null ? 'updated' : 'inserted');
    }
    yield;
  }
  return results;
}

/** Lets entries that the timeseries had wait for their time. What waits already is newer and stays. */
function* keepWaiting(
  file: StoreFile,
  user: number,
  rows: readonly EntryText[],
  receipts: readonly (number | undefined)[],
  now: number,
): Generator<void, PutResult[]> {
  const insert = file.sql(`
    INSERT INTO waiting (user, key, write_ts, ts, revision, received_ts, kept, entry) VALUES (?, ?, ?, ?, ?, ?, 1, ?)
    ON CONFLICT DO NOTHING`);
  const first = takeNumbers(file, 'revision', rows.length);
  for (const [i, { key, write_ts, ts, text }] of rows.entries()) {
    insert.run(user, file.keys.intern(key), write_ts, ts, first + i, receipts[i] ?? now, text);
    yield;
  }
  return rows.map(() => 'updated');
}

/**
 * Tells, key by key, since when the timeseries or the error timeseries knows a `write_ts`. What is moved is in the
 * timeseries before it leaves the usercache: asked while this transaction holds the usercache, an entry that does not
 * wait there is seen wherever it went. Most entries are newer than all that is known of their key, so that one look for
 * each key answers for them.
 */
function knownElsewhere(
  shard: Shard,
  userId: string,
  user: number,
): (name: string) => (writeTs: number) => number | null {
  const { usercache, timeseries } = shard;
  timeseries.keys.refresh();
  const owner = userIn(timeseries, userId);
  const failed = usercache.sql('SELECT received_ts FROM errors WHERE user = ? AND key = ? AND write_ts = ?');
  const anyFailed = usercache.sql('SELECT 1 FROM errors WHERE user = ? LIMIT 1').get(user) !== undefined;
  return (name) => {
    const key = owner === null ? null : timeseries.keys.find(name);
    const last = owner === null || key === null ? Number.NEGATIVE_INFINITY : newestWritten(timeseries, owner, key);
    const escaped = escapeText(name);
    return (writeTs) => {
      const found =
        (writeTs <= last ? receiptIn(timeseries, owner, key, writeTs) : null) ??
        (anyFailed ? failed.get<Receipt>(user, escaped, writeTs)?.received_ts : undefined);
      return found ?? null;
    };
  };
}

function receiptIn(file: StoreFile, user: number | null, key: number | null, writeTs: number): number | null {
  const found = inSnapshot(file, () => findIdentity(file, user, key, writeTs));
  return found === null ? null : found.chunk.times.received_ts[found.place]!;
}

interface Receipt {
  received_ts: number;
}

function readPage(
  file: StoreFile,
  userId: string,
  { after, limit, at }: { after: Identity | null; limit: number; at: number },
): WaitingEntry[] {
  const user = userIn(file, userId);
  if (user === null) return [];
  const sql = `
    SELECT id, revision, received_ts, kept, failed_first_ts, failed_tries, ${sizedEntry(largeEntry)} FROM waiting
    WHERE user = ? AND key = ? AND write_ts > ? AND (write_ts <= ? OR write_ts <= received_ts + ${believedAhead}) ORDER BY write_ts LIMIT ?`;
  const text = file.sql('SELECT entry FROM waiting WHERE id = ?');
  const page: WaitingEntry[] = [];
  let bytes = 0;
  for (const { key, id } of chosenKeys(file, 'waiting', user)) {
    const order = after === null ? 1 : compareTexts(key, after.key);
    if (order < 0) continue;
    const beyond = order === 0 ? after!.write_ts : Number.NEGATIVE_INFINITY;
    const rows = file
      .sql(sql)
      .all<Failures & Receipt & SizedEntry & { id: number; revision: number; kept: number | null }>(
        user,
        id,
        beyond,
        at,
        limit - page.length,
      );
    for (const row of rows) {
      bytes += row.length;
      if (page.length > 0 && bytes > pageBytes) return page;
      const entry = row.entry ?? text.get<{ entry: string }>(row.id)!.entry;
      page.push({
        entry: parseEntry(entry),
        text: entry,
        revision: String(row.revision),
        ...receiptOf(row),
        ...failedOf(row),
      });
    }
    if (page.length >= limit) break;
  }
  return page;
}

function receiptOf({
  received_ts,
  kept,
}: Receipt & { kept: number | null }): Pick<WaitingEntry, 'received_ts' | 'kept'> {
  return kept === null ? { received_ts } : { received_ts, kept: true };
}

function settleMoved(file: StoreFile, user: number, moved: readonly WaitingRef[]): number {
  const leave = file.sql('DELETE FROM waiting WHERE user = ? AND key = ? AND write_ts = ? AND revision = ?');
  const forgive = file.sql('DELETE FROM errors WHERE user = ? AND key = ? AND write_ts = ?');
  const anyErrors = file.sql('SELECT 1 FROM errors WHERE user = ? LIMIT 1').get(user) !== undefined;
  let left = 0;
  for (const ref of moved) {
    const key = file.keys.find(ref.key);
    if (key === null || leave.run(user, key, ref.write_ts, Number(ref.revision)).changes === 0) continue;
    left++;
    if (anyErrors) forgive.run(user, escapeText(ref.key), ref.write_ts);
  }
  return left;
}

/** What a row says about earlier failures. */
interface Failures {
  failed_first_ts: number | null;
  failed_tries: number | null;
}

function failedOf({ failed_first_ts: first_ts, failed_tries: tries }: Failures): Pick<WaitingEntry, 'failed'> {
  return first_ts === null || tries === null ? {} : { failed: { first_ts, tries } };
}

const fewPages = 64; // 256 KB; not worth a look
const pagesAtOnce = 4_000; // 16 MB; others wait for the file meanwhile

/**
 * Makes the file smaller once three of four pages are free: then few have to change their place for it. A file that an
 * earlier program made keeps its free pages for later entries.
 */
function giveBackPages(file: StoreFile): void {
  const { freelist_count: free } = file.sql('PRAGMA freelist_count').get<{ freelist_count: number }>()!;
  if (free <= fewPages) return;
  const { page_count: pages } = file.sql('PRAGMA page_count').get<{ page_count: number }>()!;
  if (free > (3 / 4) * pages) file.connection.exec(`PRAGMA incremental_vacuum(${pagesAtOnce})`);
}

interface Failing extends Failures, Receipt {
  id: number;
  entry: string;
}

function settleFailed(file: StoreFile, user: number, failed: readonly FailedEntry[], now: number): number {
  const find = file.sql(`
    SELECT id, entry, received_ts, failed_first_ts, failed_tries FROM waiting
    WHERE user = ? AND key = ? AND write_ts = ? AND revision = ?`);
  const leave = file.sql('DELETE FROM waiting WHERE id = ?');
  let left = 0;
  for (const { key: name, write_ts, revision, reason, message } of failed) {
    const key = file.keys.find(name);
    const row = key === null ? undefined : find.get<Failing>(user, key, write_ts, Number(revision));
    if (row === undefined) continue;
    leave.run(row.id);
    const id = errorIdOf({ key: name, write_ts });
    const { received_ts: received } = row;
    const history = { first: row.failed_first_ts ?? now, tries: (row.failed_tries ?? 0) + 1, received };
    atOnce(setAside(file, user, [{ id, key: name, write_ts, reason, message, text: row.entry }], now, history));
    left++;
  }
  return left;
}

interface Aside {
  id: string;
  key: string | null;
  write_ts: number | null;
  reason: string;
  message: string;
  text: string;
}

function unusableRow({ entry, reason, message }: UnusableEntry): Aside {
  const id = unusableIdOf(entry);
  return { id, key: unusableKeyOf(entry), write_ts: null, reason, message, text: jsonText(entry as JsonValue) };
}

function* setAside(
  file: StoreFile,
  user: number,
  rows: readonly Aside[],
  now: number,
  history = { first: now, tries: 1, received: now },
): Generator<void, void> {
  const upsert = file.sql(`
    INSERT INTO errors (user, id, key, write_ts, reason, message, first_ts, last_ts, tries, received_ts, entry)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (user, id) DO UPDATE SET
      reason = excluded.reason, message = excluded.message, entry = excluded.entry,
      last_ts = excluded.last_ts, tries = tries + 1`);
  for (const { id, key, write_ts, reason, message, text } of rows) {
    const name = key === null ? null : escapeText(key);
    const words = [escapeText(reason), escapeText(message)] as const;
    upsert.run(user, id, name, write_ts, ...words, history.first, now, history.tries, history.received, text);
    sealRow(file, 'errors', 'user = ? AND id = ?', user, id);
    yield;
  }
}
