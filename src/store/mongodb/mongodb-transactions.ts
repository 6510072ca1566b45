import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientSession, ReadConcern } from 'mongodb';
import { appName, type Connection } from './connect.ts';
import { isConflict, isTransient, isUnknownCommit, isUnreachable, toStoreError } from './mongodb-errors.ts';

const leastPause = 20; // ms
const longestPause = 1000; // ms

/** Repeats `work` after transient failures for up to `retryMs`. Throws errors of the store. */
export async function retry<T>(connection: Connection, work: (deadline: number) => Promise<T>): Promise<T> {
  const { address, retryMs } = connection;
  const deadline = Date.now() + retryMs;
  let nextEnding = Date.now() + endingPause;
  for (let tries = 1; ; tries++) {
    try {
      return await work(deadline);
    } catch (error) {
      const pause = Math.min(leastPause * 2 ** tries, longestPause) * (0.5 + Math.random() / 2);
      if (!isTransient(error) || Date.now() + pause > deadline) throw toStoreError(error, address);
      if (isConflict(error) && Date.now() > nextEnding) {
        nextEnding = Date.now() + endingPause;
        await endAbandonedTransactions(connection).catch(() => {}); // if this fails, the server's time limit ends them
      }
      await sleep(pause);
    }
  }
}

type Work<T> = (session: ClientSession) => Promise<T>;

/** Runs `work` in one transaction with snapshot reads, with the retries of `retry`. */
export async function inTransaction<T>(connection: Connection, work: Work<T>): Promise<T> {
  // All tries share one session: a transaction whose connection was lost stays open on the server
  // until its session starts the next one.
  const session = connection.client.startSession({ causalConsistency: false });
  try {
    return await retry(connection, (deadline) => tryOnce(connection, session, deadline, work));
  } finally {
    session.endSession().catch(() => {}); // not awaited, because it may search for a server that is gone
  }
}

async function tryOnce<T>(connection: Connection, session: ClientSession, deadline: number, work: Work<T>): Promise<T> {
  const { writeConcern } = connection;
  session.startTransaction({ readConcern: new ReadConcern('snapshot'), writeConcern, readPreference: 'primary' });
  try {
    const result = await work(session);
    await commit(session, deadline);
    return result;
  } catch (error) {
    // If the server is lost, `abortTransaction` would search for it until long after the deadline.
    const isLate = isUnreachable(error) && Date.now() > deadline;
    if (session.inTransaction() && !isLate) await session.abortTransaction().catch(() => {});
    throw error;
  }
}

/** Sends the commit again if its outcome is unknown: the server repeats its first answer. */
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
 * Runs the writes of a user in this process one after another, since parallel writes would
 * conflict. A write waits up to `longestMs` ms for the write before: its server may be lost.
 */
export function userQueue(longestMs: number): <T>(user: string, write: () => Promise<T>) => Promise<T> {
  const lastOf = new Map<string, Promise<unknown>>();
  return async (user, write) => {
    const before = lastOf.get(user);
    const waited = before && Promise.race([before, sleep(longestMs, undefined, { ref: false })]);
    const result = waited === undefined ? write() : waited.then(write);
    const ended = result.catch(() => {});
    lastOf.set(user, ended);
    void ended.then(() => lastOf.get(user) === ended && lastOf.delete(user));
    return result;
  };
}

const endingPause = 5_000; // ms between two searches for abandoned transactions
const abandonedMicros = 10_000_000; // µs without a statement after which a transaction counts as abandoned; 10 s

/**
 * Ends transactions of this program that have sent no statement for 10 s: their process has
 * probably ended, and they would block a user until the server's own limit (a minute or more). A
 * process that was only slow runs its transaction again.
 */
async function endAbandonedTransactions({ client }: Connection): Promise<void> {
  const admin = client.db('admin');
  const idle = { type: 'idleSession', appName, 'transaction.timeInactiveMicros': { $gte: abandonedMicros } };
  const stages = [{ $currentOp: { idleSessions: true } }, { $match: idle }, { $project: { lsid: 1 } }];
  const sessions = await admin.aggregate(stages).toArray();
  if (sessions.length > 0) await admin.command({ killSessions: sessions.map(({ lsid }) => ({ id: lsid.id })) });
}
