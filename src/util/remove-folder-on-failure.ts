import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

/** Runs work that writes into a folder. If it fails, and the folder is new, removes the empty folders that it left. */
export async function removeFolderOnFailure<T>(folder: string, work: () => Promise<T>): Promise<T> {
  const existed = existsSync(folder);
  try {
    return await work();
  } catch (error) {
    if (!existed) removeEmpty(folder);
    throw error;
  }
}

function removeEmpty(folder: string): void {
  try {
    for (const one of readdirSync(folder, { withFileTypes: true }))
      if (one.isDirectory()) removeEmpty(join(folder, one.name));
    rmdirSync(folder);
  } catch {
    // it does not exist, or is not empty
  }
}
