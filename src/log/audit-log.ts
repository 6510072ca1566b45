// The audit log: who did what to whose data, with which result. Its file is never rotated, and
// contains no coordinates, names or UUIDs of users.
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '../model/json.ts';
import { makeFolders, unlessMissing } from '../util/make-folders.ts';

export interface Act {
  ts: number;
  who: string; // the account on the operating system, or the account on the web pages
  action: string;
  /** The `audit_key` of each user concerned. An erasure removes the key from the store. */
  people: readonly string[];
  how: string; // the flags that limited the act, such as `--study sunny`
  outcome: 'done' | 'partly' | 'failed';
}

const fileName = 'audit.jsonl';

export async function audit(logDir: string, act: Act): Promise<void> {
  makeFolders(logDir);
  await appendFile(join(logDir, fileName), `${JSON.stringify(act)}\n`, { mode: 0o600, flush: true });
}

/** Returns the acts, the oldest first. Ignores a line that a full disk cut off. */
export async function readActs(logDir: string): Promise<Act[]> {
  const text = (await readFile(join(logDir, fileName), 'utf8').catch(unlessMissing)) ?? '';
  const acts = text.split('\n').flatMap((line) => parseJson(line) ?? []);
  return acts as unknown as Act[];
}
