// One connection runs the writes of the process, one after another. A second one runs the reads.
import { accessSync, constants, statSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { MobilityError } from '../../model/mobility-error.ts';
import type { Rows, WritableRows } from '../rows/rows.ts';
import { type Connection, connect, type Statement } from './driver.ts';
import { endsTransaction, isBusy, storeError } from './sqlite-errors.ts';
import { rowsIn } from './sqlite-rows.ts';

const busyLimit = 10; // s

const longGroup = 20; // ms. After this time, a transaction begins no further write of its group
/** ms; the pause after a transaction longer than `longGroup`: other processes can lock the file. */
export const longWritePause = 5;

const cachePages = 4_000; // 16 MB per connection
const largestLog = 64 * 2 ** 20; // bytes. A write-ahead log that grew longer is cut to this size when it is reused

export type Transactions = Awaited<ReturnType<typeof openTransactions>>;

/** Applies settings that SQLite does not store in the file. */
export function setUp(connection: Connection): void {
  connection.exec('PRAGMA synchronous = FULL');
  connection.exec('PRAGMA secure_delete = ON'); // overwrites removed content with zeros
  connection.exec(`PRAGMA cache_size = ${cachePages}`);
  connection.exec(`PRAGMA journal_size_limit = ${largestLog}`);
}

/** Repeats `attempt` while another connection locks the file, up to `limit` s. */
export async function retryWhileBusy<T>(attempt: () => T | Promise<T>, limit = busyLimit): Promise<T> {
  const deadline = performance.now() + limit * 1000;
  for (let tries = 0; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
    }
    // A random pause, so that waiting processes do not collide again.
    await pause(Math.random() * Math.min(1 + tries / 4, 3));
  }
}

/** `sql` prepares each statement once. The statements return rows as lists. */
interface OpenConnection {
  connection: Connection;
  rows: WritableRows;
  sql(text: string): Statement;
}

async function openFile(path: string, limit: number, begin = setUp): Promise<OpenConnection> {
  const connection = connect(path);
  await retryWhileBusy(() => begin(connection), limit).catch((error) => {
    connection.close();
    throw error;
  });
  const statements = new Map<string, Statement>();
  const sql = (text: string): Statement => {
    let statement = statements.get(text);
    if (statement === undefined) {
      statement = connection.prepare(text);
      statement.setReturnArrays(true);
      statements.set(text, statement);
    }
    return statement;
  };
  return { connection, sql, rows: rowsIn(sql) };
}

interface Job {
  work: (rows: WritableRows) => Promise<unknown>;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** Opens the file without changing it. Calls wait up to `busySeconds` for other processes. */
export async function openTransactions(path: string, busySeconds = busyLimit) {
  const retried = <T>(attempt: () => T | Promise<T>): Promise<T> => retryWhileBusy(attempt, busySeconds);
  const withStoreErrors = <T>(task: () => Promise<T>): Promise<T> =>
    task().catch((error) => {
      throw storeError(error, path);
    });
  // The database and its write-ahead log, which must not be replaced while they are open.
  const opened = new Map([[path, identityOf(path)]]);
  const reader = await withStoreErrors(() => openFile(path, busySeconds));
  let writer: OpenConnection | null = null;
  const jobs: Job[] = [];
  const reads = queue();
  const writes = queue();
  const onReader = <T>(work: () => T | Promise<T>): Promise<T> => reads(() => withStoreErrors(() => retried(work)));

  const writing = async (): Promise<OpenConnection> => {
    expectSameFiles();
    if (writer !== null) return writer;
    writer = await openFile(path, busySeconds, (connection) => beginWriting(connection, path));
    opened.set(`${path}-wal`, identityOf(`${path}-wal`));
    return writer;
  };
  const expectSameFiles = (): void => {
    for (const [file, identity] of opened) {
      const found = identityOf(file);
      if (found !== identity) throw replacedFile(file, found);
    }
  };

  const drain = async (): Promise<void> => {
    while (jobs.length > 0) {
      const began = performance.now();
      await commit(jobs.splice(0)).catch(() => {});
      const wasLong = performance.now() - began > longGroup;
      if (jobs.length > 0) await (wasLong ? pause(longWritePause) : nextTurn());
    }
  };
  /** If a group fails, commits each job alone: a smaller transaction may fit on the disk. */
  const commit = async (group: readonly Job[]): Promise<void> => {
    try {
      const open = await writing();
      await retried(() => open.sql('BEGIN IMMEDIATE').run());
      const { outcomes, rest } = await inTransaction(open, group, expectSameFiles);
      for (const settle of outcomes) settle();
      jobs.unshift(...rest);
    } catch (error) {
      if (group.length > 1 && !isBusy(error)) for (const job of group) await commit([job]);
      else for (const job of group) job.reject(storeError(error, path));
    }
  };

  return {
    read: <T>(work: (rows: Rows) => Promise<T>): Promise<T> => onReader(() => inSnapshot(reader, work)),
    /** Writes of one turn of the event loop share a transaction, but a write can fail alone. */
    write: <T>(work: (rows: WritableRows) => Promise<T>): Promise<T> =>
      new Promise((resolve, reject) => {
        const isFirst = jobs.push({ work, resolve, reject }) === 1;
        if (isFirst) setImmediate(() => void writes(drain));
      }),
    /** Runs `work` outside of a transaction, after earlier writes. */
    execute: <T>(work: (connection: Connection) => T): Promise<T> =>
      writes(() =>
        withStoreErrors(async () => {
          const { connection } = await writing();
          return retried(() => work(connection));
        }),
      ),
    /** Runs `work` outside of a transaction, after earlier reads. */
    query: <T>(work: (connection: Connection) => T): Promise<T> => onReader(() => work(reader.connection)),
    close: async (): Promise<void> => {
      await Promise.all([reads(async () => {}), writes(async () => {})]);
      reader.connection.close();
      if (writer === null) return;
      try {
        writer.connection.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      } catch {
        // Another process uses the file, or the disk is full. The log stays, and nothing is lost.
      }
      writer.connection.close();
    },
  };
}

function queue(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const next = last.then(task);
    last = next.catch(() => {});
    return next;
  };
}

async function inSnapshot<T>(open: OpenConnection, work: (rows: Rows) => Promise<T>): Promise<T> {
  open.sql('BEGIN').run();
  try {
    return await work(open.rows);
  } finally {
    if (open.connection.inTransaction) open.sql('COMMIT').run();
  }
}

/**
 * Runs jobs in the open transaction and commits. Begins no job after `longGroup`. `outcomes`:
 * functions that resolve or reject the jobs that ran. If this function throws, nothing was stored.
 */
async function inTransaction(open: OpenConnection, group: readonly Job[], expectSameFiles: () => void) {
  const end = performance.now() + longGroup;
  const outcomes: (() => void)[] = [];
  try {
    for (const job of group) {
      if (outcomes.length > 0 && performance.now() > end) break;
      outcomes.push(await inSavepoint(open, job));
    }
    expectSameFiles();
    open.sql('COMMIT').run();
  } catch (error) {
    if (open.connection.inTransaction) open.sql('ROLLBACK').run();
    throw error;
  }
  return { outcomes, rest: group.slice(outcomes.length) };
}

async function inSavepoint(open: OpenConnection, job: Job): Promise<() => void> {
  open.sql('SAVEPOINT job').run();
  try {
    const value = await job.work(open.rows);
    open.sql('RELEASE job').run();
    return () => job.resolve(value as never);
  } catch (error) {
    if (endsTransaction(error) || !open.connection.inTransaction) throw error;
    open.sql('ROLLBACK TO job').run();
    open.sql('RELEASE job').run();
    return () => job.reject(error);
  }
}

/** Identifies the file at a path. Another identity means that the file was moved or replaced. */
function identityOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev} ${found.ino}`;
}

function replacedFile(path: string, found: string | null): MobilityError {
  return new MobilityError(
    'MOBILITY_STORE_UNAVAILABLE',
    `${path}: expected the file that this process has open, found ${found === null ? 'none' : 'another one'}; nothing was ` +
      'stored. The folder of the store, or a file in it, was moved, removed or replaced: stop all programs that use it before you do that, ' +
      'and start them again afterwards',
  );
}

function beginWriting(connection: Connection, path: string): void {
  setUp(connection);
  accessSync(path, constants.W_OK);
  const { journal_mode: found } = connection.prepare('PRAGMA journal_mode = WAL').get<{ journal_mode: string }>()!;
  connection.exec('SELECT count(*) FROM sqlite_schema'); // opens the write-ahead log
  if (found === 'wal') return;
  throw new MobilityError(
    'MOBILITY_STORE_UNAVAILABLE',
    `${path}: expected a local file system that allows write-ahead logging, found journal mode ${found}: move the store to a local disk`,
  );
}
