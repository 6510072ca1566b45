// Only this file uses the SQLite binding, which has the API of `node:sqlite`.
import { accessSync, constants, existsSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { backup, DatabaseSync } from '@photostructure/sqlite';
import type { ColumnValue } from '../rows/rows.ts';

/** The binding silently cuts a text at a NUL character, so callers escape it (`escapeText`). */
export interface Statement {
  run(...values: ColumnValue[]): { changes: number };
  get<Row>(...values: ColumnValue[]): Row | undefined;
  all<Row>(...values: ColumnValue[]): Row[];
  /** Makes rows lists of values, which takes half the time of objects. */
  setReturnArrays(isOn: boolean): void;
}

export type Connection = ReturnType<typeof connect>;

/** Opens an existing file. Statements never wait for a lock: waiting would block the event loop. */
export function connect(path: string) {
  const database = new DatabaseSync(locationOf(path), { timeout: 0 });
  return {
    get inTransaction(): boolean {
      return database.isTransaction;
    },
    exec: (sql: string): void => database.exec(sql),
    prepare: (sql: string): Statement => database.prepare(sql) as Statement,
    copyTo: async (target: string, signal?: AbortSignal): Promise<void> => {
      await backup(database, target, { rate: 2_000, progress: () => signal?.throwIfAborted() });
      signal?.throwIfAborted();
    },
    close: (): void => database.close(),
  };
}

export async function onConnection<T>(path: string, work: (connection: Connection) => T | Promise<T>): Promise<T> {
  const connection = connect(path);
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

/** On a read-only file system, SQLite needs `immutable=1` for a file without a write-ahead log. */
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

/** Returns the extended result code of an error of SQLite; null for any other error. */
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
