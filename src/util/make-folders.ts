// Makes folders that only their owner may read.
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder and its missing parents. Throws what the file system throws. Node's own `recursive` never returns if a
 * file system refuses a folder with ENOENT, as in a working directory that was removed.
 */
export function makeFolders(path: string): void {
  if (isThere(path)) return;
  const above = dirname(path);
  if (above !== path && !isThere(above)) makeFolders(above);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isThere(path)) throw error; // another process was first
  }
}

/** False also for a file: then making the folder throws an error that says so. */
function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
