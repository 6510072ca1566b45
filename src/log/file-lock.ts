// Locks on files of the log folder: which process writes which log file, and who may rewrite finished ones.
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';

const busy = 5; // SQLITE_BUSY

/** A lock of this process; it ends with the process. */
export interface Lock {
  release(): void;
}

/**
 * Locks `.<name>.claim` in the folder. Returns null if another process has the lock. Throws if the file cannot be
 * locked. The lock is SQLite's: Node has none that ends with its process in every case and that containers respect.
 */
export function tryLock(folder: string, name: string): Lock | null {
  const path = join(folder, `.${name}.claim`);
  // Only if it does not exist: closing a file ends the locks that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'); // without a file for the journal
    return { release: () => database.isOpen && database.close() };
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === busy) return null;
    throw error;
  }
}

/** Waits for a lock. Others keep it for as long as it takes to read the log files. */
export async function waitForLock(folder: string, name: string): Promise<Lock> {
  let lock = tryLock(folder, name);
  for (; lock === null; lock = tryLock(folder, name)) await sleep(50);
  return lock;
}

/** Claims the first source that no other process writes: `server`, `server-2`, … */
export function claimSource(folder: string, kind: string): Lock & { source: string } {
  for (let number = 1; ; number += 1) {
    const source = number === 1 ? kind : `${kind}-${number}`;
    const lock = tryLock(folder, source);
    if (lock !== null) return { source, ...lock };
  }
}
