// Locks in the log folder. They decide which process writes which log file, and which one may rewrite finished files.
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';

const busy = 5; // SQLITE_BUSY

/** A lock of this process. It ends with the process at the latest. */
export interface Lock {
  release(): void;
}

/**
 * Locks `.<name>.claim` in the folder. Returns null if another process has the lock. Throws if the file cannot be
 * locked. It uses a lock of SQLite, because Node has no lock that always ends with its process and that works between
 * containers.
 */
export function tryLock(folder: string, name: string): Lock | null {
  const path = join(folder, `.${name}.claim`);
  // Only if the file does not exist: closing it would end the locks that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'); // no file for the journal
    return { release: () => database.isOpen && database.close() };
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === busy) return null;
    throw error;
  }
}

/** Waits for a lock. Other processes hold it while they read the log files. */
export async function waitForLock(folder: string, name: string): Promise<Lock> {
  let lock = tryLock(folder, name);
  for (; lock === null; lock = tryLock(folder, name)) await sleep(50);
  return lock;
}

/** Locks the first source that no other process writes: `server`, `server-2`, … */
export function claimSource(folder: string, kind: string): Lock & { source: string } {
  for (let number = 1; ; number += 1) {
    const source = number === 1 ? kind : `${kind}-${number}`;
    const lock = tryLock(folder, source);
    if (lock !== null) return { source, ...lock };
  }
}
