// The timeseries: entries for the long term.
import { type EntryText, entryTextOf, type Identity } from '../../model/entry.ts';
import { keyTable } from '../../model/keys.ts';
import { isTimeZone, type TimeRange } from '../../model/time.ts';
import { keptEntry } from '../kept-entry.ts';
import { isTouched, marksOf, touch, united } from '../marks.ts';
import { believedAhead } from '../receipts.ts';
import type { KeptEntry, Lease, Marked, Timeseries, TimeseriesChange, ZoneSighting } from '../store.ts';
import { compareTexts } from '../text-order.ts';
import type { StoreFile } from './file.ts';
import { chosenKeys, findPage, keysOf } from './find.ts';
import { userIn } from './ids.ts';
import { leasedUser, mergeState, readState } from './pipeline.ts';
import { parseEntry, type Shards } from './rows.ts';

interface StoredRow extends EntryText {
  latitude: number | null;
  longitude: number | null;
  zone: string | null;
  received_ts: number | undefined;
}

/** The timeseries of users. `now`: the clock of receipts that nobody noted. */
export function timeseries(shards: Shards, now: () => number): Timeseries {
  return {
    apply: async (userId, change, lease) => {
      const file = shards.of(userId).timeseries;
      const rows = storedRows(change.put);
      const work = () => applyRows(file, userId, rows, change, lease, now());
      return file.write(work, rows.length + change.remove.length);
    },
    find: async (userId, query) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => findPage(file, 'entries', userId, query));
    },
    get: async (userId, { key, write_ts }) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => {
        const sql = 'SELECT entry FROM entries WHERE user = ? AND key = ? AND write_ts = ?';
        const row = file.sql(sql).get<{ entry: string }>(userIn(file, userId), file.keys.find(key), write_ts);
        return row === undefined ? null : parseEntry(row.entry);
      });
    },
    ahead: async (userId, page) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => aheadRows(file, userIn(file, userId), page));
    },
    summary: async (userId) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => {
        const user = userIn(file, userId);
        return user === null ? [] : chosenKeys(file, 'entries', user).map((key) => summaryOf(file, user, key));
      });
    },
    zonesAround: async (userId, writeTs) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => {
        const user = userIn(file, userId);
        if (user === null) return { before: null, after: null };
        return { before: sighting(file, user, '<=', writeTs), after: sighting(file, user, '>', writeTs) };
      });
    },
    zonelessSpan: async (userId, written) => {
      const file = shards.of(userId).timeseries;
      return file.read(() => zonelessSpan(file, userIn(file, userId), written));
    },
  };
}

function storedRows(put: TimeseriesChange['put']): StoredRow[] {
  return put.map((one) => {
    const { entry, ts, text: known, received_ts } = keptEntry(one);
    const { data, metadata } = entry;
    const { key, write_ts, text } = entryTextOf(entry, known);
    const zone = isTimeZone(metadata.time_zone) ? metadata.time_zone : null;
    return {
      key,
      write_ts,
      ts,
      text,
      latitude: finite(data.latitude),
      longitude: finite(data.longitude),
      zone,
      received_ts,
    };
  });
}

function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function applyRows(
  file: StoreFile,
  userId: string,
  rows: readonly StoredRow[],
  { remove, alsoChanged = null }: TimeseriesChange,
  lease: Lease,
  now: number,
): Awaited<ReturnType<Timeseries['apply']>> {
  const user = leasedUser(file, userId, lease);
  const touched: Marked = { changed: alsoChanged, documents: false };
  const counts = { inserted: 0, updated: 0, unchanged: 0, removed: 0 };
  for (const identity of remove) counts.removed += removeRow(file, user, identity, touched);
  const put = putter(file, user, touched, now);
  for (const row of rows) counts[put(row)]++;
  if (isTouched(touched)) mergeState(file, user, marksOf(readState(file, user), touched));
  return { ...counts, marked: touched };
}

function removeRow(file: StoreFile, user: number, { key, write_ts }: Identity, touched: Marked): number {
  const sql = 'DELETE FROM entries WHERE user = ? AND key = ? AND write_ts = ? RETURNING ts';
  const row = file.sql(sql).get<{ ts: number | null }>(user, file.keys.find(key), write_ts);
  if (row === undefined) return 0;
  touch(touched, key, row.ts);
  return 1;
}

function putter(
  file: StoreFile,
  user: number,
  touched: Marked,
  now: number,
): (row: StoredRow) => 'inserted' | 'updated' | 'unchanged' {
  const insert = file.sql(`
    INSERT INTO entries (user, key, write_ts, ts, latitude, longitude, zone, received_ts, entry)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const find = file.sql('SELECT id, ts, received_ts, entry FROM entries WHERE user = ? AND key = ? AND write_ts = ?');
  const update = file.sql('UPDATE entries SET ts = ?, latitude = ?, longitude = ?, zone = ?, entry = ? WHERE id = ?');
  const receive = file.sql('UPDATE entries SET received_ts = ? WHERE id = ?');
  return ({ key: name, write_ts, ts, latitude, longitude, zone, received_ts, text }) => {
    const key = file.keys.intern(name);
    if (insert.run(user, key, write_ts, ts, latitude, longitude, zone, received_ts ?? now, text).changes === 1) {
      touch(touched, name, ts);
      return 'inserted';
    }
    const old = find.get<{ id: number; ts: number | null; received_ts: number; entry: string }>(user, key, write_ts)!;
    if (received_ts !== undefined && received_ts !== old.received_ts) receive.run(received_ts, old.id);
    if (old.entry === text) return 'unchanged';
    update.run(ts, latitude, longitude, zone, text, old.id);
    touch(touched, name, old.ts, ts);
    return 'updated';
  };
}

function aheadRows(file: StoreFile, user: number | null, { at, limit }: { at: number; limit: number }): KeptEntry[] {
  if (user === null) return [];
  const sql = file.sql(`
    SELECT ts, received_ts, entry FROM entries
    WHERE user = ? AND key = ? AND write_ts > ? AND write_ts > received_ts + ${believedAhead} ORDER BY write_ts LIMIT ?`);
  const found: KeptEntry[] = [];
  for (const key of keysOf(file, 'entries', user)) {
    const rows = sql.all<{ ts: number | null; received_ts: number; entry: string }>(
      user,
      key,
      at,
      limit - found.length,
    );
    for (const { ts, received_ts, entry } of rows)
      found.push({ entry: parseEntry(entry), ts, text: entry, received_ts });
    if (found.length >= limit) break;
  }
  return found;
}

function summaryOf(
  file: StoreFile,
  user: number,
  { key: name, id: key }: { key: string; id: number },
): Awaited<ReturnType<Timeseries['summary']>>[number] {
  const count = file.sql('SELECT count(*) AS count FROM entries WHERE user = ? AND key = ?');
  const end = (order: 'ASC' | 'DESC'): number | null => {
    const sql = `SELECT ts FROM entries WHERE user = ? AND key = ? AND ts IS NOT NULL ORDER BY ts ${order} LIMIT 1`;
    return file.sql(sql).get<{ ts: number }>(user, key)?.ts ?? null;
  };
  return {
    key: name,
    count: count.get<{ count: number }>(user, key)!.count,
    first_ts: end('ASC'),
    last_ts: end('DESC'),
  };
}

/** The nearest entry with a zone on one side of `writeTs`; of several at the same time that with the smallest key. */
function sighting(file: StoreFile, user: number, side: '<=' | '>', writeTs: number): ZoneSighting | null {
  const nearest = file.sql(`
    SELECT write_ts FROM entries WHERE user = ? AND zone IS NOT NULL AND write_ts ${side} ?
    ORDER BY write_ts ${side === '>' ? 'ASC' : 'DESC'} LIMIT 1`);
  const at = nearest.get<{ write_ts: number }>(user, writeTs)?.write_ts;
  if (at === undefined) return null;
  const sql = 'SELECT key, zone FROM entries WHERE user = ? AND zone IS NOT NULL AND write_ts = ?';
  const rows = file.sql(sql).all<{ key: number; zone: string }>(user, at);
  const named = rows.map(({ key, zone }) => ({ name: file.keys.nameOf(key), zone }));
  named.sort((a, b) => compareTexts(a.name, b.name));
  return { write_ts: at, zone: named[0]!.zone };
}

const keysOfTrips = keyTable.filter((row) => row.affects === 'trips').map((row) => row.key);

function zonelessSpan(file: StoreFile, user: number | null, { from, to }: TimeRange): TimeRange | null {
  const span = file.sql(`
    SELECT min(ts) AS first, max(ts) AS last FROM entries
    WHERE user = ? AND key = ? AND write_ts >= ? AND write_ts < ? AND zone IS NULL`);
  let found: TimeRange | null = null;
  for (const key of keysOfTrips) {
    const row = span.get<{ first: number | null; last: number | null }>(user, file.keys.find(key), from, to);
    if (row?.first != null && row.last !== null) found = united(found, { from: row.first, to: row.last });
  }
  return found;
}
