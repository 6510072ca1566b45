// Brings entries that an earlier version wrote into the form of today, ahead of their use: rows and older chunks.
import { olderForm } from '../chunks/form.ts';
import { type ChunkPoint, rewriteOlder } from './chunks.ts';
import type { StoreFile } from './file.ts';
import { fold, rowsLeft } from './fold.ts';
import { userIn } from './ids.ts';

/** Chunks that one transaction writes at most. */
const chunksAtOnce = 8;

/** How many entries of a user lie in rows or in older chunks. */
export function olderEntries(file: StoreFile, userId: string): Promise<number> {
  return file.read(() => {
    const user = userIn(file, userId);
    if (user === null) return 0;
    const sql = `SELECT sum(count) AS count FROM chunks WHERE user = ? AND substr(entries, 1, 1) = ${olderForm}`;
    return rowsLeft(file, user) + (file.sql(sql).get<{ count: number | null }>(user)!.count ?? 0);
  });
}

/** Converts the entries of a user, a few chunks in a transaction, until all are done or `signal` aborts. */
export async function convertEntries(file: StoreFile, userId: string, signal?: AbortSignal): Promise<number> {
  const before = await olderEntries(file, userId);
  if (before === 0) return 0;
  await fold(file, userId, signal);
  let last: ChunkPoint | null = { key: -1, first: 0 };
  while (last !== null && signal?.aborted !== true) {
    const from: ChunkPoint = last;
    last = await file.write(() => {
      const user = userIn(file, userId);
      return user === null ? null : (rewriteOlder(file, user, from, chunksAtOnce)?.last ?? null);
    }, chunksAtOnce);
  }
  return before - (await olderEntries(file, userId));
}
