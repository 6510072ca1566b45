// The connection to a MongoDB deployment: what it must be able to do, retries within a time limit, transactions,
// closing.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Binary,
  type ClientSession,
  type Db,
  type Document,
  MongoClient,
  ReadConcern,
  type WriteConcernSettings,
} from 'mongodb';
import { databaseIn, withoutCredentials } from '../../model/address.ts';
import { MobilityError } from '../../model/errors.ts';
import { doorOf } from '../door.ts';
import { databaseFlaw, defaultDatabase } from './address.ts';
import {
  initiation,
  isDuplicateKey,
  isOutOfReach,
  isPassing,
  isUnknownCommit,
  PartsMissingError,
  StaleReadError,
  toAddressError,
  toStoreError,
} from './failures.ts';
import { openSessions } from './sessions.ts';
import { type Tx, txOf, type UserRows, userRows } from './user-rows.ts';

/** How a store on MongoDB is opened. */
export interface MongoStoreOptions {
  /** s that passing failures (lost connections, fail-over, conflicts) are tried again. Default 20. */
  retrySeconds?: number;
  /** False: a database in which there is no store yet is refused, not made one. Default true. */
  make?: boolean;
  /** Called at opening with what could not be done though the store works. */
  onWarning?: (message: string) => void;
  /** Called with every command that is sent, to measure and to check. */
  onCommand?: (command: Document) => void;
}

/** An open connection. Everything a method of the store does goes through `once`, `reading` or `atomically`. */
export interface Connection {
  /** The address without credentials. */
  readonly address: string;
  /** True on a sharded cluster. */
  readonly sharded: boolean;
  /** For rows that belong to no user, or are found by another field than the user. */
  readonly db: Db;
  /**
   * Null unless the store has documents of entries that are not in chunks yet, see `fold.ts`. `folded`: users who have
   * none.
   */
  rowsLeft: { folded: Set<string> } | null;
  /** Ids of the sessions in which this process has its transactions. */
  readonly sessionIds: readonly Binary[];
  /** Runs statements that may be repeated, again after passing failures until the time limit. */
  once<T>(work: () => Promise<T>): Promise<T>;
  /** The same with the rows of a user. */
  reading<T>(userId: string, work: (rows: UserRows) => Promise<T>): Promise<T>;
  /** The same in one transaction. `tries`: how often `work` runs, from 1 on. */
  atomically<T>(userId: string, work: (tx: Tx, tries: number) => Promise<T>): Promise<T>;
  /**
   * `methods` such that each refuses after `close`, is waited for by it, and rejects with the errors of the contract.
   */
  guard<T extends object>(methods: T): T;
  close(): Promise<void>;
}

const defaultRetrySeconds = 20;
const leastWireVersion = 17; // MongoDB 6.0

/**
 * Connects and asks the server what it is. Throws `MOBILITY_STORE_ADDRESS`, `MOBILITY_STORE_UNAVAILABLE`,
 * `MOBILITY_UNSUPPORTED`.
 */
export async function connect(address: string, options: MongoStoreOptions = {}): Promise<Connection> {
  const shown = withoutCredentials(address);
  const retryMs = (options.retrySeconds ?? defaultRetrySeconds) * 1000;
  const client = newClient(address, shown, retryMs, options);
  const database = databaseIn(address) ?? defaultDatabase;
  try {
    const hello = await client.db('admin').command({ hello: 1 });
    if (hello.maxWireVersion < leastWireVersion) {
      throw new MobilityError(
        'MOBILITY_UNSUPPORTED',
        `expected MongoDB 6.0 or later at ${shown}, found wire version ${hello.maxWireVersion}: update the server`,
      );
    }
    const sharded = hello.msg === 'isdbgrid';
    if (!sharded && typeof hello.setName !== 'string') throw standsAlone(shown);
    return connectionOf(client, { address: shown, database, sharded, retryMs });
  } catch (error) {
    await client.close();
    throw toStoreError(error, shown);
  }
}

function standsAlone(shown: string): MobilityError {
  return new MobilityError(
    'MOBILITY_UNSUPPORTED',
    `expected a replica set or a sharded cluster at ${shown}, found a standalone server, which has no transactions: ` +
      `start it with \`--replSet rs0\` and run once \`${initiation}\`, which makes it a replica set of one`,
  );
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
    const flaw = databaseFlaw(databaseIn(address) ?? defaultDatabase);
    if (flaw !== null) throw new Error(flaw);
    return client;
  } catch (error) {
    throw toAddressError(error, shown);
  }
}

interface Nature {
  address: string;
  database: string;
  sharded: boolean;
  retryMs: number;
}

function connectionOf(client: MongoClient, nature: Nature): Connection {
  const { address, sharded, retryMs } = nature;
  // The promises hang on these: an address cannot weaken them.
  const writeConcern = { w: 'majority' as const, journal: true, wtimeoutMS: retryMs };
  const db = client.db(nature.database, { readConcern: new ReadConcern('majority'), writeConcern });
  const sessions = openSessions(client);
  const door = doorOf(address, (error) => toStoreError(error, address));
  let closing: Promise<void> | undefined;
  return {
    address,
    sharded,
    db,
    rowsLeft: null,
    sessionIds: sessions.ids,
    once: (work) => withRetries(retryMs, work),
    reading: (userId, work) => withRetries(retryMs, () => work(userRows(db, userId))),
    atomically: (userId, work) =>
      withRetries(retryMs, (deadline, tries) =>
        sessions.use((session) =>
          inTransaction(session, writeConcern, deadline, () => work(txOf(db, userId, session), tries)),
        ),
      ),
    guard: door.guard,
    close: () =>
      (closing ??= door
        .close()
        .then(() => sessions.close())
        .then(() => client.close())),
  };
}

const leastPause = 20; // ms
const longestPause = 1000; // ms
const triesForParts = 5;

async function withRetries<T>(retryMs: number, work: (deadline: number, tries: number) => Promise<T>): Promise<T> {
  const deadline = Date.now() + retryMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await work(deadline, tries);
    } catch (error) {
      if (error instanceof PartsMissingError) {
        if (tries >= triesForParts) throw new MobilityError('MOBILITY_STORE_DAMAGED', error.message, { cause: error });
      } else if (!(error instanceof StaleReadError) && !isPassing(error) && !isDuplicateKey(error)) throw error;
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
  work: () => Promise<T>,
): Promise<T> {
  try {
    session.startTransaction({ readConcern: new ReadConcern('snapshot'), writeConcern, readPreference: 'primary' });
    const result = await work();
    await commit(session, deadline);
    return result;
  } catch (error) {
    // Not waited for while nobody is there, see the pool.
    if (session.inTransaction() && !isOutOfReach(error)) await session.abortTransaction().catch(() => {});
    throw error;
  }
}

/**
 * A commit of unknown outcome is sent again: the server answers for the same transaction and does nothing twice. Any
 * commit that nobody answered is one: the driver says so only as long as it knows the server, so not where other
 * connections were lost before.
 */
async function commit(session: ClientSession, deadline: number): Promise<void> {
  for (;;) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      if (!(isUnknownCommit(error) || isOutOfReach(error)) || Date.now() + leastPause > deadline) throw error;
      await sleep(leastPause);
    }
  }
}
