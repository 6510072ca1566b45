// Transactions and retries: a call runs again after passing failures until its time limit.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientSession, ReadConcern } from 'mongodb';
import { appName, type Connection } from './connect.ts';
import { isConflict, isPassing, isUnknownCommit, isUnreachable, toStoreError } from './mongodb-errors.ts';

const leastPause = 20; // ms
const longestPause = 1000; // ms

/** Runs `work` until it succeeds, fails for good, or the time limit is over. Rejects with the errors of the store. */
export async function retry<T>(connection: Connection, work: (deadline: number) => Promise<T>): Promise<T> {
  const { address, retryMs } = connection;
  const deadline = Date.now() + retryMs;
  let nextSearch = Date.now() + searchPause;
  for (let tries = 1; ; tries++) {
    try {
      return await work(deadline);
    } catch (error) {
      const pause = Math.min(leastPause * 2 ** tries, longestPause) * (0.5 + Math.random() / 2);
      if (!isPassing(error) || Date.now() + pause > deadline) throw toStoreError(error, address);
      if (isConflict(error) && Date.now() > nextSearch) {
        nextSearch = Date.now() + searchPause;
        await endAbandonedTransactions(connection).catch(() => {}); // the server's own limit ends them too
      }
      await sleep(pause);
    }
  }
}

/** Runs `work` in one transaction with snapshot reads, again after passing failures until the time limit. */
export async function inTransaction<T>(
  connection: Connection,
  work: (session: ClientSession) => Promise<T>,
): Promise<T> {
  // One session for all tries: the server ends a transaction of a lost connection when the session begins the next.
  const session = connection.client.startSession({ causalConsistency: false });
  try {
    return await retry(connection, (deadline) => tryOnce(connection, session, deadline, work));
  } finally {
    session.endSession().catch(() => {}); // not awaited: it may look for a server that is gone
  }
}

async function tryOnce<T>(
  { writeConcern }: Connection,
  session: ClientSession,
  deadline: number,
  work: (session: ClientSession) => Promise<T>,
): Promise<T> {
  session.startTransaction({ readConcern: new ReadConcern('snapshot'), writeConcern, readPreference: 'primary' });
  try {
    const result = await work(session);
    await commit(session, deadline);
    return result;
  } catch (error) {
    // The driver looks for a lost server before it gives up: only as long as there is time for another try.
    const isLate = isUnreachable(error) && Date.now() > deadline;
    if (session.inTransaction() && !isLate) await session.abortTransaction().catch(() => {});
    throw error;
  }
}

/** Commits. A commit of unknown outcome is sent again: the server never does it twice, and answers for the first. */
async function commit(session: ClientSession, deadline: number): Promise<void> {
  for (;;) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      if (!isUnknownCommit(error) || Date.now() + leastPause > deadline) throw error;
      await sleep(leastPause);
    }
  }
}

/**
 * Runs the writes of each user in this process one after another: at the same time they would make each other fail. The
 * returned function waits for its turn at most `longestMs`, since a write may wait for a server that is gone.
 */
export function userQueue(longestMs: number): <T>(user: string, write: () => Promise<T>) => Promise<T> {
  const lastOf = new Map<string, Promise<unknown>>();
  return async (user, write) => {
    const before = lastOf.get(user);
    const timer = new AbortController();
    const turn = before && Promise.race([before, sleep(longestMs, undefined, timer).catch(() => {})]);
    const result = turn === undefined ? write() : turn.then(() => timer.abort()).then(write);
    const ended = result.catch(() => {});
    lastOf.set(user, ended);
    void ended.then(() => lastOf.get(user) === ended && lastOf.delete(user));
    return result;
  };
}

const searchPause = 5_000; // ms
const abandonedMicros = 10_000_000; // 10 s

/**
 * Ends transactions of this program whose process seems to be gone: they did nothing for 10 s, and would block a user
 * until the server's own limit (a minute and more). A process that was only slow runs its transaction again.
 */
async function endAbandonedTransactions({ client }: Connection): Promise<void> {
  const admin = client.db('admin');
  const idle = { type: 'idleSession', appName, 'transaction.timeInactiveMicros': { $gte: abandonedMicros } };
  const stages = [{ $currentOp: { idleSessions: true } }, { $match: idle }, { $project: { lsid: 1 } }];
  const sessions = await admin.aggregate(stages).toArray();
  if (sessions.length > 0) await admin.command({ killSessions: sessions.map(({ lsid }) => ({ id: lsid.id })) });
}
