// What concerns all rows of a user: counting and erasing.
import type { Document } from 'mongodb';
import { erasingLease, erasingOrder, totalOf } from '../erasing.ts';
import { type Collection, collections, type Unowned } from '../store.ts';
import type { Connection } from './connection.ts';
import { isTimeLimit } from './failures.ts';
import { shardedCollections } from './indexes.ts';
import { takeFromOthers } from './leases.ts';
import { dismiss } from './members.ts';
import type { RegistryRow } from './people.ts';
import { inPieces } from './rows.ts';
import { forgetUse } from './use.ts';

const statementLimit = 10_000; // ms
const usersAtOnce = 1_000;

/** Rows of the user in each collection. */
export async function countsOn(connection: Connection, userId: string): Promise<Record<Collection, number>> {
  const counts = {} as Record<Collection, number>;
  for (const name of collections) {
    // The row of a lease that was given back stays, for its fence; it is no lease.
    const filter = name === 'leases' ? { user_id: userId, owner: { $type: 'string' } } : ofUser(name, userId);
    counts[name] = await connection.once(() => connection.db.collection(name).countDocuments(filter));
    if (name === 'timeseries') counts[name] += await entriesInChunks(connection, userId);
  }
  return counts;
}

async function entriesInChunks(connection: Connection, userId: string): Promise<number> {
  const stages = [{ $group: { _id: null, count: { $sum: '$count' } } }];
  const [found] = await connection.reading(userId, (from) =>
    from.rows('chunks').aggregate<{ count: number }>({}, stages).toArray(),
  );
  return found?.count ?? 0;
}

function ofUser(name: string, userId: string): Document {
  return name === 'users' ? { _id: userId } : { user_id: userId };
}

/**
 * Removes the user, collection by collection, and takes them from phones and from whoever works on them before: what
 * they write then is refused.
 */
export async function eraseOn(connection: Connection, userId: string): Promise<Record<Collection, number>> {
  await dismiss(connection, userId);
  const { owner, seconds } = erasingLease;
  const hadLease = await takeFromOthers(connection, userId, owner, seconds);
  await forgetUse(connection, userId);
  await removeAll(connection, 'parts', userId);
  const counts = {} as Record<Collection, number>;
  const inChunks = await entriesInChunks(connection, userId);
  await removeAll(connection, 'chunks', userId);
  for (const name of erasingOrder) counts[name] = await removeAll(connection, name, userId);
  counts.timeseries += inChunks;
  return { ...counts, leases: hadLease ? 1 : 0 };
}

/**
 * Removes what there is and tells how much that was. However much it is, each statement is short: a server that stops
 * one at its limit keeps what it removed until then.
 */
async function removeAll(connection: Connection, name: string, userId: string): Promise<number> {
  const rows = connection.db.collection(name);
  const filter = ofUser(name, userId);
  const before = await connection.once(() => rows.countDocuments(filter));
  for (let left = before > 0; left; ) {
    left = await connection.once(() =>
      rows.deleteMany(filter, { maxTimeMS: statementLimit }).then(
        () => false,
        (error) => {
          if (isTimeLimit(error)) return true;
          throw error;
        },
      ),
    );
  }
  return before;
}

/** Who has rows and is not registered, by UUID. */
export async function unownedOn(connection: Connection): Promise<Unowned[]> {
  const found = new Set<string>();
  for (const name of [...shardedCollections, 'tokens']) {
    if (name === 'members') continue; // no rows about anybody
    for (const some of inPieces(await usersIn(connection, name), usersAtOnce)) {
      for (const id of await unregistered(connection, some)) found.add(id);
    }
  }
  const unowned: Unowned[] = [];
  for (const user_id of [...found].sort()) {
    const rows = totalOf(await countsOn(connection, user_id));
    if (rows > 0) unowned.push({ user_id, rows });
  }
  return unowned;
}

/** Whom a collection has rows of: the index on the user tells, one look for each. */
async function usersIn({ db, once }: Connection, name: string): Promise<string[]> {
  const stages = [{ $sort: { user_id: 1 } }, { $group: { _id: '$user_id' } }];
  const rows = await once(() => db.collection(name).aggregate<{ _id: string }>(stages).toArray());
  return rows.map(({ _id }) => _id);
}

async function unregistered({ db, once }: Connection, ids: readonly string[]): Promise<string[]> {
  const users = db.collection<RegistryRow>('users');
  const rows = await once(() => users.find({ _id: { $in: [...ids] } }, { projection: { _id: 1 } }).toArray());
  const registered = new Set(rows.map(({ _id }) => _id));
  return ids.filter((id) => !registered.has(id));
}
