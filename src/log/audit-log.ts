// The audit log: who did what to whose data, and how it ended. A file of its own, apart from the logs of calls: lines
// are only added, nothing rotates or compresses it, and it holds no coordinates, names or UUIDs of people.
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '../util/make-folders.ts';

/** One act of an operator, a manager or a person. */
export interface Act {
  /** Seconds since the epoch. */
  ts: number;
  /** Who did it: an account of the host or of the pages. */
  who: string;
  /** What, such as `export` or `users token`. */
  action: string;
  /** Whom it was about, by their `audit_key`: an erasure deletes the key, and then the act names no person. */
  people: readonly string[];
  /** Flags that say how much, such as `--study sunny`. */
  how: string;
  outcome: 'done' | 'partly' | 'failed';
}

const fileName = 'audit.jsonl';

/** Adds an act to the audit log in the folder of the log files. Throws what the file system throws. */
export async function audit(logDir: string, act: Act): Promise<void> {
  makeFolders(logDir);
  await appendFile(join(logDir, fileName), `${JSON.stringify(act)}\n`, { mode: 0o600, flush: true });
}

/** Every act, the first one first; a line that was cut by a full disk is left out. */
export async function readActs(logDir: string): Promise<Act[]> {
  const text = await readFile(join(logDir, fileName), 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as Act];
    } catch {
      return [];
    }
  });
}
