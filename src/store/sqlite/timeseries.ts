// The timeseries: entries for the long term, in chunks.
import { keyTable } from '../../model/keys.ts';
import type { TimeRange } from '../../model/time.ts';
import { withFields } from '../../model/with-fields.ts';
import { editsByKey, type PutRow, putRows } from '../chunks/change.ts';
import { zonesNamed } from '../chunks/edit.ts';
import { isTouched, marksOf, united } from '../marks.ts';
import { isAhead } from '../receipts.ts';
import type { KeptEntry, Lease, Marked, Timeseries, TimeseriesChange, ZoneSighting } from '../store.ts';
import {
  chunkStart,
  editChunks,
  type FileChunk,
  type FileHead,
  findIdentity,
  headColumns,
  keepWritten,
  openChunk,
} from './chunks.ts';
import { convertEntries, olderEntries } from './convert.ts';
import type { StoreFile } from './file.ts';
import { chosenKeys, findPage, pickPage } from './find.ts';
import { fold } from './fold.ts';
import { userIn } from './ids.ts';
import { leasedUser, mergeState, readState } from './pipeline.ts';
import { parseEntry, type Shards } from './rows.ts';

/** The timeseries of users. `now`: the clock of receipts that nobody noted. */
export function timeseries(shards: Shards, now: () => number): Timeseries {
  /** The user's file, once all of their entries are in chunks. */
  const fileOf = async (userId: string): Promise<StoreFile> => {
    const file = shards.of(userId).timeseries;
    await fold(file, userId);
    return file;
  };
  /** Reads in the user's file; `user` is null when it has nothing of them. */
  const reading = async <T>(userId: string, work: (file: StoreFile, user: number | null) => T): Promise<T> => {
    const file = await fileOf(userId);
    return file.read(() => work(file, userIn(file, userId)));
  };
  return {
    apply: async (userId, change, lease) => {
      const rows = putRows(change.put);
      const gone = change.remove.map(({ key, write_ts }) => ({ key, write_ts }));
      const file = await fileOf(userId);
      const work = () => applyRows(file, userId, withFields(change, { remove: gone }), rows, lease, now());
      const { done, written } = await file.write(work, rows.length + gone.length);
      keepWritten(file, userId, written);
      return done;
    },
    find: (userId, query) => reading(userId, (file) => findPage(file, userId, query)),
    pick: (userId, query, fields, read) => reading(userId, (file) => pickPage(file, userId, query, fields, read)),
    get: (userId, { key, write_ts }) =>
      reading(userId, (file, user) => {
        const found = findIdentity(file, user, file.keys.find(key), write_ts);
        return found === null ? null : parseEntry(found.chunk.texts[found.place]!);
      }),
    ahead: (userId, page) => reading(userId, (file, user) => aheadRows(file, user, page)),
    summary: (userId) =>
      reading(userId, (file, user) =>
        user === null ? [] : chosenKeys(file, user).map((key) => summaryOf(file, user, key)),
      ),
    zonesAround: (userId, writeTs) =>
      reading(userId, (file, user) => {
        if (user === null) return { before: null, after: null };
        const keys = chosenKeys(file, user).map(({ id }) => id);
        return { before: lastZone(file, user, keys, writeTs), after: nextZone(file, user, keys, writeTs) };
      }),
    zonelessSpan: (userId, written) => reading(userId, (file, user) => zonelessSpan(file, user, written)),
    older: (userId) => olderEntries(shards.of(userId).timeseries, userId),
    convert: (userId, signal) => convertEntries(shards.of(userId).timeseries, userId, signal),
  };
}

function applyRows(
  file: StoreFile,
  userId: string,
  { remove, alsoChanged = null }: TimeseriesChange,
  rows: readonly PutRow[],
  lease: Lease,
  now: number,
): { done: Awaited<ReturnType<Timeseries['apply']>>; written: FileChunk[] } {
  const user = leasedUser(file, userId, lease);
  const touched: Marked = { changed: alsoChanged, documents: false };
  const counts = { inserted: 0, updated: 0, unchanged: 0, removed: 0 };
  const written: FileChunk[] = [];
  for (const [name, edits] of editsByKey(rows, remove, touched, counts, now)) {
    written.push(...editChunks(file, user, file.keys.intern(name), edits));
  }
  if (isTouched(touched)) mergeState(file, user, marksOf(readState(file, user), touched));
  return { done: withFields(counts, { marked: touched }), written };
}

function aheadRows(file: StoreFile, user: number | null, { at, limit }: { at: number; limit: number }): KeptEntry[] {
  if (user === null) return [];
  const sql = file.sql(`SELECT ${headColumns} FROM chunks WHERE user = ? AND key = ? AND first >= ? ORDER BY first`);
  const found: KeptEntry[] = [];
  for (const { id } of chosenKeys(file, user)) {
    for (const head of sql.all<FileHead>(user, id, chunkStart(file, user, id, at))) {
      for (const { text, ts, write_ts, received_ts } of openChunk(file, head).rows()) {
        if (!isAhead({ write_ts, received_ts }, at)) continue;
        if (found.length >= limit) return found;
        found.push({ entry: parseEntry(text), ts, text, received_ts });
      }
    }
  }
  return found;
}

function summaryOf(
  file: StoreFile,
  user: number,
  { key: name, id: key }: { key: string; id: number },
): Awaited<ReturnType<Timeseries['summary']>>[number] {
  const sql =
    'SELECT sum(count) AS count, min(first_ts) AS first_ts, max(last_ts) AS last_ts FROM chunks WHERE user = ? AND key = ?';
  return {
    key: name,
    ...file.sql(sql).get<{ count: number; first_ts: number | null; last_ts: number | null }>(user, key)!,
  };
}

/** The last entry with a zone up to `writeTs`; `keys` come by name: of several at the same time that of the first. */
function lastZone(file: StoreFile, user: number, keys: readonly number[], writeTs: number): ZoneSighting | null {
  const later = (last: ZoneSighting | null, key: number): ZoneSighting | null =>
    zoneBefore(file, user, key, writeTs, last?.write_ts) ?? last;
  return keys.reduce(later, null);
}

/** The first entry with a zone after `writeTs`, as above. */
function nextZone(file: StoreFile, user: number, keys: readonly number[], writeTs: number): ZoneSighting | null {
  const earlier = (next: ZoneSighting | null, key: number): ZoneSighting | null =>
    zoneAfter(file, user, key, writeTs, next?.write_ts) ?? next;
  return keys.reduce(earlier, null);
}

/** Chunks of a key with zones. These texts are made once, as all statements are found by them. */
const zoned = `SELECT ${headColumns} FROM chunks WHERE user = ? AND key = ? AND zones > ${zonesNamed.none}`;
const zonedUpTo = `${zoned} AND first <= ? ORDER BY first DESC LIMIT 1`;
const zonedBefore = `${zoned} AND first < ? ORDER BY first DESC LIMIT 1`;
const zonedFrom = `${zoned} AND first >= ? ORDER BY first LIMIT 1`;
const zonedAfter = `${zoned} AND first > ? ORDER BY first LIMIT 1`;

/** The last entry of a key with a zone up to `writeTs`; null where it is not later than `than`. */
function zoneBefore(
  file: StoreFile,
  user: number,
  key: number,
  writeTs: number,
  than = Number.NEGATIVE_INFINITY,
): ZoneSighting | null {
  let head = file.sql(zonedUpTo).get<FileHead>(user, key, writeTs);
  for (; head !== undefined; head = file.sql(zonedBefore).get<FileHead>(user, key, head.first)) {
    if (Math.min(head.last, writeTs) <= than) return null;
    const chunk = openChunk(file, head);
    for (let place = chunk.placeAfter(writeTs) - 1; place >= 0; place--) {
      const [zone, write_ts] = [chunk.zoneAt(place), chunk.times.write_ts[place]!];
      if (zone !== null) return write_ts > than ? { write_ts, zone } : null;
    }
  }
  return null;
}

/** The first entry of a key with a zone after `writeTs`; null where it is not earlier than `than`. */
function zoneAfter(
  file: StoreFile,
  user: number,
  key: number,
  writeTs: number,
  than = Number.POSITIVE_INFINITY,
): ZoneSighting | null {
  let head = file.sql(zonedFrom).get<FileHead>(user, key, chunkStart(file, user, key, writeTs));
  for (; head !== undefined; head = file.sql(zonedAfter).get<FileHead>(user, key, head.first)) {
    if (Math.max(head.first, writeTs) >= than) return null;
    const chunk = openChunk(file, head);
    for (let place = chunk.placeAfter(writeTs); place < head.count; place++) {
      const [zone, write_ts] = [chunk.zoneAt(place), chunk.times.write_ts[place]!];
      if (zone !== null) return write_ts < than ? { write_ts, zone } : null;
    }
  }
  return null;
}

const keysOfTrips = keyTable.filter((row) => row.affects === 'trips').map((row) => row.key);

function zonelessSpan(file: StoreFile, user: number | null, { from, to }: TimeRange): TimeRange | null {
  if (user === null) return null;
  const sql = file.sql(`
    SELECT ${headColumns}, zones, first_ts, last_ts FROM chunks
    WHERE user = ? AND key = ? AND zones < ${zonesNamed.all} AND first >= ? AND first < ? ORDER BY first`);
  let found: TimeRange | null = null;
  for (const name of keysOfTrips) {
    const key = file.keys.find(name);
    if (key === null) continue;
    for (const head of sql.all<ZonelessHead>(user, key, chunkStart(file, user, key, from), to)) {
      const whole = head.zones === zonesNamed.none && head.first >= from && head.last < to;
      const span = whole ? spanOf(head) : openChunk(file, head).zonelessIn({ from, to });
      found = united(found, span);
    }
  }
  return found;
}

interface ZonelessHead extends FileHead {
  zones: number;
  first_ts: number | null;
  last_ts: number | null;
}

function spanOf({ first_ts, last_ts }: ZonelessHead): TimeRange | null {
  return first_ts === null || last_ts === null ? null : { from: first_ts, to: last_ts };
}
