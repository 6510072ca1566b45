// One database file: its connection, its cached statements, and its two doors, read and write.
import { statSync } from 'node:fs';
import { MobilityError } from '../../model/errors.ts';
import { atOnce, inSlices, nextTurn } from '../../turns.ts';
import { type Connection, connect, type Statement } from './driver.ts';
import { endsTransaction, isBusy, storeError } from './engine-errors.ts';
import { type KeyNumbers, keyNumbers } from './ids.ts';

/** s; how long a call waits for other connections before it gives up with `MOBILITY_STORE_BUSY`. */
const busyLimit = 10;

const groupRows = 5_000; // a group of writes ends when it has this many rows: the event loop must get its turn
const longRows = 500; // from here on a write that goes in steps lets others have their turn between them
const longHold = 20; // ms of a transaction after which other processes that wait for the file come first
const makeWay = 5; // ms; they try again within 3
const longestShared = 100; // ms; a snapshot holds up the shortening of the log
const cachePages = 4_000; // 16 MB a connection
const checkpointPages = 16_000; // 64 MB of WAL; a safety net where no checkpointer runs

/** An open database file of the store, with its transactions. */
export interface StoreFile {
  readonly path: string;
  readonly keys: KeyNumbers;
  readonly connection: Connection;
  /** The statement of a text, prepared once. For use inside `read` and `write`. */
  sql(text: string): Statement;
  /** Numbers of users that the present snapshot has told; null outside of those that `read` opens. */
  readonly users: Map<string, number | null> | null;
  /**
   * Runs `work` in one snapshot of the file. Reads of one file that follow one another without a wait for anything
   * outside share it.
   */
  read<T>(work: () => T): Promise<T>;
  /**
   * Runs `work` in a transaction, together with whatever else wants to write in this turn of the event loop: one that
   * fails does not fail the others. Resolves when the commit is on disk. `work` may run more than once: it must leave
   * nothing behind in memory. `rows`: about how many rows it writes.
   */
  write<T>(work: () => T, rows?: number): Promise<T>;
  /**
   * As `write`, for work that may be long: where it yields, everything else of the process may have its turn, reads of
   * this file too. They see what was committed before.
   */
  writeInSteps<T>(work: () => Generator<void, T>, rows: number): Promise<T>;
  /** Throws `MOBILITY_STORE_UNAVAILABLE` if another file or none is at `path` now: what is written would be lost. */
  expectInPlace(): void;
  close(): void;
}

interface Job {
  work: () => Generator<void, unknown>;
  rows: number;
  /** Whether others may have their turn where it yields. */
  isLong: boolean;
  resolve: (value: never) => void;
  reject: (error: unknown) => void;
}

/** A connection and its prepared statements. */
interface Line {
  connection: Connection;
  sql(text: string): Statement;
  close(): void;
}

function lineTo(path: string): Line {
  const connection = connect(path);
  const statements = new Map<string, Statement>();
  return {
    connection,
    sql: (text) => {
      let statement = statements.get(text);
      if (statement === undefined) {
        statement = connection.prepare(text);
        statements.set(text, statement);
      }
      return statement;
    },
    close: () => {
      statements.clear();
      connection.close();
    },
  };
}

/** Opens a file that `folder.ts` made and checked. */
export function openFile(path: string): StoreFile {
  const main = lineTo(path);
  const opened = identityOf(path);
  let line = main; // the one in use
  let side: Line | null = null; // for reads while a long write holds the other
  const jobs: Job[] = [];
  let draining = false;
  let isHeld = false;

  const drain = async (): Promise<void> => {
    while (jobs.length > 0) {
      const began = performance.now();
      await commit(file, takeGroup(jobs), (held) => {
        isHeld = held;
      });
      // Other processes that wait for the file try only now and then: without a pause, it might never be free.
      const wasLong = performance.now() - began > longHold;
      if (jobs.length > 0 && wasLong) await new Promise((resolve) => setTimeout(resolve, makeWay));
      else if (jobs.length > 0) await new Promise((resolve) => setImmediate(resolve));
    }
    draining = false;
  };
  const add = (work: Job['work'], rows: number, isLong: boolean) =>
    new Promise<never>((resolve, reject) => {
      jobs.push({ work, rows, isLong, resolve, reject });
      if (draining) return;
      draining = true;
      setImmediate(() => void drain());
    });
  const onTheSide = <T>(work: () => T): T => {
    if (side === null) {
      file.expectInPlace(); // the engine would make a file that is not there
      side = lineTo(path);
      setUp(side.connection);
    }
    line = side;
    try {
      return inSnapshot(file, work);
    } finally {
      line = main;
    }
  };

  const file: StoreFile = {
    path,
    get connection() {
      return line.connection;
    },
    sql: (text) => line.sql(text),
    get keys() {
      return keys;
    },
    get users() {
      return shared?.file === file ? shared.users : null;
    },
    read: (work) =>
      whenFree(() => (isHeld ? onTheSide(work) : inSharedSnapshot(file, work))).catch((error) =>
        Promise.reject(storeError(error, path)),
      ),
    write: (work, rows = 1) => add(() => inOneStep(work), rows, false),
    writeInSteps: (work, rows) => add(work, rows, rows >= longRows),
    expectInPlace: () => {
      const found = identityOf(path);
      if (found !== opened) throw outOfPlace(path, found);
    },
    close: () => {
      if (shared?.file === file) endShared();
      side?.close();
      main.close();
    },
  };
  const keys = keyNumbers(file);
  return file;
}

/** Which file is at a path; null: none. A process goes on with the file that it has open, wherever that went. */
function identityOf(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? null : `${found.dev} ${found.ino}`;
}

function outOfPlace(path: string, found: string | null): MobilityError {
  return new MobilityError(
    'MOBILITY_STORE_UNAVAILABLE',
    `${path}: expected the file that this process has open, found ${found === null ? 'none' : 'another one'}; nothing was ` +
      'stored. The folder of the store was moved, removed or replaced: stop all programs that use it before you do that, ' +
      'and start them again afterwards',
  );
}

function* inOneStep<T>(work: () => T): Generator<void, T> {
  yield;
  return work();
}

/** What every connection needs. The engine forgets `synchronous` when a file is opened again: it is set each time. */
export function setUp(connection: Connection): void {
  connection.exec(`PRAGMA synchronous = FULL`);
  connection.exec(`PRAGMA cache_size = ${cachePages}`);
  connection.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  connection.exec(`PRAGMA journal_size_limit = ${checkpointPages * 4096}`);
}

/**
 * Tries until no other connection is in the way, `limit` seconds at most, with short pauses that leave the event loop
 * free.
 */
export async function whenFree<T>(attempt: () => T, limit = busyLimit): Promise<T> {
  const deadline = performance.now() + limit * 1000;
  for (let tries = 0; ; tries++) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
    }
    // A random pause, so that waiting processes do not collide again.
    await new Promise((resolve) => setTimeout(resolve, Math.random() * Math.min(1 + tries / 4, 3)));
  }
}

interface SharedSnapshot {
  file: StoreFile;
  users: Map<string, number | null>;
  /** ms, when it was opened. */
  since: number;
}

/** The snapshot that the next read shares, if it is of the same file; one in the process. */
let shared: SharedSnapshot | null = null;

/**
 * Runs `work` in the snapshot of the read before, or in a new one. It ends before the process learns of anything from
 * outside, before a write, and before a read of another file: so nobody sees an older state than they know of.
 */
function inSharedSnapshot<T>(file: StoreFile, work: () => T): T {
  if (shared?.file !== file || performance.now() - shared.since > longestShared) {
    endShared();
    file.sql('BEGIN').run();
    shared = { file, users: new Map(), since: performance.now() };
    process.nextTick(endSharedLater); // runs after all promises that are ready
    try {
      file.keys.refresh();
    } catch (error) {
      endShared();
      throw error;
    }
  }
  try {
    return work();
  } catch (error) {
    endShared();
    throw error;
  }
}

function endShared(): void {
  if (shared === null) return;
  const { file } = shared;
  shared = null;
  if (file.connection.inTransaction) file.sql('COMMIT').run();
}

/** An error here has no caller; the next transaction of the file meets it. */
function endSharedLater(): void {
  try {
    endShared();
  } catch {}
}

/** Runs `work` in a snapshot of its own, now. Not while the connection is in another transaction. */
export function inSnapshot<T>(file: StoreFile, work: () => T): T {
  endShared();
  file.sql('BEGIN').run();
  try {
    file.keys.refresh();
    return work();
  } finally {
    if (file.connection.inTransaction) file.sql('COMMIT').run();
  }
}

function takeGroup(jobs: Job[]): Job[] {
  let [count, rows] = [0, 0];
  while (count < jobs.length && rows < groupRows) rows += jobs[count++]!.rows;
  return jobs.splice(0, count);
}

/**
 * Commits a group; where the group cannot be, each of its jobs alone: what is too much for the disk together may fit
 * alone. `hold`: told when a transaction begins that others may have their turn in, and when it is over.
 */
async function commit(file: StoreFile, group: readonly Job[], hold: (held: boolean) => void): Promise<void> {
  try {
    const isLong = group.some((job) => job.isLong);
    const settle = isLong ? await commitInSlices(file, group, hold) : await whenFree(() => commitTogether(file, group));
    for (const tell of settle) tell();
  } catch (error) {
    if (group.length > 1 && !isBusy(error)) for (const job of group) await commit(file, [job], hold);
    else for (const job of group) job.reject(storeError(error, file.path));
  }
}

/**
 * Runs all jobs in one transaction. Returns what to tell the callers after the commit; throws when nothing was done.
 */
function commitTogether(file: StoreFile, group: readonly Job[]): (() => void)[] {
  endShared();
  file.sql('BEGIN IMMEDIATE').run();
  try {
    file.keys.refresh();
    const settle = stepsOf(file, group).map(atOnce);
    file.expectInPlace();
    file.sql('COMMIT').run();
    return settle;
  } catch (error) {
    undo(file);
    throw error;
  }
}

/** As `commitTogether`, and others have their turn in between. */
async function commitInSlices(
  file: StoreFile,
  group: readonly Job[],
  hold: (held: boolean) => void,
): Promise<(() => void)[]> {
  await whenFree(() => {
    endShared();
    file.sql('BEGIN IMMEDIATE').run();
    hold(true);
  });
  try {
    file.keys.refresh();
    const settle: (() => void)[] = [];
    for (const steps of stepsOf(file, group)) settle.push(await inSlices(steps, { urgent: true }));
    await nextTurn({ urgent: true }); // the commit has its own slice
    file.expectInPlace();
    file.sql('COMMIT').run();
    return settle;
  } catch (error) {
    undo(file);
    throw error;
  } finally {
    hold(false);
  }
}

function undo(file: StoreFile): void {
  file.keys.forget();
  if (file.connection.inTransaction) file.sql('ROLLBACK').run();
}

/** Each job in a savepoint, unless it is alone: then the transaction is undone where the job fails. */
function stepsOf(file: StoreFile, group: readonly Job[]): Generator<void, () => void>[] {
  const [first] = group;
  return group.length === 1 ? [runAlone(first!)] : group.map((job) => runInSavepoint(file, job));
}

function* runAlone({ work, resolve }: Job): Generator<void, () => void> {
  const value = yield* work();
  return () => resolve(value as never);
}

function* runInSavepoint(file: StoreFile, job: Job): Generator<void, () => void> {
  file.sql('SAVEPOINT job').run();
  try {
    const value = yield* job.work();
    file.sql('RELEASE job').run();
    return () => job.resolve(value as never);
  } catch (error) {
    if (endsTransaction(error) || !file.connection.inTransaction) throw error;
    file.keys.forget();
    file.sql('ROLLBACK TO job').run();
    file.sql('RELEASE job').run();
    return () => job.reject(storeError(error, file.path));
  }
}
