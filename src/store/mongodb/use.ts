// What callers use of their limits, counted over all servers: a document for each caller of the last days.
import type { AnyBulkWriteOperation, Document, IndexDescription } from 'mongodb';
import { type UseWindow, useWindows } from '../../model/use-windows.ts';
import { type AccountRow, accounts } from '../rows/tables.ts';
import type { CallerUse, UsedInWindow } from '../store.ts';
import type { Connection } from './connect.ts';
import { retry } from './transactions.ts';

interface UseDocument {
  /** The UUID. */
  _id: string;
  minute: UsedInWindow;
  day: UsedInWindow;
  /** The server removes the document then. */
  until: Date;
}

/** The use by callers. */
export interface MongoUse extends CallerUse {
  /** Removes what was counted of a user, after the user's account is no longer active. */
  forget(user: string): Promise<void>;
}

/** Indexes of the collection. */
export const useIndexes: IndexDescription[] = [{ key: { until: 1 }, expireAfterSeconds: 0 }];

const usersAtOnce = 500;
const daysKept = 2;

/** Counters need not survive the loss of a member: limits are wide. */
const writeConcern = { w: 1 } as const;
const readConcern = { level: 'local' } as const;

/** Counts in the database of the connection. */
export function useOn(connection: Connection): MongoUse {
  const { db } = connection;
  const documents = db.collection<UseDocument>('use');
  const activeOf = (users: string[]): Promise<string[]> =>
    db.collection<AccountRow>(accounts.name).distinct('user', { user: { $in: users }, stage: 'active' });
  return {
    async add(used, now) {
      const totals: Awaited<ReturnType<MongoUse['add']>> = new Map();
      const all = [...used.keys()];
      for (let start = 0; start < all.length; start += usersAtOnce) {
        const users = all.slice(start, start + usersAtOnce);
        const additions = users.map((user) => addition(user, used.get(user)!, now));
        // A retry after a lost answer may count twice, which the wide limits allow.
        await retry(connection, () => documents.bulkWrite(additions, { ordered: false, writeConcern }));
        const counted = await retry(connection, () =>
          documents.find({ _id: { $in: users } }, { readConcern }).toArray(),
        );
        for (const { _id, minute, day } of counted) totals.set(_id, { minute, day });
        // Looked up after writing: an erasure ends the account before it removes what was counted.
        const active = new Set(await retry(connection, () => activeOf(users)));
        const erased = users.filter((user) => !active.has(user));
        if (erased.length > 0) await retry(connection, () => documents.deleteMany({ _id: { $in: erased } }));
      }
      return totals;
    },
    async forget(user) {
      await retry(connection, () => documents.deleteOne({ _id: user }));
    },
  };
}

type Amount = { calls: number; bytes: number };

function addition(user: string, { calls, bytes }: Amount, now: number): AnyBulkWriteOperation<UseDocument> {
  // A window that has begun by the clock of another server goes on.
  const windowAfter = (name: UseWindow): Document => {
    const window = Math.floor(now / useWindows[name]);
    const isCurrent = { $gte: [`$${name}.window`, window] };
    const before = (field: string): Document => ({ $cond: [isCurrent, `$${name}.${field}`, 0] });
    return {
      window: { $max: [`$${name}.window`, window] },
      calls: { $add: [before('calls'), calls] },
      bytes: { $add: [before('bytes'), bytes] },
    };
  };
  const until = new Date((Math.floor(now / useWindows.day) + daysKept) * useWindows.day * 1000);
  const update = [{ $set: { minute: windowAfter('minute'), day: windowAfter('day'), until } }];
  return { updateOne: { filter: { _id: user }, update, upsert: true } };
}
