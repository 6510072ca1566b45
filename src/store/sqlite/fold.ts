// Stores of earlier formats keep a row for each entry: they become chunks user by user, while the store is in use.
import { editsInOrder } from '../chunks/edit.ts';
import type { ChunkRow } from '../chunks/form.ts';
import { editChunks } from './chunks.ts';
import type { StoreFile } from './file.ts';
import { userIn } from './ids.ts';

/** What one transaction folds at most. */
const most = { rows: 1_000, bytes: 8 * 1024 * 1024 };

/** A store with no more rows than these is folded when it is opened. */
const foldedAtOnce = 10_000;

/** Files in which no row is left: the table never comes back. */
const done = new WeakSet<StoreFile>();

/**
 * Resolves when all entries of a user lie in chunks, or those of everybody, or `signal` aborts. An interruption leaves
 * each entry in one place or the other; the next call goes on from there.
 */
export async function fold(file: StoreFile, userId?: string, signal?: AbortSignal): Promise<void> {
  while (!done.has(file) && signal?.aborted !== true) {
    const left = await file.read(() => {
      if (!hasTable(file)) done.add(file);
      else return ownerOf(file, userId) !== null;
      return false;
    });
    if (!left) return;
    await file.write(() => foldSome(file, userId), most.rows);
  }
}

/** Folds a store that is small; a large one is folded when its users are met. */
export async function foldSmall(file: StoreFile, limit = foldedAtOnce): Promise<void> {
  const isSmall = (): boolean =>
    hasTable(file) && file.connection.prepare('SELECT 1 FROM entries LIMIT 1 OFFSET ?').get(limit) === undefined;
  if (await file.read(isSmall)) await fold(file);
}

function hasTable(file: StoreFile): boolean {
  return file.sql("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'entries'").get() !== undefined;
}

/** Rows of a user that are still to be folded. */
export function rowsLeft(file: StoreFile, user: number): number {
  if (done.has(file) || !hasTable(file)) return 0;
  return file.sql('SELECT count(*) AS count FROM entries WHERE user = ?').get<{ count: number }>(user)!.count;
}

/** Number of the user whose rows are next; null when none is left. */
function ownerOf(file: StoreFile, userId: string | undefined): number | null {
  if (userId === undefined) return file.sql('SELECT min(user) AS user FROM entries').get<{ user: number }>()!.user;
  const user = userIn(file, userId);
  return file.sql('SELECT user FROM entries WHERE user = ? LIMIT 1').get<{ user: number }>(user)?.user ?? null;
}

function foldSome(file: StoreFile, userId: string | undefined): void {
  if (!hasTable(file)) return;
  const user = ownerOf(file, userId);
  if (user === null) return;
  const ids = file.sql(
    'SELECT id, octet_length(entry) AS bytes FROM entries WHERE user = ? ORDER BY key, write_ts LIMIT ?',
  );
  const row = file.sql('SELECT key, write_ts, ts, received_ts, zone, entry AS text FROM entries WHERE id = ?');
  const remove = file.sql('DELETE FROM entries WHERE id = ?');
  const byKey = new Map<number, ChunkRow[]>();
  let bytes = 0;
  for (const { id, bytes: own } of ids.all<{ id: number; bytes: number }>(user, most.rows)) {
    bytes += own;
    if (bytes > most.bytes && byKey.size > 0) break;
    const { key, ...found } = row.get<ChunkRow & { key: number }>(id)!;
    const rows = byKey.get(key) ?? [];
    byKey.set(key, rows);
    rows.push(found);
    remove.run(id);
  }
  for (const [key, rows] of byKey) {
    const edits = editsInOrder(rows, (found, before) => before ?? found);
    editChunks(file, user, key, edits);
  }
  if (file.sql('SELECT 1 FROM entries LIMIT 1').get() === undefined) file.connection.exec('DROP TABLE entries');
}
