// SQLite leaves copies of moved rows in the unused middle of pages, even with `secure_delete`.
import { fdatasyncSync, readSync, statSync, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Connection, onConnection } from './driver.ts';
import { busyError, storeError } from './sqlite-errors.ts';
import { longWritePause, retryWhileBusy, setUp, type Transactions } from './sqlite-transactions.ts';

/**
 * Resolves when no byte of removed rows is left in the database or its write-ahead log. Reads the
 * whole file, in groups of some hundred pages; other writes wait while a group is overwritten.
 * `handle`: the database, open for reading and writing. It must stay open until all connections are
 * closed, because on POSIX closing it drops the locks of SQLite.
 */
export async function wipe(file: Transactions, path: string, handle: number): Promise<void> {
  while (await file.execute(vacuumSome)) await pause(longWritePause);
  await file.execute(emptyLog);
  await onConnection(path, (connection) => wipeGaps(connection, path, handle)).catch((error) => {
    throw storeError(error, path);
  });
  await file.execute(emptyLog);
}

const pagesAtOnce = 2_000; // 8 MB, about 30 ms

/** Removes some free pages from the file. Returns true if more are left. */
function vacuumSome(connection: Connection): boolean {
  connection.exec(`PRAGMA incremental_vacuum(${pagesAtOnce})`);
  return connection.prepare('PRAGMA freelist_count').get<{ freelist_count: number }>()!.freelist_count > 0;
}

async function wipeGaps(connection: Connection, path: string, file: number): Promise<void> {
  await retryWhileBusy(() => setUp(connection));
  const { page_size: size } = connection.prepare('PRAGMA page_size').get<{ page_size: number }>()!;
  // A group is a page of the pointer map and the pages that the map describes in 5 bytes each.
  // The first group begins at page 2: https://sqlite.org/fileformat2.html
  const group = Buffer.alloc((Math.floor(size / 5) + 1) * size);
  for (let start = size; ; start += group.length) {
    const length = readSync(file, group, 0, group.length, start);
    if (length === 0) return;
    if (findGaps(group.subarray(0, length), size).length === 0) continue;
    await retryWhileBusy(() => wipeGroup(connection, path, file, { group, start, size }));
    await pause(longWritePause);
  }
}

/**
 * Copies the log into the file and empties it, so that neither has older versions of pages with
 * removed rows. Throws while another connection reads the log.
 */
function emptyLog(connection: Connection): void {
  const { busy } = connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get<{ busy: number }>()!;
  if (busy !== 0) throw busyError('another connection reads the write-ahead log');
}

/** Overwrites gaps while the log is empty and nothing can write: the file has the newest pages. */
function wipeGroup(
  connection: Connection,
  path: string,
  file: number,
  { group, start, size }: { group: Buffer; start: number; size: number },
): void {
  emptyLog(connection);
  connection.exec('BEGIN IMMEDIATE');
  try {
    if (statSync(`${path}-wal`).size > 0) throw busyError('another process wrote to the write-ahead log meanwhile');
    const length = readSync(file, group, 0, group.length, start);
    for (const { from, to } of findGaps(group.subarray(0, length), size)) {
      writeSync(file, Buffer.alloc(to - from), 0, to - from, start + from);
    }
    fdatasyncSync(file);
    // After this commit, other connections read the pages again instead of writing older copies.
    connection.exec("UPDATE about SET value = hex(randomblob(8)) WHERE name = 'ping'");
    connection.exec('COMMIT');
  } finally {
    if (connection.inTransaction) connection.exec('ROLLBACK');
  }
}

/**
 * Finds the gaps that contain bytes other than 0. `from`, `to`: offsets in `group`.
 *
 *     a page of a table or index:    header | cell pointers | gap | cells
 */
function findGaps(group: Buffer, size: number): { from: number; to: number }[] {
  const gaps: { from: number; to: number }[] = [];
  const zeros = Buffer.alloc(size);
  for (let page = size, entry = 0; page < group.length; page += size, entry += 5) {
    if (group[entry] !== 1 && group[entry] !== 5) continue; // the map says that the page belongs to no table or index
    const isInner = group[page] === 2 || group[page] === 5;
    const from = page + (isInner ? 12 : 8) + 2 * group.readUInt16BE(page + 3);
    const to = page + group.readUInt16BE(page + 5);
    if (from < to && to <= page + size && group.compare(zeros, 0, to - from, from, to) !== 0) gaps.push({ from, to });
  }
  return gaps;
}
