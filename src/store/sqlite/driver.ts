// The store's one file that knows the SQLite binding. What it offers, `node:sqlite` offers too and can replace it.
import { backup, DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';

/** A value that is bound to a statement or read from a row. */
export type SqlValue = string | number | null | Uint8Array;

/**
 * A prepared statement. A text must hold no NUL: the binding cuts it there without a word (see `model/json-text.ts`).
 */
export interface Statement {
  run(...values: SqlValue[]): { changes: number; lastInsertRowid: number | bigint };
  get<Row>(...values: SqlValue[]): Row | undefined;
  all<Row>(...values: SqlValue[]): Row[];
}

/** A connection to one database file. Not shared between threads. */
export interface Connection {
  readonly inTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): Statement;
  /**
   * Copies what the connection sees, its open read transaction if there is one, to a new file. Throws the reason of
   * `signal` once it is aborted.
   */
  copyTo(path: string, signal?: AbortSignal): Promise<void>;
  /** Closes the file; the last connection to it removes the log. Statements must not be used afterwards. */
  close(): void;
}

/**
 * Opens a file that is there. It never waits for a lock: a caller that meets a busy file waits without blocking the
 * event loop.
 */
export function connect(path: string): Connection {
  const database = new DatabaseSync(path, { timeout: 0 });
  return {
    get inTransaction() {
      return database.isTransaction;
    },
    exec: (sql) => database.exec(sql),
    prepare: (sql) => exactly(database.prepare(sql)),
    copyTo: async (target, signal) => {
      await backup(database, target, { rate: 2_000, progress: () => signal?.throwIfAborted() });
      signal?.throwIfAborted();
    },
    close: () => {
      leaveAlone(database);
      database.close();
    },
  };
}

/**
 * The binding takes a number between 0 and this one for 0: two times would be one, and a row would contradict its
 * content. Such a number is bound as text instead, of which the columns, which are REAL, make the same number again.
 */
const leastBound = 2 ** -52;

function exactly(statement: Statement): Statement {
  return {
    run: (...values) => statement.run(...bound(values)),
    get: (...values) => statement.get(...bound(values)),
    all: (...values) => statement.all(...bound(values)),
  };
}

/** Changes its argument, which is the list of one call. */
function bound(values: SqlValue[]): SqlValue[] {
  for (let i = 0; i < values.length; i += 1) {
    const value = values[i]!;
    if (typeof value === 'number' && value > 0 && value < leastBound) values[i] = String(value);
  }
  return values;
}

/**
 * Ends write-ahead logging where this is the last connection. SQLite would do so by itself, but the binding cannot
 * finalise statements: the connection lives on, and its log with it, until they are collected as garbage.
 */
function leaveAlone(database: DatabaseSyncInstance): void {
  try {
    database.exec('PRAGMA journal_mode = DELETE');
  } catch {
    // If others use the file, the disk is full, or the file is not a database, the log stays, which loses nothing.
  }
}

/** Extended result code of an error that SQLite gave; null for any other error. */
export function resultCode(error: unknown): number | null {
  const { code, errcode, message } = error as { code?: unknown; errcode?: unknown; message?: unknown };
  if (code !== 'ERR_SQLITE_ERROR') return null;
  return typeof errcode === 'number' ? errcode : (codesByMessage.get(String(message)) ?? null);
}

/** Errors of `all` come without their code, but with SQLite's own words. */
const codesByMessage = new Map([
  ['database is locked', 5],
  ['database table is locked', 6],
  ['out of memory', 7],
  ['attempt to write a readonly database', 8],
  ['disk I/O error', 10],
  ['database disk image is malformed', 11],
  ['database or disk is full', 13],
  ['unable to open database file', 14],
  ['locking protocol', 15],
  ['file is not a database', 26],
]);

/** What prepares statements, each text once. */
export interface StatementSource {
  /** Of the file, for messages. */
  readonly path: string;
  /** Numbers of users that the present snapshot has told, where they are kept. */
  readonly users?: Map<string, number | null> | null;
  sql(text: string): Statement;
}
