// The engine of a store in MongoDB: rows in transactions, the server's clock, its disk.
import type { Engine } from '../rows/rows.ts';
import { type AccountRow, accounts } from '../rows/tables.ts';
import { type Connection, connect, type MongoOptions } from './connect.ts';
import { aboutOf, ensureStore } from './layout.ts';
import { rowsIn, SecondStatement } from './rows.ts';
import { inTransaction, retry, userQueue } from './transactions.ts';

/**
 * Opens the engine on a MongoDB deployment. Throws `MOBILITY_STORE_ADDRESS` (also for a database without a store if
 * `make` is false), `MOBILITY_STORE_UNAVAILABLE`, `MOBILITY_STORE_VERSION` (another format, or rows of another program)
 * and `MOBILITY_UNSUPPORTED` (a server before 6.0, or without transactions).
 */
export async function openMongoEngine(address: string, options: MongoOptions = {}): Promise<Engine> {
  const connection = await connect(address, options);
  try {
    await ensureStore(connection, options);
  } catch (error) {
    await connection.client.close();
    throw error;
  }
  return engineOn(connection);
}

function engineOn(connection: Connection): Engine {
  const { address, client, db } = connection;
  const users = db.collection<AccountRow>(accounts.name);
  const inTurn = userQueue(connection.retryMs);
  return {
    address,
    read: async (work) => {
      try {
        // Most reads are one statement, which takes one command without a transaction.
        return await retry(connection, () => work(rowsIn({ db, session: null, user: null })));
      } catch (error) {
        if (!(error instanceof SecondStatement)) throw error;
        return inTransaction(connection, (session) => work(rowsIn({ db, session, user: null })));
      }
    },
    write: (user, work) => {
      if (user === null) return inTransaction(connection, (session) => work(rowsIn({ db, session, user })));
      return inTurn(user, () =>
        inTransaction(connection, async (session) => {
          // Of two transactions of a user that write to the same document one fails, and runs again.
          const touched = { $inc: { touched: 1 } };
          const account = await users.findOneAndUpdate({ user }, touched, { session, returnDocument: 'after' });
          return work(rowsIn({ db, session, user, account }));
        }),
      );
    },
    now: () => retry(connection, async () => (await db.command({ hello: 1 })).localTime.getTime() / 1000),
    forget: async () => {}, // MongoDB reuses the space of removed documents
    check: async () => [], // the server checks its own files
    ping: async () => {
      const about = aboutOf(connection);
      await retry(connection, () => about.updateOne({ _id: 'ping' }, { $inc: { count: 1 } }, { upsert: true }));
      await retry(connection, () => about.findOne({ _id: 'ping' }));
    },
    disk: () => retry(connection, () => diskOf(connection)),
    close: () => client.close(),
  };
}

/** Compressed, with indexes, as the server says. */
async function diskOf({ db }: Connection): Promise<{ bytes: number; free: number | null }> {
  const { storageSize = 0, indexSize = 0, totalSize, fsTotalSize, fsUsedSize } = await db.command({ dbStats: 1 });
  const free = fsTotalSize - fsUsedSize;
  return { bytes: totalSize ?? storageSize + indexSize, free: Number.isFinite(free) ? free : null };
}
