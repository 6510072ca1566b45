// Copies an embedded store while others write to it, and compares the checksums of the copy.
import { randomUUID } from 'node:crypto';
import { readdir, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { MobilityError } from '../model/mobility-error.ts';
import { onEngine } from '../store/open.ts';
import { makeFolders } from '../util/make-folders.ts';
import { checkRows } from './check-store.ts';

/** The result of a backup. */
export interface BackupReport {
  bytes: number;
  /** Rows of the copy whose checksums were compared. */
  rows: number;
}

/**
 * Copies the store in `folder`, as it is at one moment, to the new or empty folder `target`. Compares the checksums of
 * all rows of the copy, which can be opened as a store. Throws `MOBILITY_STORE_ADDRESS` if there is no store, or if the
 * target is not empty or lies in the store; `_DAMAGED` if the store is damaged; `_FULL` if the copy does not fit; the
 * reason of `signal` once it is aborted. Then it leaves nothing behind.
 */
export async function backupStore(folder: string, target: string, signal?: AbortSignal): Promise<BackupReport> {
  const { copyDatabase } = await import('../store/sqlite/copy-database.ts');
  const { storeError } = await import('../store/sqlite/sqlite-errors.ts');
  const { syncFolder } = await import('../store/sqlite/folder.ts');
  const partial = join(dirname(resolve(target)), `.${basename(target)}.${randomUUID().slice(0, 8)}`);
  try {
    await checkOutside(target, folder, 'the backup');
    await checkFree(target);
    makeFolders(partial);
    await copyDatabase(folder, partial, signal);
    await syncFolder(partial);
    const report = await compareSums(partial, folder, signal);
    await rename(partial, target).catch(async (error) => {
      await checkFree(target); // another backup has filled it meanwhile
      throw error;
    });
    await syncFolder(dirname(resolve(target)));
    return report;
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => {});
    throw storeError(error, target);
  }
}

async function compareSums(copy: string, folder: string, signal?: AbortSignal): Promise<BackupReport> {
  return onEngine(copy, { make: false }, async (engine) => {
    const { findings, rows } = await checkRows(engine, { sumsOnly: true, ...(signal && { signal }) });
    signal?.throwIfAborted();
    const [first] = findings;
    if (first === undefined) return { bytes: (await engine.disk()).bytes, rows };
    throw new MobilityError(
      'MOBILITY_STORE_DAMAGED',
      `${folder}: expected sound rows, found ${findings.length} damaged, the first in ${first.table} (${first.row}); run \`mobility store check\``,
    );
  });
}

/** Throws `MOBILITY_STORE_ADDRESS` if the target lies in the store, since it would be lost together with the store. */
export async function checkOutside(target: string, folder: string, what: string): Promise<void> {
  const [copy, store] = [await realPlace(target), await realPlace(folder)];
  const way = relative(store, copy);
  if (way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) return;
  throw new MobilityError(
    'MOBILITY_STORE_ADDRESS',
    `expected a folder outside the store ${folder} for ${what}, found ${target}, ` +
      `${way === '' ? 'the store itself' : 'which lies in it'}: name another folder, best on another disk`,
  );
}

/** The path with its links resolved. The path need not exist. */
async function realPlace(path: string): Promise<string> {
  const whole = resolve(path);
  const above = dirname(whole);
  return realpath(whole).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || above === whole) throw error;
    return join(await realPlace(above), basename(whole));
  });
}

async function checkFree(target: string): Promise<void> {
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (found.length === 0 && target !== '') return;
  const name = target === '' ? 'an empty name' : `${found.length} files in ${target}`;
  throw new MobilityError('MOBILITY_STORE_ADDRESS', `expected a new or empty folder for the backup, found ${name}`);
}
