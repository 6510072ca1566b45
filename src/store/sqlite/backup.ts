// A consistent copy of a store while others write to it.
import { randomUUID } from 'node:crypto';
import { readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { makeFolders } from '../../make-folders.ts';
import { MobilityError } from '../../model/errors.ts';
import { checkRows } from '../check.ts';
import { connect } from './driver.ts';
import { openSqliteEngine } from './engine.ts';
import { storeError } from './engine-errors.ts';
import { checkPresent, damagedFile, databaseIn, makeEmpty, syncFile, syncFolder } from './folder.ts';
import { setUp, whenFree } from './transactions.ts';

/** What a backup wrote. */
export interface BackupReport {
  bytes: number;
  /** Rows whose checksums were compared in the copy. */
  rows: number;
}

/**
 * Copies the store in `folder` to `target`, a folder that is new or empty, as it is at one moment, and compares the
 * checksums of all rows of the copy. The copy opens as a store. Throws `MOBILITY_STORE_ADDRESS` when there is no store,
 * or the target has something in it or lies in the store, `_DAMAGED` when the store is, `_FULL` when the copy does not
 * fit, and the reason of `signal` once it is aborted; then nothing is left behind.
 */
export async function backupSqliteStore(
  folder: string,
  target: string,
  { signal }: { signal?: AbortSignal } = {},
): Promise<BackupReport> {
  const path = databaseIn(folder);
  await checkSource(path, folder);
  await checkOutside(target, folder);
  await checkFree(target);
  const partial = join(dirname(resolve(target)), `.${basename(target)}.${randomUUID().slice(0, 8)}`);
  try {
    makeFolders(partial);
    const rows = await copyDatabase(path, partial, signal);
    await rename(partial, target).catch(async (error) => {
      await checkFree(target); // another backup has filled it meanwhile
      throw error;
    });
    await syncFolder(dirname(resolve(target)));
    return { bytes: (await stat(databaseIn(target))).size, rows };
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw storeError(error, target);
  }
}

async function checkSource(path: string, folder: string): Promise<void> {
  const isMissing = await stat(path).then(
    () => false,
    (error: NodeJS.ErrnoException) => error.code === 'ENOENT',
  );
  if (isMissing) throw addressError(`expected a store in ${folder}, found none`);
  await checkPresent(path);
}

/** Copies the file through the engine, which includes its log; returns the number of rows that were compared. */
async function copyDatabase(path: string, folder: string, signal: AbortSignal | undefined): Promise<number> {
  const copy = databaseIn(folder);
  await makeEmpty(copy);
  const source = connect(path);
  try {
    await whenFree(() => setUp(source));
    // A transaction sees its file from the first read on.
    await whenFree(() => source.exec('BEGIN; SELECT count(*) FROM sqlite_schema'));
    await source.copyTo(copy, signal);
  } catch (error) {
    throw storeError(error, path);
  } finally {
    source.close();
  }
  endLogging(copy);
  await syncFile(copy);
  const engine = await openSqliteEngine(folder, { make: false });
  try {
    const { findings, rows } = await checkRows(engine, { sumsOnly: true, ...(signal && { signal }) });
    signal?.throwIfAborted();
    const [first] = findings;
    if (first !== undefined) throw damagedFile(path, 'sound rows', `${findings.length} damaged, the first in ${first.table}: ${first.row}`);
    return rows;
  } finally {
    await engine.close();
  }
}

/** Makes the copy one file without a log: it can be read from a place where nothing can be written. */
function endLogging(copy: string): void {
  const connection = connect(copy);
  try {
    connection.exec('PRAGMA journal_mode = DELETE');
  } finally {
    connection.close();
  }
}

function addressError(message: string): MobilityError {
  return new MobilityError('MOBILITY_STORE_ADDRESS', message);
}

/** A copy inside the store would be lost together with it. */
async function checkOutside(target: string, folder: string): Promise<void> {
  const [copy, store] = [await realPlace(target), await realPlace(folder)];
  const way = relative(store, copy);
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) return;
  throw addressError(
    `expected a folder outside the store ${folder} for the backup, found ${target}, ` +
      `${way === '' ? 'the store itself' : 'which lies in it'}: name another folder, best on another disk`,
  );
}

/** The path without links; it need not exist. */
async function realPlace(path: string): Promise<string> {
  const whole = resolve(path);
  const above = dirname(whole);
  return realpath(whole).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || above === whole) throw storeError(error, path);
    return join(await realPlace(above), basename(whole));
  });
}

async function checkFree(target: string): Promise<void> {
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw storeError(error, target);
  });
  if (found.length === 0) return;
  throw addressError(`expected ${target} to be a new or empty folder for the backup, found ${found.length} files in it`);
}
