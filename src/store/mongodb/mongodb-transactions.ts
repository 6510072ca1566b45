// Runs transactions, and retries calls after transient failures until a time limit.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ClientSession, ReadConcern } from 'mongodb';
import { appName, type Connection } from './connect.ts';
import { isConflict, isTransient, isUnknownCommit, isUnreachable, toStoreError } from './mongodb-errors.ts';

const leastPause = 20; // ms
const longestPause = 1000; // ms

/** Runs `work` until it succeeds, fails permanently, or the time limit ends. Throws errors of the store. */
export async function retry<T>(connection: Connection, work: (deadline: number) => Promise<T>): Promise<T> {
  const { address, retryMs } = connection;
  const deadline = Date.now() + retryMs;
  let nextSearch = Date.now() + searchPause;
  for (let tries = 1; ; tries++) {
    try {
      return await work(deadline);
    } catch (error) {
      const pause = Math.min(leastPause * 2 ** tries, longestPause) * (0.5 + Math.random() / 2);
      if (!isTransient(error) || Date.now() + pause > deadline) throw toStoreError(error, address);
      if (isConflict(error) && Date.now() > nextSearch) {
        nextSearch = Date.now() + searchPause;
        await endAbandonedTransactions(connection).catch(() => {}); // the server's own limit ends them later
      }
      await sleep(pause);
    }
  }
}

/** Runs `work` in one transaction with snapshot reads. Retries it after transient failures until the time limit. */
export async function inTransaction<T>(
  connection: Connection,
  work: (session: ClientSession) => Promise<T>,
): Promise<T> {
  // All tries share one session: if a connection was lost, the server ends its transaction when the session starts
  // another.
  const session = connection.client.startSession({ causalConsistency: false });
  try {
    return await retry(connection, (deadline) => tryOnce(connection, session, deadline, work));
  } finally {
    session.endSession().catch(() => {}); // not awaited, because it may search for a server that is gone
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
    // The driver searches for a lost server before it gives up: abort only if there is time for another try.
    const isLate = isUnreachable(error) && Date.now() > deadline;
    if (session.inTransaction() && !isLate) await session.abortTransaction().catch(() => {});
    throw error;
  }
}

/** Commits. An unknown outcome is resolved by a second commit: the server repeats its first answer. */
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
 * Runs the writes of each user in this process one after another, since parallel ones would conflict. The returned
 * function waits for the writes before at most `longestMs` ms: one of them may be waiting for a server that is gone.
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
 * Ends idle transactions of this program after 10 s: their process has probably ended, and they would block a user
 * until the server's own limit (a minute or more). A process that was only slow runs its transaction again.
 */
async function endAbandonedTransactions({ client }: Connection): Promise<void> {
  const admin = client.db('admin');
  const idle = { type: 'idleSession', appName, 'transaction.timeInactiveMicros': { $gte: abandonedMicros } };
  const stages = [{ $currentOp: { idleSessions: true } }, { $match: idle }, { $project: { lsid: 1 } }];
  const sessions = await admin.aggregate(stages).toArray();
  if (sessions.length > 0) await admin.command({ killSessions: sessions.map(({ lsid }) => ({ id: lsid.id })) });
}
