// What concerns all rows of a user: counting and erasing.
import type { Document } from 'mongodb';
import { type Collection, collections } from '../store.ts';
import type { Connection } from './connection.ts';
import { isTimeLimit } from './failures.ts';
import { takeFromOthers } from './leases.ts';
import { partsCollection } from './rows.ts';

const statementLimit = 10_000; // ms

/** Rows of the user in each collection. */
export async function countsOn(connection: Connection, userId: string): Promise<Record<Collection, number>> {
  const counts = {} as Record<Collection, number>;
  for (const name of collections) {
    // The row of a lease that was given back stays, for its fence; it is no lease.
    const filter = name === 'leases' ? { user_id: userId, owner: { $type: 'string' } } : ofUser(name, userId);
    counts[name] = await connection.once(() => connection.rows(name).countDocuments(filter));
  }
  return counts;
}

function ofUser(name: string, userId: string): Document {
  return name === 'users' ? { _id: userId } : { user_id: userId };
}

const ownerOfErasing = 'erase';
const leaseSeconds = 300;

/**
 * Removes the user: tokens first, so that nobody comes in meanwhile, and the registry last, so that the user can be named when an
 * erasure is repeated after an interruption. It takes the user from whoever works on them: what they write then is refused.
 */
export async function eraseOn(connection: Connection, userId: string): Promise<Record<Collection, number>> {
  const hadLease = await takeFromOthers(connection, userId, ownerOfErasing, leaseSeconds);
  const counts = {} as Record<Collection, number>;
  const last: readonly Collection[] = ['leases', 'users'];
  const others = collections.filter((name) => name !== 'tokens' && !last.includes(name));
  for (const name of ['tokens', ...others] as const) counts[name] = await removeAll(connection, name, userId);
  await removeAll(connection, partsCollection, userId);
  for (const name of last) counts[name] = await removeAll(connection, name, userId);
  return { ...counts, leases: hadLease ? 1 : 0 };
}

/**
 * Removes what there is and tells how much that was. However much it is, each statement is short: a server that stops one at its
 * limit keeps what it removed until then.
 */
async function removeAll(connection: Connection, name: string, userId: string): Promise<number> {
  const rows = connection.rows(name);
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
