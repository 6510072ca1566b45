// The only file that uses the SQLite binding, `@photostructure/sqlite` (same API as `node:sqlite`).
import { accessSync, constants, existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { backup, DatabaseSync } from '@photostructure/sqlite';
import type { ColumnValue } from '../rows/rows.ts';

/** A prepared statement. The binding silently cuts a text at a NUL, see `model/json-text.ts`. */
export interface Statement {
  run(...values: ColumnValue[]): { changes: number };
  get<Row>(...values: ColumnValue[]): Row | undefined;
  all<Row>(...values: ColumnValue[]): Row[];
  /** Rows become lists of values in the order of the columns, which takes half the time of objects. */
  setReturnArrays(isOn: boolean): void;
}

export type Connection = ReturnType<typeof connect>;

/** Opens an existing file. Statements never wait for a lock: the caller waits and leaves the event loop free. */
export function connect(path: string) {
  const database = new DatabaseSync(locationOf(path), { timeout: 0 });
  return {
    get inTransaction(): boolean {
      return database.isTransaction;
    },
    exec: (sql: string): void => database.exec(sql),
    prepare: (sql: string): Statement => database.prepare(sql) as Statement,
    /**
     * Copies the state that the connection sees to a new file. An open read transaction decides that state. Throws the
     * reason of `signal` once it is aborted.
     */
    copyTo: async (target: string, signal?: AbortSignal): Promise<void> => {
      await backup(database, target, { rate: 2_000, progress: () => signal?.throwIfAborted() });
      signal?.throwIfAborted();
    },
    close: (): void => database.close(),
  };
}

/** Opens an existing file for `work`, and closes it. */
export async function onConnection<T>(path: string, work: (connection: Connection) => T | Promise<T>): Promise<T> {
  const connection = connect(path);
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

/**
 * The path or URL to open a database with. On a read-only file system, SQLite reads a file without a write-ahead log
 * only by a URL with `immutable=1`.
 */
function locationOf(path: string): string | URL {
  if (existsSync(`${path}-wal`) || !isOnReadOnlyMount(path)) return path;
  const url = pathToFileURL(path);
  url.search = 'immutable=1';
  return url;
}

export function isOnReadOnlyMount(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}

/** The extended result code of an error of SQLite; null for any other error. */
export function resultCode(error: unknown): number | null {
  const { code, errcode, message } = error as { code?: unknown; errcode?: unknown; message?: unknown };
  if (code !== 'ERR_SQLITE_ERROR') return null;
  return typeof errcode === 'number' ? errcode : (codesByMessage.get(String(message)) ?? null);
}

/** Errors of `all` lack their code, but have SQLite's message. */
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
