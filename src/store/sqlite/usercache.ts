// The usercache: entries that wait for the pipeline.
import { entryTextOf, type Identity } from '../../model/entry.ts';
import { escapeText, jsonText } from '../../model/json-text.ts';
import { atOnce, mapInSlices } from '../../turns.ts';
import { errorIdOf, unusableIdOf, unusableKeyOf } from '../error-ids.ts';
import { isAhead } from '../receipts.ts';
import type { FailedEntry, PutBatch, PutNote, PutResult, UnusableEntry, Usercache, WaitingRef } from '../store.ts';
import { type BatchHead, headsOf, openBatch, placesOf, takeOut, waitingKeyIds } from './batches.ts';
import { endsTransaction, storeError } from './engine-errors.ts';
import type { StoreFile } from './file.ts';
import { findWaiting, readPage } from './find-waiting.ts';
import { fold } from './fold.ts';
import type { Shard } from './folder.ts';
import { admittedUser, userIn } from './ids.ts';
import { mergeProfile } from './people.ts';
import { addWaiting, knownBefore, type PutEntry, putWaiting, takeOutWaiting } from './put-waiting.ts';
import { sealRow } from './row-sums.ts';
import type { Shards } from './rows.ts';

/** The usercache: entries that wait for the pipeline. */
export function usercache(shards: Shards): Usercache {
  return {
    put: async (userId, { entries, unusable, received_ts = [], kept = false, note }, now) => {
      // Taken at once: what the caller does to an entry later has no effect.
      const rows = rowsOf(entries, received_ts);
      const rejected = await mapInSlices(unusable, unusableRow);
      const count = rows.length + rejected.length;
      if (count === 0 && note === undefined) return [];
      const shard = shards.of(userId);
      await fold(shard.timeseries, userId);
      const put: PutRows = { rows, rejected, kept, note, failure: null };
      const work = (): Generator<void, PutResult[]> => putAll(shard, userId, put, now);
      const results = await shard.usercache.writeInSteps(work, Math.max(count, 1));
      if (put.failure !== null) note?.onFailure(put.failure);
      return results;
    },
    read: async (userId, { after, limit, at, lazily }) => {
      const file = shards.of(userId).usercache;
      return file.read(() =>
        readPage(file, userId, {
          after: after ?? null,
          limit,
          at: at ?? Number.POSITIVE_INFINITY,
          lazily: lazily ?? false,
        }),
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
      return file.read(() => findWaiting(file, userId, query));
    },
    summary: async (userId) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const sql = `
          SELECT coalesce(sum(count), 0) AS count, min(first) AS oldest_ts, max(last) AS newest_ts FROM batches
          WHERE user = ?`;
        return { ...file.sql(sql).get<Awaited<ReturnType<Usercache['summary']>>>(userIn(file, userId))! };
      });
    },
    keys: async (userId) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const user = userIn(file, userId);
        return user === null ? [] : [...waitingKeyIds(file, user)].map((id) => file.keys.nameOf(id));
      });
    },
    ahead: async (userId, at) => {
      const file = shards.of(userId).usercache;
      return file.read(() => {
        const user = userIn(file, userId);
        return user === null ? { count: 0, first_ts: null } : aheadOf(file, user, at);
      });
    },
  };
}

function aheadOf(file: StoreFile, user: number, at: number): Awaited<ReturnType<Usercache['ahead']>> {
  let [count, first] = [0, Number.POSITIVE_INFINITY];
  for (const head of headsOf(file, user, { first: at })) {
    const batch = openBatch(file, head);
    for (const [place, write_ts] of batch.columns.write_ts.entries()) {
      const received_ts = batch.columns.received_ts[place]!;
      if (!isAhead({ write_ts, received_ts }, at) || !batch.waits(place)) continue;
      count++;
      first = Math.min(first, write_ts);
    }
  }
  return { count, first_ts: count === 0 ? null : first };
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

function settleMoved(file: StoreFile, user: number, moved: readonly WaitingRef[]): number {
  const forgive = file.sql('DELETE FROM errors WHERE user = ? AND key = ? AND write_ts = ?');
  const anyErrors = file.sql('SELECT 1 FROM errors WHERE user = ? LIMIT 1').get(user) !== undefined;
  let left = 0;
  for (const found of placesOf(file, user, moved.map(revisionOf))) {
    if (anyErrors) {
      const { waits } = identitiesOf(file, found.head);
      for (const place of found.places) {
        const identity = waits(place);
        if (identity !== null) forgive.run(user, escapeText(identity.key), identity.write_ts);
      }
    }
    left += takeOut(file, found);
  }
  return left;
}

const revisionOf = ({ revision }: WaitingRef): number => Number(revision);

/** The identities of a batch by place; null where nothing waits any more. */
function identitiesOf(file: StoreFile, head: BatchHead): { waits: (place: number) => Identity | null } {
  const batch = openBatch(file, head);
  const { runs, write_ts } = batch.columns;
  return {
    waits: (place) => {
      if (!batch.waits(place)) return null;
      const run = runs.find(({ to }) => place < to)!;
      return { key: file.keys.nameOf(run.key), write_ts: write_ts[place]! };
    },
  };
}

function settleFailed(file: StoreFile, user: number, failed: readonly FailedEntry[], now: number): number {
  const byRevision = new Map(failed.map((one) => [revisionOf(one), one]));
  let left = 0;
  for (const { head, places } of placesOf(file, user, [...byRevision.keys()])) {
    const batch = openBatch(file, head);
    for (const place of places) {
      if (!batch.waits(place)) continue;
      const { key, write_ts, reason, message } = byRevision.get(head.id + place)!;
      const before = batch.failedAt(place);
      const received = batch.columns.received_ts[place]!;
      const history = historyOf(before, received, now);
      const id = errorIdOf({ key, write_ts });
      const text = batch.texts.at(place);
      atOnce(setAside(file, user, [{ id, key, write_ts, reason, message, text, history }], now));
    }
    left += takeOut(file, { head, places }, batch);
  }
  return left;
}

function rowsOf(entries: PutBatch['entries'], received: readonly (number | undefined)[]): PutEntry[] {
  const rows = new Array<PutEntry>(entries.length);
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i]!;
    const { key, write_ts, ts, text } = 'text' in entry ? entry : entryTextOf(entry);
    rows[i] = { key, write_ts, ts, text, received_ts: received[i] };
  }
  return rows;
}

/** What a put stores: entries by their texts, and what is set aside. */
interface PutRows {
  rows: readonly PutEntry[];
  rejected: readonly Aside[];
  kept: boolean;
  /** What the profile is to say once it is stored. */
  note: PutNote | undefined;
  /** Why it does not say so. */
  failure: unknown;
}

/**
 * Stores a put inside its transaction. Not a generator made within `put`: V8 gives each of those a map of its own in
 * the old generation, which keeps all that it refers to, here the whole batch, until the next full collection.
 */
function* putAll(shard: Shard, userId: string, put: PutRows, now: number): Generator<void, PutResult[]> {
  const { rows, rejected, kept, note } = put;
  const user = admittedUser(shard.usercache, userId);
  yield* setAside(shard.usercache, user, yield* inPlaceOfWaiting(shard, userId, user, rejected, now), now);
  const results = kept
    ? yield* putBack(shard.usercache, user, rows, now)
    : yield* putWaiting(shard, userId, user, rows, now);
  put.failure = note === undefined ? null : noteFailure(shard.usercache, user, note);
  return results;
}

function* putBack(file: StoreFile, user: number, rows: readonly PutEntry[], now: number): Generator<void, PutResult[]> {
  const back = rows.map((row) => ({ ...row, received_ts: row.received_ts ?? now, kept: true, failed: null }));
  yield* addWaiting(file, user, back);
  return rows.map(() => 'updated');
}

/**
 * Writes a note into the profile, in the transaction of its put, so that a small put waits for the disk only once.
 * Returns why that failed, or null.
 */
function noteFailure(file: StoreFile, user: number, { fields }: PutNote): unknown {
  try {
    mergeProfile(file, user, fields);
    return null;
  } catch (error) {
    if (endsTransaction(error) || !file.connection.inTransaction) throw error;
    return storeError(error, file.path);
  }
}

interface Aside {
  id: string;
  key: string | null;
  write_ts: number | null;
  reason: string;
  message: string;
  text: string;
  /** Default: it is set aside for the first time now. */
  history?: History;
}

interface History {
  first: number;
  tries: number;
  received: number;
}

const historyOf = (failed: { first_ts: number; tries: number } | null, received: number, now: number): History => ({
  first: failed?.first_ts ?? now,
  tries: (failed?.tries ?? 0) + 1,
  received,
});

function unusableRow({ entry, identity, reason, message }: UnusableEntry): Aside {
  const words = { reason, message, text: jsonText(entry) };
  if (identity !== undefined) {
    const { key, write_ts } = identity;
    return { id: errorIdOf({ key, write_ts }), key, write_ts, ...words };
  }
  return { id: unusableIdOf(entry), key: unusableKeyOf(entry), write_ts: null, ...words };
}

/** Those with an identity take the place of what waits under it: the content that arrived last counts. */
function* inPlaceOfWaiting(
  shard: Shard,
  userId: string,
  user: number,
  rows: readonly Aside[],
  now: number,
): Generator<void, readonly Aside[]> {
  const identities = rows.flatMap(identityOfAside);
  if (identities.length === 0) return rows;
  const known = yield* knownBefore(shard, userId, user, identities);
  yield* takeOutWaiting(shard.usercache, user, known);
  let at = 0;
  return rows.map((row) => {
    if (row.write_ts === null) return row;
    const { received_ts, failed } = known[at++]!;
    return { ...row, history: historyOf(failed, received_ts ?? now, now) };
  });
}

const identityOfAside = ({ key, write_ts }: Aside): Identity[] =>
  key === null || write_ts === null ? [] : [{ key, write_ts }];

function* setAside(file: StoreFile, user: number, rows: readonly Aside[], now: number): Generator<void, void> {
  const upsert = file.sql(`
    INSERT INTO errors (user, id, key, write_ts, reason, message, first_ts, last_ts, tries, received_ts, entry)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (user, id) DO UPDATE SET
      reason = excluded.reason, message = excluded.message, entry = excluded.entry,
      last_ts = excluded.last_ts, tries = tries + 1`);
  const firstTime = historyOf(null, now, now);
  for (const { id, key, write_ts, reason, message, text, history = firstTime } of rows) {
    const name = key === null ? null : escapeText(key);
    const words = [escapeText(reason), escapeText(message)] as const;
    upsert.run(user, id, name, write_ts, ...words, history.first, now, history.tries, history.received, text);
    sealRow(file, 'errors', 'user = ? AND id = ?', user, id);
    yield;
  }
}
