// The connection to a MongoDB deployment: what it can do, retries within a time limit, transactions, closing.

import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Binary,
  type ClientSession,
  type Db,
  type Document,
  MongoClient,
  ReadConcern,
  type Collection as Rows,
  type WriteConcernSettings,
} from 'mongodb';
import { MobilityError } from '../../model/errors.ts';
import { databaseFlaw, databaseOf, withoutCredentials } from './address.ts';
import {
  isDuplicateKey,
  isOutOfReach,
  isPassing,
  isUnknownCommit,
  PartsMissingError,
  toAddressError,
  toStoreError,
} from './failures.ts';
import { openSessions } from './sessions.ts';

export interface MongoStoreOptions {
  /** s that passing failures (lost connections, fail-over, conflicts) are tried again. Default 20. */
  retrySeconds?: number;
  /** False: a database in which there is no store yet is refused, not made one. Default true. */
  make?: boolean;
  /** Called at opening with what is weaker on this server than on a replica set. */
  onWarning?: (message: string) => void;
  /** Called with every command that is sent, to measure and to check. */
  onCommand?: (command: Document) => void;
}

/** An open connection. Everything a method of the store does goes through `once` or `atomically`. */
export interface Connection {
  /** The address without credentials. */
  readonly address: string;
  /** True on replica sets and sharded clusters; decided from the server's `hello`. */
  readonly transactional: boolean;
  /** True on a sharded cluster. */
  readonly sharded: boolean;
  readonly db: Db;
  /** Ids of the sessions in which this process has its transactions. */
  readonly sessionIds: readonly Binary[];
  rows(name: string): Rows<Document>;
  /** Runs statements that may be repeated, again after passing failures until the time limit. */
  once<T>(work: () => Promise<T>): Promise<T>;
  /** The same in one transaction; where there are none, `work` gets no session and its order of writes must do. */
  atomically<T>(work: (session: ClientSession | undefined) => Promise<T>): Promise<T>;
  /** `methods` such that each refuses after `close`, is waited for by it, and rejects with the errors of the contract. */
  guard<T extends object>(methods: T): T;
  close(): Promise<void>;
}

const defaultRetrySeconds = 20;
const leastWireVersion = 17; // MongoDB 6.0

/** Connects and asks the server what it is. Throws `MOBILITY_STORE_ADDRESS`, `MOBILITY_STORE_UNAVAILABLE`, `MOBILITY_UNSUPPORTED`. */
export async function connect(address: string, options: MongoStoreOptions = {}): Promise<Connection> {
  const shown = withoutCredentials(address);
  const retryMs = (options.retrySeconds ?? defaultRetrySeconds) * 1000;
  const client = newClient(address, shown, retryMs, options);
  const database = databaseOf(address);
  try {
    const hello = await client.db('admin').command({ hello: 1 });
    if (hello.maxWireVersion < leastWireVersion) {
      throw new MobilityError(
        'MOBILITY_UNSUPPORTED',
        `expected MongoDB 6.0 or later at ${shown}, found wire version ${hello.maxWireVersion}: update the server`,
      );
    }
    const sharded = hello.msg === 'isdbgrid';
    const transactional = sharded || typeof hello.setName === 'string';
    return connectionOf(client, { address: shown, database, transactional, sharded, retryMs });
  } catch (error) {
    await client.close();
    throw toStoreError(error, shown);
  }
}

function newClient(address: string, shown: string, retryMs: number, options: MongoStoreOptions): MongoClient {
  try {
    const client = new MongoClient(address, {
      appName: 'mobility',
      ignoreUndefined: true,
      readPreference: 'primary',
      retryWrites: true,
      // A silent server is given up; the address may say otherwise.
      ...(/[?&]serverSelectionTimeoutMS=/i.test(address) ? {} : { serverSelectionTimeoutMS: retryMs }),
      ...(/[?&]socketTimeoutMS=/i.test(address) ? {} : { socketTimeoutMS: Math.max(retryMs, 60_000) }),
      monitorCommands: options.onCommand !== undefined,
    });
    client.on('commandStarted', ({ command }) => options.onCommand?.(command));
    const flaw = databaseFlaw(databaseOf(address));
    if (flaw !== null) throw new Error(flaw);
    return client;
  } catch (error) {
    throw toAddressError(error, shown);
  }
}

interface Nature {
  address: string;
  database: string;
  transactional: boolean;
  sharded: boolean;
  retryMs: number;
}

function connectionOf(client: MongoClient, nature: Nature): Connection {
  const { address, transactional, sharded, retryMs } = nature;
  // The promises hang on these: an address cannot weaken them. A standalone server has no majority, but a journal.
  const writeConcern = { w: transactional ? ('majority' as const) : 1, journal: true, wtimeoutMS: retryMs };
  const readConcern = new ReadConcern(transactional ? 'majority' : 'local');
  const db = client.db(nature.database, { readConcern, writeConcern });
  const sessions = transactional ? openSessions(client) : null;
  const running = new Set<Promise<unknown>>();
  let closing: Promise<void> | undefined;

  const run = async (work: () => Promise<unknown>): Promise<unknown> => {
    if (closing !== undefined) {
      throw new MobilityError('MOBILITY_STORE_CLOSED', `the store ${address} is closed: open it again`);
    }
    const promise = work();
    running.add(promise);
    try {
      return await promise;
    } catch (error) {
      throw toStoreError(error, address);
    } finally {
      running.delete(promise);
    }
  };

  return {
    address,
    transactional,
    sharded,
    db,
    sessionIds: sessions?.ids ?? [],
    rows: (name) => db.collection(name),
    once: (work) => withRetries(retryMs, work),
    atomically: (work) =>
      withRetries(retryMs, (deadline) =>
        sessions === null
          ? work(undefined)
          : sessions.use((session) => inTransaction(session, writeConcern, deadline, work)),
      ),
    guard: (methods) => {
      const guarded = Object.entries(methods).map(([name, method]) => [
        name,
        (...given: unknown[]) => run(async () => method(...given)),
      ]);
      return Object.fromEntries(guarded);
    },
    close: () => (closing ??= Promise.allSettled(running).then(() => client.close())),
  };
}

const leastPause = 20; // ms
const longestPause = 1000; // ms
const triesForParts = 5;

async function withRetries<T>(retryMs: number, work: (deadline: number) => Promise<T>): Promise<T> {
  const deadline = Date.now() + retryMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await work(deadline);
    } catch (error) {
      if (error instanceof PartsMissingError) {
        if (tries >= triesForParts) throw new MobilityError('MOBILITY_STORE_DAMAGED', error.message, { cause: error });
      } else if (!isPassing(error) && !isDuplicateKey(error)) throw error;
      const pause = Math.min(leastPause * 2 ** tries, longestPause) * (0.5 + Math.random() / 2);
      if (Date.now() + pause > deadline) throw error;
      await sleep(pause);
    }
  }
}

async function inTransaction<T>(
  session: ClientSession,
  writeConcern: WriteConcernSettings,
  deadline: number,
  work: (session: ClientSession) => Promise<T>,
): Promise<T> {
  try {
    session.startTransaction({ readConcern: new ReadConcern('snapshot'), writeConcern, readPreference: 'primary' });
    const result = await work(session);
    await commit(session, deadline);
    return result;
  } catch (error) {
    // Not waited for while nobody is there, see the pool.
    if (session.inTransaction() && !isOutOfReach(error)) await session.abortTransaction().catch(() => {});
    throw error;
  }
}

/** A commit of unknown outcome is sent again: the server answers for the same transaction and does nothing twice. */
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
