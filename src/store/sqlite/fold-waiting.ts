// Stores of earlier formats keep a row for each entry that waits: they become batches when the store is opened.
import { atOnce } from '../../turns.ts';
import type { BatchRow } from './batch-form.ts';
import { insertBatches } from './batches.ts';
import type { StoreFile } from './file.ts';

/** What one transaction takes at most. */
const most = { rows: 1_000, bytes: 8 * 1024 * 1024 };

interface Row extends Omit<BatchRow, 'kept' | 'failed'> {
  id: number;
  user: number;
  bytes: number;
  kept: number | null;
  failed_first_ts: number | null;
  failed_tries: number | null;
}

/**
 * Resolves when no row is left, in this process or in others that open the store at the same time. An interruption
 * leaves each entry in one place or the other; the next opening goes on from there.
 */
export async function foldWaiting(file: StoreFile): Promise<void> {
  while (await file.read(() => hasTable(file))) await file.write(() => foldSome(file), most.rows);
}

function hasTable(file: StoreFile): boolean {
  const sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'waiting'";
  return file.connection.prepare(sql).get() !== undefined;
}

function foldSome(file: StoreFile): void {
  if (!hasTable(file)) return;
  const { connection } = file;
  const sizes = connection.prepare(`
    SELECT id, user, octet_length(entry) AS bytes FROM waiting
    WHERE user = (SELECT min(user) FROM waiting) ORDER BY key, write_ts LIMIT ?`);
  const row = connection.prepare(`
    SELECT key, write_ts, ts, received_ts, kept, failed_first_ts, failed_tries, entry AS text FROM waiting WHERE id = ?`);
  const remove = connection.prepare('DELETE FROM waiting WHERE id = ?');
  const rows: BatchRow[] = [];
  let [bytes, owner] = [0, 0];
  for (const { id, user, bytes: own } of sizes.all<Pick<Row, 'id' | 'user' | 'bytes'>>(most.rows)) {
    bytes += own;
    if (bytes > most.bytes && rows.length > 0) break;
    const { kept, failed_first_ts: first_ts, failed_tries: tries, ...found } = row.get<Row>(id)!;
    const failed = first_ts === null || tries === null ? null : { first_ts, tries };
    rows.push({ ...found, kept: kept !== null, failed });
    remove.run(id);
    owner = user;
  }
  if (rows.length > 0) atOnce(insertBatches(file, owner, rows));
  if (connection.prepare('SELECT 1 FROM waiting LIMIT 1').get() === undefined) connection.exec('DROP TABLE waiting');
}
