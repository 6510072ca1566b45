// The sessions for transactions: few, with known ids, so that a process that takes over a user can end the open
// transaction of a dead process.
import type { Binary, ClientSession, MongoClient } from 'mongodb';

/** A fixed number of server sessions, shared by all transactions of a process. */
export interface SessionPool {
  /** As the server knows them. */
  readonly ids: readonly Binary[];
  /** Runs `work` in a session that nobody else uses meanwhile; waits for one where all are in use. */
  use<T>(work: (session: ClientSession) => Promise<T>): Promise<T>;
}

/** Transactions at once in one process. More would queue at the server. */
const mostSessions = 16;

/** Sessions cost the server nothing until they are used. */
export function openSessions(client: MongoClient): SessionPool {
  const idle = Array.from({ length: mostSessions }, () => client.startSession({ causalConsistency: false }));
  const waiting: ((session: ClientSession) => void)[] = [];
  const take = async (): Promise<ClientSession> =>
    idle.pop() ?? (await new Promise<ClientSession>((resolve) => waiting.push(resolve)));
  const giveBack = (session: ClientSession): void => {
    const next = waiting.shift();
    if (next === undefined) idle.push(session);
    else next(session);
  };
  return {
    ids: idle.map((session) => session.id!.id),
    async use(work) {
      const session = await take();
      try {
        return await work(session);
      } finally {
        // Still in a transaction: the connection was lost. Nobody waits for its end but the session.
        if (!session.inTransaction()) giveBack(session);
        else
          void session
            .abortTransaction()
            .catch(() => {})
            .then(() => giveBack(session));
      }
    },
  };
}

/**
 * Ends what runs in sessions of another process. A user of the database may do so with sessions of their own only: the
 * transaction of another one lasts until the server's own limit, a minute unless set otherwise.
 */
export async function killSessions(client: MongoClient, ids: readonly Binary[]): Promise<void> {
  if (ids.length === 0) return;
  const command = { killSessions: ids.map((id) => ({ id })) };
  await client
    .db('admin')
    .command(command)
    .catch(() => {});
}
