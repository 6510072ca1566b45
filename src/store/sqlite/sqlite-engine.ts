import { closeSync, openSync, statSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { isMobilityError } from '../../model/mobility-error.ts';
import type { Engine, OpenOptions } from '../rows/rows.ts';
import type { Connection } from './driver.ts';
import { openFolder } from './folder.ts';
import { schema } from './schema.ts';
import { openTransactions } from './sqlite-transactions.ts';
import { wipe } from './wipe.ts';

/** Throws the errors of `openFolder`. */
export async function openSqliteEngine(
  folder: string,
  { make = true, now = () => Date.now() / 1000, busySeconds }: OpenOptions = {},
): Promise<Engine> {
  const path = await openFolder(folder, { make });
  const file = await openTransactions(path, busySeconds);
  // Creates what the store of an earlier version lacks, unless the file is read-only.
  await file
    .query((connection) => connection.exec(schema))
    .catch(async (error) => {
      if (isMobilityError(error, 'MOBILITY_STORE_READONLY')) return;
      await file.close();
      throw error;
    });
  let handle: number | null = null; // of the database file, for `wipe`
  return {
    address: `sqlite:${folder}`,
    writesWait: true,
    read: (work) => file.read(work),
    write: (_, work) => file.write(work),
    now: async () => now(),
    forget: async () => {
      handle ??= openSync(path, 'r+');
      return wipe(file, path, handle);
    },
    check: () => file.query(integrityProblems),
    ping: async () => {
      const text = "UPDATE about SET value = ? WHERE name = 'ping'";
      await file.execute((connection) => connection.prepare(text).run(String(now())));
    },
    version: () =>
      file.query((connection) => {
        const row = connection.prepare('SELECT sqlite_version() AS version').get<{ version: string }>();
        return `SQLite ${row?.version}`;
      }),
    disk: async () => {
      const { bavail, bsize } = await statfs(folder);
      return { bytes: sizeOf(path) + sizeOf(`${path}-wal`), free: bavail * bsize };
    },
    close: async () => {
      await file.close();
      if (handle !== null) closeSync(handle);
      handle = null;
    },
  };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function integrityProblems(connection: Connection): string[] {
  const found = connection.prepare('PRAGMA integrity_check(100)').all<{ integrity_check: string }>();
  return found.map((row) => row.integrity_check).filter((text) => text !== 'ok');
}
