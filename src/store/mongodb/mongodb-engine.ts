import type { Engine } from '../rows/rows.ts';
import { type Connection, connect, type MongoOptions } from './connect.ts';
import { aboutOf, ensureStore } from './layout.ts';
import { onRows, SecondStatement } from './mongodb-rows.ts';
import { inTransaction, retry, userQueue } from './mongodb-transactions.ts';

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
  const queued = userQueue(connection.retryMs);
  const about = aboutOf(connection);
  return {
    address,
    writesWait: false,
    read: async (work) => {
      try {
        // Most reads are one statement, which needs no transaction. A second statement throws
        // `SecondStatement`, and `work` runs again in a transaction.
        return await retry(connection, () => onRows({ db, session: null, user: null }, work));
      } catch (error) {
        if (!(error instanceof SecondStatement)) throw error;
        return inTransaction(connection, (session) => onRows({ db, session, user: null }, work));
      }
    },
    write: (user, work) => {
      const write = () => inTransaction(connection, (session) => onRows({ db, session, user }, work));
      return user === null ? write() : queued(user, write);
    },
    now: serverClock(connection),
    forget: async () => {}, // MongoDB reuses the space of removed documents
    check: async () => [], // the server checks its own files
    ping: async () => {
      await retry(connection, () => about.updateOne({ _id: 'ping' }, { $inc: { count: 1 } }, { upsert: true }));
      await retry(connection, () => about.findOne({ _id: 'ping' }));
    },
    version: () => retry(connection, async () => `MongoDB ${(await connection.db.command({ buildInfo: 1 })).version}`),
    disk: () => retry(connection, () => diskOf(connection)),
    close: () => client.close(),
  };
}

const clockPeriod = 60; // s

/** Asks the server for its time once a minute, and adds the time that has passed since. */
function serverClock(connection: Connection): () => Promise<number> {
  const elapsed = (): number => performance.now() / 1000; // s since this process started
  let { clock } = connection;
  let askedAt = elapsed();
  return async () => {
    if (elapsed() > askedAt + clockPeriod) {
      const { localTime } = await retry(connection, () => connection.db.command({ hello: 1 }));
      askedAt = elapsed();
      clock = localTime.getTime() / 1000 - askedAt;
    }
    return clock + elapsed();
  };
}

async function diskOf({ db }: Connection): Promise<{ bytes: number; free: number | null }> {
  const { storageSize = 0, indexSize = 0, totalSize, fsTotalSize, fsUsedSize } = await db.command({ dbStats: 1 });
  const free = fsTotalSize - fsUsedSize;
  return { bytes: totalSize ?? storageSize + indexSize, free: Number.isFinite(free) ? free : null };
}
