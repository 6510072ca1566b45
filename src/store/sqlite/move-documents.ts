// Brings the documents of a store of an earlier format over to the file where they lie now.
import type { StoreFile } from './file.ts';
import { userFor } from './ids.ts';

interface Row {
  uuid: string;
  key: string;
  write_ts: number;
  data: string;
}

/**
 * Moves documents from the usercache file, where formats 1 to 3 kept them, to the timeseries file, and drops the table
 * that they leave. Nobody writes to that table any more: whatever moment this is interrupted at, the next opening
 * repeats it.
 */
export async function moveDocuments(usercache: StoreFile, timeseries: StoreFile): Promise<void> {
  const there = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'documents'";
  const isLeft = (): boolean => usercache.connection.prepare(there).get() !== undefined;
  if (!(await usercache.read(isLeft))) return;
  await usercache.write(() => {
    if (!isLeft()) return;
    const sql = 'SELECT uuid, key, write_ts, data FROM documents JOIN user_ids ON user_ids.id = documents.user';
    const rows = usercache.connection.prepare(sql).all<Row>();
    timeseries.connection.exec('BEGIN IMMEDIATE');
    try {
      const insert = timeseries.sql('INSERT OR IGNORE INTO documents (user, key, write_ts, data) VALUES (?, ?, ?, ?)');
      for (const { uuid, key, write_ts, data } of rows) insert.run(userFor(timeseries, uuid), key, write_ts, data);
      timeseries.connection.exec('COMMIT');
    } finally {
      if (timeseries.connection.inTransaction) timeseries.connection.exec('ROLLBACK');
    }
    usercache.connection.exec('DROP TABLE documents');
  });
}
