// Files and folders that may only be read, for root too.
import { execFileSync } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { atEnd } from '../../support/clean-up.ts';
import { isHere } from '../../support/needs.ts';

/** Takes the right to write to a file or folder away, until the test ends; false where that cannot be. */
export async function mayOnlyRead(path: string): Promise<boolean> {
  if (process.getuid?.() !== 0) {
    await chmod(path, 0o500);
    atEnd(() => chmod(path, 0o700));
    return true;
  }
  // Nothing keeps root from writing but a file system that is mounted for reading only.
  try {
    execFileSync('mount', ['--bind', path, path], { stdio: 'ignore' });
    // Lazily: SQLite closes its files when its statements are collected as garbage.
    atEnd(() => execFileSync('umount', ['-l', path]));
    execFileSync('mount', ['-o', 'remount,ro,bind', path], { stdio: 'ignore' });
    return true;
  } catch {
    return isHere('the right to mount', false);
  }
}
