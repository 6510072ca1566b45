import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';

const busy = 5; // SQLITE_BUSY: another process has the lock

type Lock = { release(): void };

/**
 * Locks the file `.<name>.claim`. Returns null if another process has the lock. Uses a lock of
 * SQLite: it ends with the process and works between containers, while Node offers no such lock.
 */
export function tryLock(folder: string, name: string): Lock | null {
  const path = join(folder, `.${name}.claim`);
  // Node must not open and close an existing file. On POSIX, this would release the locks that
  // SQLite holds on the file in this process.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'); // MEMORY avoids a journal file
    return { release: () => database.isOpen && database.close() };
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === busy) return null;
    throw error;
  }
}

export async function waitForLock(folder: string, name: string): Promise<Lock> {
  let lock = tryLock(folder, name);
  for (; lock === null; lock = tryLock(folder, name)) await sleep(50);
  return lock;
}

/** Locks the first free source of a kind: `server`, else `server-2`, else `server-3`, … */
export function claimSource(folder: string, kind: string): Lock & { source: string } {
  for (let number = 1; ; number += 1) {
    const source = number === 1 ? kind : `${kind}-${number}`;
    const lock = tryLock(folder, source);
    if (lock !== null) return { source, ...lock };
  }
}
