// Everything of one user: counted, and erased.
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { erasingLease, erasingOrder, totalOf } from '../erasing.ts';
import { type Collection, collections, type Unowned } from '../store.ts';
import { waitingKeyIds } from './batches.ts';
import type { StoreFile } from './file.ts';
import { keysOf } from './find.ts';
import { fold } from './fold.ts';
import { dismissUser, userIn } from './ids.ts';
import { setLease } from './pipeline.ts';
import type { Shards } from './rows.ts';
import { forgetUnusedKeys, wipeFreeSpace } from './wipe.ts';

/** Where the rows of a collection are. `by`: the column that names the user, by number or by UUID. */
interface Place {
  table: string;
  file: 'usercache' | 'timeseries' | 'registry';
  by: 'user' | 'uuid' | 'user_id';
}

const places: Record<Collection, Place> = {
  tokens: { table: 'tokens', file: 'registry', by: 'user_id' },
  usercache: { table: 'batches', file: 'usercache', by: 'user' },
  errors: { table: 'errors', file: 'usercache', by: 'user' },
  profiles: { table: 'profiles', file: 'usercache', by: 'user' },
  documents: { table: 'documents', file: 'timeseries', by: 'user' },
  timeseries: { table: 'chunks', file: 'timeseries', by: 'user' },
  trips: { table: 'trips', file: 'timeseries', by: 'user' },
  pipeline: { table: 'pipeline', file: 'timeseries', by: 'user' },
  leases: { table: 'leases', file: 'timeseries', by: 'user' },
  users: { table: 'users', file: 'registry', by: 'uuid' },
};

/** True for tables whose rows have many entries each. */
const holdsMany = ({ table }: Place): boolean => table === 'chunks' || table === 'batches';

const manyAtOnce = 200; // rows of such a table
const rowsAtOnce = 5_000; // in one transaction: others must get their turn

function fileOf(shards: Shards, userId: string, { file }: Place): StoreFile {
  return file === 'registry' ? shards.first.usercache : shards.of(userId)[file];
}

function ownerIn(file: StoreFile, userId: string, { by }: Place): number | string | null {
  return by === 'user' ? userIn(file, userId) : escapeText(userId);
}

/** Rows of one user in each collection. */
export async function countRows(shards: Shards, userId: string): Promise<Record<Collection, number>> {
  const counts = {} as Record<Collection, number>;
  await fold(shards.of(userId).timeseries, userId);
  for (const collection of collections) {
    const place = places[collection];
    const file = fileOf(shards, userId, place);
    const sum = holdsMany(place) ? 'coalesce(sum(count), 0)' : 'count(*)';
    const sql = `SELECT ${sum} AS count FROM ${place.table} WHERE ${place.by} = ?`;
    const row = await file.read(() => file.sql(sql).get<{ count: number }>(ownerIn(file, userId, place)));
    counts[collection] = row!.count;
  }
  return counts;
}

/**
 * Removes all rows of a user, in bounded transactions. First it takes the user from phones and from whoever works on
 * them: what a put or a pipeline writes from then on is refused.
 */
export async function eraseRows(
  shards: Shards,
  userId: string,
  now: () => number,
): Promise<Record<Collection, number>> {
  const counts = {} as Record<Collection, number>;
  const { usercache, timeseries } = shards.of(userId);
  // From here on no write about them begins that would outlast this: one that is under way ends before the rows are
  // taken.
  await usercache.write(() => dismissUser(usercache, userId));
  const hadLease = await timeseries.write(() => takeFromOthers(timeseries, userId, now()));
  const isKnown = await usercache.read(() => userIn(usercache, userId) !== null);
  const remove = async (names: readonly Collection[]): Promise<void> => {
    for (const name of names) counts[name] = await removeRows(shards, userId, places[name]);
  };
  await remove(erasingOrder.filter((name) => name !== 'users'));
  counts.leases = hadLease ? 1 : 0;
  await removeNumber(timeseries, userId);
  // Before the record that an operator finds them by goes: without room for it, the erasure is repeated by name.
  if (isKnown) await wipe({ timeseries, usercache });
  await remove(['users']);
  await removeNumber(usercache, userId);
  const registry = shards.first.usercache;
  if (isKnown) await wipe({ usercache });
  if (isKnown && registry !== usercache) await wipe({ usercache: registry });
  return counts;
}

async function removeNumber(file: StoreFile, userId: string): Promise<void> {
  await file.write(() => file.sql('DELETE FROM user_ids WHERE uuid = ?').run(escapeText(userId)));
}

function movedKeyIds(file: StoreFile): Set<number> {
  const users = file.sql('SELECT id FROM user_ids').all<{ id: number }>();
  return new Set(users.flatMap(({ id }) => keysOf(file, id)));
}

/** Takes away what deleted rows leave in files. */
async function wipe({ timeseries, usercache }: { timeseries?: StoreFile; usercache: StoreFile }): Promise<void> {
  if (timeseries !== undefined) {
    await forgetUnusedKeys(timeseries, movedKeyIds);
    await wipeFreeSpace(timeseries);
  }
  await forgetUnusedKeys(usercache, waitingKeyIds);
  await wipeFreeSpace(usercache);
}

function takeFromOthers(file: StoreFile, userId: string, now: number): boolean {
  const sql = 'SELECT 1 FROM leases WHERE user = ? AND owner <> ?';
  const hadLease = file.sql(sql).get(userIn(file, userId), erasingLease.owner) !== undefined;
  setLease(file, userId, { ...erasingLease, at: now });
  return hadLease;
}

/** Removes rows that have many entries each, some at a time; returns how many entries were in them. */
async function removeMany(file: StoreFile, userId: string, { table }: Place): Promise<number> {
  if (table === 'chunks') await fold(file, userId);
  const some = `SELECT id FROM ${table} WHERE user = ? LIMIT ${manyAtOnce}`;
  for (let total = 0; ; ) {
    const removed = await file.write(() => {
      const user = userIn(file, userId);
      const sum = file.sql(`SELECT coalesce(sum(count), 0) AS count FROM ${table} WHERE id IN (${some})`);
      const { count } = sum.get<{ count: number }>(user)!;
      file.sql(`DELETE FROM ${table} WHERE id IN (${some})`).run(user);
      return count;
    }, rowsAtOnce);
    if (removed === 0) return total;
    total += removed;
  }
}

async function removeRows(shards: Shards, userId: string, place: Place): Promise<number> {
  const file = fileOf(shards, userId, place);
  if (holdsMany(place)) return removeMany(file, userId, place);
  const chunked = `DELETE FROM ${place.table} WHERE rowid IN (SELECT rowid FROM ${place.table} WHERE user = ? LIMIT ${rowsAtOnce})`;
  const sql = place.by === 'user' ? chunked : `DELETE FROM ${place.table} WHERE ${place.by} = ?`;
  for (let total = 0; ; ) {
    const removed = await file.write(() => file.sql(sql).run(ownerIn(file, userId, place)).changes, rowsAtOnce);
    total += removed;
    if (removed < rowsAtOnce || place.by !== 'user') return total;
  }
}

const uuidsAtOnce = 1_000; // between two turns of the event loop

/** Who has rows and is not registered, by UUID. */
export async function unownedRows(shards: Shards): Promise<Unowned[]> {
  const registry = shards.first.usercache;
  const found = new Set<string>();
  const collect = async (file: StoreFile, sql: string): Promise<void> => {
    for (let after = ''; ; ) {
      const rows = await file.read(() => file.sql(sql).all<{ uuid: string }>(after, uuidsAtOnce));
      const others = await registry.read(() =>
        rows.filter(({ uuid }) => registry.sql('SELECT 1 FROM users WHERE uuid = ?').get(uuid) === undefined),
      );
      for (const { uuid } of others) found.add(unescapeText(uuid));
      if (rows.length < uuidsAtOnce) return;
      after = rows.at(-1)!.uuid;
    }
  };
  const known = 'SELECT uuid FROM user_ids WHERE uuid > ? ORDER BY uuid LIMIT ?';
  for (const { usercache, timeseries } of shards.all)
    for (const file of [usercache, timeseries]) await collect(file, known);
  await collect(registry, 'SELECT DISTINCT user_id AS uuid FROM tokens WHERE user_id > ? ORDER BY user_id LIMIT ?');
  const unowned: Unowned[] = [];
  for (const user_id of [...found].sort()) {
    const rows = totalOf(await countRows(shards, user_id));
    if (rows > 0) unowned.push({ user_id, rows });
  }
  return unowned;
}
