// The engine on SQLite: one file in one folder, for several processes of one machine.
import { stat, statfs } from 'node:fs/promises';
import type { Engine } from '../rows/rows.ts';
import type { Connection } from './driver.ts';
import { openFolder } from './folder.ts';
import { openTransactions } from './transactions.ts';

/** How to open: see `OpenOptions`. */
interface SqliteOptions {
  make?: boolean;
  now?: () => number;
  busySeconds?: number;
}

/** Opens the store in `folder`. Throws what `openFolder` throws. */
export async function openSqliteEngine(
  folder: string,
  { make = true, now = () => Date.now() / 1000, busySeconds }: SqliteOptions = {},
): Promise<Engine> {
  const path = await openFolder(folder, { make });
  const file = await openTransactions(path, busySeconds);
  return {
    address: `sqlite:${folder}`,
    read: (work) => file.read(work),
    write: (_, work) => file.write(work),
    now: async () => now(),
    forget: () => file.alone(emptyLog),
    check: () => file.look(integrityProblems),
    ping: async () => {
      const text = "UPDATE about SET value = ? WHERE name = 'ping'";
      await file.alone((connection) => connection.prepare(text).run(String(now())));
    },
    disk: async () => {
      const sizes = await Promise.all([path, `${path}-wal`].map(sizeOf));
      const { bavail, bsize } = await statfs(folder);
      return { bytes: sizes.reduce((sum, size) => sum + size, 0), free: bavail * bsize };
    },
    close: () => file.close(),
  };
}

async function sizeOf(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0;
}

function integrityProblems(connection: Connection): string[] {
  const found = connection.prepare('PRAGMA integrity_check(100)').all<{ integrity_check: string }>();
  return found.map((row) => row.integrity_check).filter((text) => text !== 'ok');
}

/** Moves the log into the file and empties it: what was removed is in neither then. Throws while others read it. */
function emptyLog(connection: Connection): void {
  connection.exec('PRAGMA incremental_vacuum');
  const { busy } = connection.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get<{ busy: number }>()!;
  if (busy !== 0) throw Object.assign(new Error('the log is being read'), { code: 'ERR_SQLITE_ERROR', errcode: 5 }); // see `isBusy`
}
