import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { access, constants, link, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NoStore } from '../../model/store-errors.ts';
import { makeFolders } from '../../util/make-folders.ts';
import { storeFormat } from '../rows/tables.ts';
import { type Connection, onConnection } from './driver.ts';
import { applicationId, inspectFile } from './inspect.ts';
import { schema } from './schema.ts';
import { damagedFile, storeError } from './sqlite-errors.ts';
import { retryWhileBusy, setUp } from './sqlite-transactions.ts';

export const databaseIn = (folder: string): string => join(folder, 'mobility.db');

/**
 * Checks the database in `folder` and returns its path. `make`: creates the database if there is
 * none; other processes may do so at the same time. Throws `MOBILITY_STORE_ADDRESS`,
 * `_VERSION`, `_READONLY`, `_DAMAGED`, `_FULL`.
 */
export async function openFolder(folder: string, { make }: { make: boolean }): Promise<string> {
  const path = databaseIn(folder);
  try {
    if (!isThere(path)) {
      // The database of this log was lost. A new, empty store would hide the loss.
      if (isThere(`${path}-wal`)) throw damagedFile(path, 'a database beside the write-ahead log', 'no file');
      if (!make) throw new NoStore(folder);
      makeFolders(folder);
      await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      await makeDatabase(path);
    }
    // Without `make`, the right to read is enough: a backup may be in a read-only place.
    await access(path, make ? constants.R_OK | constants.W_OK : constants.R_OK);
    if (statSync(path).size === 0) throw damagedFile(path, 'a database', 'an empty file');
    const fault = inspectFile(path);
    if (fault !== null) throw fault;
    return path;
  } catch (error) {
    throw storeError(error, path);
  }
}

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

async function makeDatabase(path: string): Promise<void> {
  const temporary = `${path}.${randomUUID()}`;
  await makeEmpty(temporary);
  try {
    await onConnection(temporary, writeSchema);
    await syncFile(temporary);
    await link(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error; // EEXIST: another process created the file meanwhile
    });
    await syncFolder(join(path, '..'));
  } finally {
    await rm(temporary, { force: true });
  }
}

function writeSchema(connection: Connection): void {
  connection.exec('PRAGMA auto_vacuum = INCREMENTAL'); // so that `wipe` can remove free pages from the file
  connection.exec(`PRAGMA application_id = ${applicationId}`);
  connection.exec(`PRAGMA user_version = ${storeFormat}`);
  connection.exec(`BEGIN; ${schema}; INSERT INTO about VALUES ('ping', ''); COMMIT`);
}

const makeEmpty = (path: string): Promise<void> => writeFile(path, '', { flag: 'wx', mode: 0o600 });

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  await handle.sync().finally(() => handle.close());
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().catch(() => {}); // some file systems cannot sync a folder
  await handle.close();
}

/**
 * Copies the database as it is at one moment, without a write-ahead log, so that the copy can be
 * read from a read-only place. Throws `MOBILITY_STORE_ADDRESS` if there is no store.
 */
export async function copyDatabase(folder: string, target: string, signal?: AbortSignal): Promise<void> {
  const path = await openFolder(folder, { make: false });
  const copy = databaseIn(target);
  await makeEmpty(copy);
  await onConnection(path, async (source) => {
    await retryWhileBusy(() => setUp(source));
    // The transaction's snapshot begins with its first read.
    await retryWhileBusy(() => source.exec('BEGIN; SELECT count(*) FROM sqlite_schema'));
    await source.copyTo(copy, signal);
  }).catch((error) => {
    throw storeError(error, path);
  });
  await onConnection(copy, (connection) => connection.exec('PRAGMA journal_mode = DELETE'));
  await syncFile(copy);
}
