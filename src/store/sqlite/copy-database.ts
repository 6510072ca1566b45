import { onConnection } from './driver.ts';
import { databaseIn, makeEmpty, openFolder, syncFile } from './folder.ts';
import { storeError } from './sqlite-errors.ts';
import { retryWhileBusy, setUp } from './sqlite-transactions.ts';

/**
 * Copies the database of the store in `folder` to another folder, as it is at one moment. The copy
 * has no write-ahead log, so that it can be read from a read-only place. Throws
 * `MOBILITY_STORE_ADDRESS` if there is no store, and the reason of `signal` once it is aborted.
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
