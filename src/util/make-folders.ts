import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Makes a folder that only its owner may read, and its missing parents. The option `recursive` of
 * Node never returns if a file system answers ENOENT, as in a removed working directory.
 */
export function makeFolders(path: string): void {
  if (isThere(path)) return;
  const above = dirname(path);
  if (above !== path && !isThere(above)) makeFolders(above);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made the folder meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || !isThere(path)) throw error;
  }
}

/** False for a file: `mkdirSync` then throws an error that names the file. */
function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** If `work` fails and created the folder, removes it and its empty subfolders. */
export async function removeFolderOnFailure<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const existed = existsSync(folder);
  try {
    return await work();
  } catch (error) {
    if (!existed) removeEmpty(folder);
    throw error;
  }
}

/** For `catch`: a missing file or folder becomes undefined, other errors are thrown. */
export function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}

function removeEmpty(folder: string): void {
  try {
    for (const one of readdirSync(folder, { withFileTypes: true }))
      if (one.isDirectory()) removeEmpty(join(folder, one.name));
    rmdirSync(folder);
  } catch {
    // The folder does not exist or is not empty.
  }
}
