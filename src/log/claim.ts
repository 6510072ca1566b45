// Decides which server writes `server-…` log files; a second server at the same time writes `server-2-…`.
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite';

const mostServers = 20;
const busy = 5; // SQLITE_BUSY

/** A source of this process, until `release` or its end. */
export interface Claim {
  readonly source: string;
  /** False where nothing can be locked: other servers may write the same source. */
  readonly alone: boolean;
  /** False when its file was removed, with the folder perhaps: nobody sees the claim any more. */
  stands(): boolean;
  /** Gives the source back; a second time does nothing. */
  release(): void;
}

/**
 * Claims the first source that no living server has, by a lock of SQLite on a file of its own: Node has no other way to
 * a lock that ends with its process however that ends, and that servers in several containers respect. Where nothing
 * can be locked, all servers share the first source: they append to one file, which loses no line.
 */
export function claimSource(folder: string): Claim {
  for (let number = 1; number <= mostServers; number += 1) {
    const source = number === 1 ? 'server' : `server-${number}`;
    const path = join(folder, `.${source}.claim`);
    // Only if it is not there: closing a file ends the locks that its process has on it.
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
    const lock = lockOn(path);
    if (lock === 'taken') continue;
    if (lock === null) break;
    return { source, alone: true, stands: () => existsSync(path), release: () => lock.isOpen && lock.close() };
  }
  return { source: 'server', alone: false, stands: () => true, release: () => {} };
}

/** null: nothing can be locked here. */
function lockOn(path: string): DatabaseSyncInstance | 'taken' | null {
  let database: DatabaseSyncInstance | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE'); // without a file for the journal
    return database;
  } catch (error) {
    database?.close();
    return (error as { errcode?: number }).errcode === busy ? 'taken' : null;
  }
}
