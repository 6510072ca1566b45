// After an erasure: what rows leave behind in the files once they are gone, names of keys and bytes of free pages.
import { setTimeout as sleep } from 'node:timers/promises';
import { MobilityError } from '../../model/errors.ts';
import { unescapeText } from '../../model/json-text.ts';
import { keyRow } from '../../model/keys.ts';
import { connect } from './driver.ts';
import { storeError } from './engine-errors.ts';
import { type StoreFile, setUp, whenFree } from './file.ts';
import { forgottenName } from './ids.ts';

/** s that others may hold a file: a backup reads it while it copies. */
const patience = 60;

/**
 * Takes away the names of keys that nobody has an entry of: clients choose them, and they may tell who somebody was.
 * Their numbers are not used again. `usedKeys`: the numbers of keys that there are entries of.
 */
export async function forgetUnusedKeys(file: StoreFile, usedKeys: (file: StoreFile) => Set<number>): Promise<void> {
  await file.write(() => {
    const rows = file.sql('SELECT id, name FROM keys').all<{ id: number; name: string }>();
    const own = rows.filter(({ id, name }) => name !== forgottenName(id) && keyRow(unescapeText(name)) === null);
    if (own.length === 0 || isFolding(file)) return;
    const used = usedKeys(file);
    const unused = own.filter(({ id }) => !used.has(id));
    if (unused.length === 0) return;
    const rename = file.sql('UPDATE keys SET name = ? WHERE id = ?');
    for (const { id } of unused) rename.run(forgottenName(id), id);
    file.keys.giveUp();
  });
}

/** True while entries of an earlier format are there: what they need is not looked through. */
function isFolding(file: StoreFile): boolean {
  return file.sql("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'entries'").get() !== undefined;
}

/**
 * Writes a file anew from the rows that are in it, and its log, too: of what was deleted no byte stays in either.
 * Writers wait meanwhile. Throws `MOBILITY_STORE_BUSY` when others hold the file, and `MOBILITY_STORE_FULL` without
 * room for a copy.
 */
export async function wipeFreeSpace({ path }: StoreFile): Promise<void> {
  const connection = connect(path);
  try {
    await whenFree(() => setUp(connection));
    await whenFree(() => connection.exec('VACUUM'), patience);
    await emptyLog(
      () => connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get<{ busy: number }>()!.busy === 0,
      path,
    );
    // A commit, so that the log has a head of its own: after a power cut the disk may hold an older index of it, by
    // which an empty log is one that was cut off (see `inspect.ts`). It gives numbers to nobody; without a change,
    // nothing is written.
    await whenFree(() => connection.exec('UPDATE counters SET value = value + 1'), patience);
  } catch (error) {
    throw storeError(error, path);
  } finally {
    connection.close();
  }
}

/** Readers keep the log while they read. */
async function emptyLog(attempt: () => boolean, path: string): Promise<void> {
  const deadline = performance.now() + patience * 1000;
  while (!(await whenFree(attempt, patience))) {
    if (performance.now() > deadline) {
      throw new MobilityError(
        'MOBILITY_STORE_BUSY',
        `${path}: expected readers to finish within ${patience} s, found one that goes on: the rows are gone, and their bytes are ` +
          'still in the file; repeat when it is done',
      );
    }
    await sleep(50);
  }
}
