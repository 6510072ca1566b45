// Decides which server writes `server-…` log files; a second server at the same time writes `server-2-…`.
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';

const mostServers = 20;

/** A source of this process, until `release` or its end. */
export interface Claim {
  readonly source: string;
  /** Gives the source back; a second time does nothing. */
  release(): void;
}

/**
 * Claims the first source that no living server has, by a lock of SQLite on a file of its own: Node has no other way to
 * a lock that ends with its process however that ends, and that servers in several containers respect. Where the file
 * system knows no locks, all servers share the first source: they append to one file, which loses no line.
 */
export function claimSource(folder: string): Claim {
  for (let number = 1; number <= mostServers; number += 1) {
    const source = number === 1 ? 'server' : `server-${number}`;
    const path = join(folder, `.${source}.claim`);
    // Only if it is not there: closing a file ends the locks that its process has on it.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
    const lock = new DatabaseSync(path, { timeout: 0 });
    try {
      lock.exec('BEGIN EXCLUSIVE');
      return { source, release: () => lock.isOpen && lock.close() };
    } catch {
      lock.close();
    }
  }
  return { source: 'server', release: () => {} };
}
