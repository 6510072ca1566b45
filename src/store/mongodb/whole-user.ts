// What concerns all rows of a user: counting and erasing.
import type { Document } from 'mongodb';
import { erasingLease, erasingOrder } from '../erasing.ts';
import { type Collection, collections } from '../store.ts';
import type { Connection } from './connection.ts';
import { isTimeLimit } from './failures.ts';
import { takeFromOthers } from './leases.ts';

const statementLimit = 10_000; // ms

/** Rows of the user in each collection. */
export async function countsOn(connection: Connection, userId: string): Promise<Record<Collection, number>> {
  const counts = {} as Record<Collection, number>;
  for (const name of collections) {
    // The row of a lease that was given back stays, for its fence; it is no lease.
    const filter = name === 'leases' ? { user_id: userId, owner: { $type: 'string' } } : ofUser(name, userId);
    counts[name] = await connection.once(() => connection.db.collection(name).countDocuments(filter));
  }
  return counts;
}

function ofUser(name: string, userId: string): Document {
  return name === 'users' ? { _id: userId } : { user_id: userId };
}

/**
 * Removes the user, collection by collection, and takes them from whoever works on them: what they write then is
 * refused.
 */
export async function eraseOn(connection: Connection, userId: string): Promise<Record<Collection, number>> {
  const { owner, seconds } = erasingLease;
  const hadLease = await takeFromOthers(connection, userId, owner, seconds);
  await removeAll(connection, 'parts', userId);
  const counts = {} as Record<Collection, number>;
  for (const name of erasingOrder) counts[name] = await removeAll(connection, name, userId);
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
