import { randomUUID } from 'node:crypto';
import { readdir, realpath, rename, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { MobilityError } from '../model/mobility-error.ts';
import { onEngine } from '../store/open.ts';
import { makeFolders, unlessMissing } from '../util/make-folders.ts';
import { checkRows } from './check-store.ts';

/**
 * Copies the store in `folder`, as it is at one moment, to the new or empty folder `target`, and
 * compares all rows of the copy with their checksums. The copy is itself a store. A failure or an
 * abortion leaves no copy. Throws `MOBILITY_STORE_ADDRESS` if the target lies in the store, and
 * `MOBILITY_STORE_DAMAGED` if a row is damaged.
 */
export async function backupStore(folder: string, target: string, signal?: AbortSignal) {
  const { storeError } = await import('../store/sqlite/sqlite-errors.ts');
  const { copyDatabase, syncFolder } = await import('../store/sqlite/folder.ts');
  const partial = join(dirname(resolve(target)), `.${basename(target)}.${randomUUID().slice(0, 8)}`);
  try {
    await checkOutside(target, folder, 'the backup');
    await checkEmpty(target);
    makeFolders(partial);
    await copyDatabase(folder, partial, signal);
    const report = await compareSums(partial, folder, signal);
    await syncFolder(partial);
    await rename(partial, target).catch(async (error) => {
      await checkEmpty(target); // another backup may have filled the folder meanwhile
      throw error;
    });
    await syncFolder(dirname(resolve(target)));
    return report;
  } catch (error) {
    await rm(partial, { recursive: true, force: true }).catch(() => {});
    throw storeError(error, target);
  }
}

async function compareSums(copy: string, folder: string, signal?: AbortSignal) {
  return onEngine(copy, { make: false }, async (engine) => {
    const { findings, rows } = await checkRows(engine, { sumsOnly: true, ...(signal && { signal }) });
    signal?.throwIfAborted();
    const [first] = findings;
    if (first === undefined) return { bytes: (await engine.disk()).bytes, rows };
    const found = `${findings.length} damaged, the first in ${first.table} (${first.row})`;
    const text = `${folder}: expected sound rows, found ${found}; run \`mobility store check\``;
    throw new MobilityError('MOBILITY_STORE_DAMAGED', text);
  });
}

/** Refuses a target in the store, which would be lost with the store. `what` is for the message. */
export async function checkOutside(target: string, folder: string, what: string): Promise<void> {
  const path = relative(await resolveLinks(folder), await resolveLinks(target));
  if (path === '..' || path.startsWith(`..${sep}`) || isAbsolute(path)) return;
  throw new MobilityError(
    'MOBILITY_STORE_ADDRESS',
    `expected a folder outside the store ${folder} for ${what}, found ${target}, ` +
      `${path === '' ? 'the store itself' : 'which lies in the store'}: name another folder, best on another disk`,
  );
}

async function resolveLinks(path: string): Promise<string> {
  const whole = resolve(path);
  const above = dirname(whole);
  return realpath(whole).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' || above === whole) throw error;
    return join(await resolveLinks(above), basename(whole));
  });
}

async function checkEmpty(target: string): Promise<void> {
  const found = (await readdir(target).catch(unlessMissing)) ?? [];
  if (found.length === 0 && target !== '') return;
  const name = target === '' ? 'an empty name' : `${found.length} files in ${target}`;
  throw new MobilityError('MOBILITY_STORE_ADDRESS', `expected a new or empty folder for the backup, found ${name}`);
}
