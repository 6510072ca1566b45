// A consistent copy of a store while others write to it.
import { randomUUID } from 'node:crypto';
import { open, readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { makeFolders } from '../../make-folders.ts';
import { MobilityError } from '../../model/errors.ts';
import { type Connection, connect } from './driver.ts';
import { storeError } from './engine-errors.ts';
import { setUp, whenFree } from './file.ts';
import { checkPresent, labelOf, makeEmpty, pathsOf, syncFolder, writeLabel } from './folder.ts';

/** What a backup wrote. */
export interface BackupReport {
  /** Names of the database files in the target folder. */
  files: string[];
  /** Their size together. */
  bytes: number;
}

/**
 * Copies the store in `folder` to `target`, a folder that is new or empty, as it is at one moment: writers wait for
 * some milliseconds, then go on. The copy opens as a store, with nobody at work in it. Throws `MOBILITY_STORE_ADDRESS`
 * when there is no store, or the target has something in it or lies in the store, `_DAMAGED` when the store is, `_FULL`
 * when the copy does not fit, and the reason of `signal` once it is aborted; then nothing is left behind.
 */
export async function backupSqliteStore(
  folder: string,
  target: string,
  { signal }: { signal?: AbortSignal } = {},
): Promise<BackupReport> {
  const label = await labelOf(folder);
  if (label === null) throw addressError(`expected a store in ${folder}, found none`);
  const paths = pathsOf(folder, label.shards);
  await checkPresent(paths);
  await checkOutside(target, folder);
  await checkFree(target);
  const partial = join(dirname(resolve(target)), `.${basename(target)}.${randomUUID().slice(0, 8)}`);
  try {
    makeFolders(partial);
    await copyFiles(paths, partial, signal);
    await writeLabel(partial, label, true);
    await rename(partial, target).catch(async (error) => {
      await checkFree(target); // another backup has filled it meanwhile
      throw error;
    });
    await syncFolder(dirname(resolve(target)));
  } catch (error) {
    await rm(partial, { recursive: true, force: true });
    throw storeError(error, target);
  }
  const sizes = await Promise.all(paths.map(async (path) => (await stat(join(target, basename(path)))).size));
  return { files: paths.map((path) => basename(path)), bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

function addressError(message: string): MobilityError {
  return new MobilityError('MOBILITY_STORE_ADDRESS', message);
}

/** A copy inside the store would be lost together with it, and its folder would look like files of the store. */
async function checkOutside(target: string, folder: string): Promise<void> {
  const [copy, store] = [await realPlace(target), await realPlace(folder)];
  const way = relative(store, copy);
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) return;
  throw addressError(
    `expected a folder outside the store ${folder} for the backup, found ${target}, ` +
      `${way === '' ? 'the store itself' : 'which lies in it'}: name another folder, best on another disk`,
  );
}

/** The path without links, of what need not be there yet. */
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
  if (found.length > 0) {
    throw addressError(
      `expected ${target} to be a new or empty folder for the backup, found ${found.length} files in it`,
    );
  }
}

async function copyFiles(paths: readonly string[], target: string, signal: AbortSignal | undefined): Promise<void> {
  const sources = await snapshotsOf(paths);
  try {
    for (const [i, source] of sources.entries()) {
      const copy = join(target, basename(paths[i]!));
      await makeEmpty(copy);
      await source.copyTo(copy, signal);
      finishCopy(copy, paths[i]!);
      await sync(copy);
    }
  } finally {
    for (const source of sources) source.close();
  }
}

/** Connections that all see their file as it is at one moment: taken while no file can be written. */
async function snapshotsOf(paths: readonly string[]): Promise<Connection[]> {
  const locks: Connection[] = [];
  const snapshots: Connection[] = [];
  try {
    for (const path of paths) {
      await ofFile(path, async () => {
        const lock = connect(path);
        locks.push(lock);
        await whenFree(() => lock.exec('BEGIN IMMEDIATE'));
      });
    }
    for (const path of paths) {
      await ofFile(path, async () => {
        const snapshot = connect(path);
        snapshots.push(snapshot);
        await whenFree(() => setUp(snapshot));
        // A transaction sees its file from the first read on.
        snapshot.exec('BEGIN; SELECT count(*) FROM sqlite_schema');
      });
    }
    return snapshots;
  } catch (error) {
    for (const snapshot of snapshots) snapshot.close();
    throw error;
  } finally {
    for (const lock of locks) lock.close();
  }
}

/** What fails here fails because of this file of the store, and not because of the place of the backup. */
async function ofFile(path: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw storeError(error, path);
  }
}

/** Checks a copy and removes its leases: their holders do not work on the copy. */
function finishCopy(copy: string, original: string): void {
  const connection = connect(copy);
  try {
    const found = connection.prepare('PRAGMA quick_check(1)').get<{ quick_check: string }>()?.quick_check;
    if (found !== 'ok') {
      throw new MobilityError('MOBILITY_STORE_DAMAGED', `${original}: expected an undamaged database, found: ${found}`);
    }
    setUp(connection);
    if (basename(copy).startsWith('timeseries')) connection.exec('DELETE FROM leases');
  } finally {
    connection.close();
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
