// The sessions for transactions: few, with known ids, so that a process that takes over a user can end the open
// transaction of a dead process.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Binary, ClientSession, MongoClient } from 'mongodb';
import { isOutOfReach, isUnknownCommit } from './failures.ts';

/** A fixed number of server sessions, shared by all transactions of a process. */
export interface SessionPool {
  /** As the server knows them. */
  readonly ids: readonly Binary[];
  /** Runs `work` in a session that nobody else uses meanwhile; waits for one where all are in use. */
  use<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
  /** Resolves when no transaction of a lost connection is left open at the server, or the server does not answer. */
  close(): Promise<void>;
}

/** Transactions at once in one process. More would queue at the server. */
const mostSessions = 16;

/** Sessions cost the server nothing until they are used. */
export function openSessions(client: MongoClient): SessionPool {
  const idle = Array.from({ length: mostSessions }, () => client.startSession({ causalConsistency: false }));
  const waiting: ((session: ClientSession) => void)[] = [];
  const ending = new Set<Promise<void>>();
  const take = async (): Promise<ClientSession> =>
    idle.pop() ?? (await new Promise<ClientSession>((resolve) => waiting.push(resolve)));
  const giveBack = (session: ClientSession): void => {
    const next = waiting.shift();
    if (next === undefined) idle.push(session);
    else next(session);
  };
  /** Nobody waits for this but the session. */
  const endLater = (session: ClientSession): void => {
    const ended = endTransaction(client, session).then(() => {
      ending.delete(ended);
      giveBack(session);
    });
    ending.add(ended);
  };
  return {
    ids: idle.map((session) => session.id!.id),
    async use(work) {
      const session = await take();
      try {
        const result = await work(session);
        giveBack(session);
        return result;
      } catch (error) {
        if (session.inTransaction() || isOutOfReach(error) || isUnknownCommit(error)) endLater(session);
        else giveBack(session);
        throw error;
      }
    },
    close: async () => {
      if (ending.size > 0) await Promise.race([Promise.all(ending), sleep(longestEnd)]);
    },
  };
}

const triesToEnd = 3;
const pauseBetween = 50; // ms

/** A server that is gone holds up neither who waits for a session nor a process that ends. */
const longestEnd = 1_000; // ms

/**
 * Ends the transaction of a connection that was lost. The driver does not tell whether the server heard of the abort;
 * what it has locked would stay so until its own limit.
 */
async function endTransaction(client: MongoClient, session: ClientSession): Promise<void> {
  const { id } = session.id!;
  if (session.inTransaction()) await session.abortTransaction().catch(() => {});
  const began = performance.now();
  for (let tries = 1; tries <= triesToEnd && !(await killSessions(client, [id])); tries++) {
    // The driver has looked for the server for a while: it is gone, and others wait for the session.
    if (performance.now() - began > longestEnd) return;
    await sleep(pauseBetween);
  }
}

/**
 * Ends what runs in sessions of another process. A user of the database may do so with sessions of their own only: the
 * transaction of another one lasts until the server's own limit, a minute unless set otherwise. False when that could
 * not be done.
 */
export async function killSessions(client: MongoClient, ids: readonly Binary[]): Promise<boolean> {
  if (ids.length === 0) return true;
  const command = { killSessions: ids.map((id) => ({ id })) };
  return client
    .db('admin')
    .command(command)
    .then(
      () => true,
      () => false,
    );
}
