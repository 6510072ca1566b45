// The embedded store: SQLite files in one folder.
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { doorOf } from '../door.ts';
import type { Store } from '../store.ts';
import { admitRegistered } from './admit-registered.ts';
import { type Checkpointer, startCheckpointer } from './checkpointer.ts';
import { documents } from './documents.ts';
import { countRows, eraseRows, unownedRows } from './erase.ts';
import { errorTimeseries } from './errors.ts';
import { openFolder, type Shard } from './folder.ts';
import { profiles, tokens, users } from './people.ts';
import { leases, pipelineStates } from './pipeline.ts';
import { type Shards, shardsOf } from './rows.ts';
import { studies } from './studies.ts';
import { timeseries } from './timeseries.ts';
import { trips } from './trips.ts';
import { usercache } from './usercache.ts';

/** How an embedded store is opened. */
export interface SqliteStoreOptions {
  /** Where the store is; made when it is not there. */
  folder: string;
  /** Number of shards of a new store; an existing store keeps its number. Default 1. */
  shards?: number;
  /** Moves committed data into the files in a thread. One such process serves all processes that use the folder. */
  checkpointer?: boolean;
  /** The clock of the leases and of when trips are written, seconds since the epoch. Default: the machine's. */
  now?: () => number;
}

/**
 * Opens the store in a folder, making it when there is none. Several processes may do so at once. Throws
 * `MOBILITY_STORE_ADDRESS` when the folder cannot be one, `_VERSION` when a newer program wrote it, `_READONLY`,
 * `_DAMAGED`, `_FULL` and `_BUSY`.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { folder, shards, checkpointer = false, now = () => Date.now() / 1000 } = options;
  const opened = await openFolder(folder, shards === undefined ? {} : { shards });
  await admitRegistered(shardsOf(opened));
  const thread = checkpointer
    ? startCheckpointer(opened.flatMap((shard) => [shard.usercache.path, shard.timeseries.path]))
    : null;
  return storeOf(folder, opened, thread, now);
}

/** The store over files that are open. `now`: its clock. */
export function storeOf(
  folder: string,
  opened: readonly Shard[],
  thread: Checkpointer | null,
  now: () => number,
): Store {
  const door = doorOf(`sqlite:${folder}`);
  const all = shardsOf(opened);
  const whole = door.guard({
    counts: (userId: string) => countRows(all, userId),
    erase: (userId: string) => eraseRows(all, userId, now),
    unowned: () => unownedRows(all),
    ping: () => ping(all),
    disk: () => diskOf(folder),
  });
  const close = async (): Promise<void> => {
    await door.close();
    await thread?.stop();
    for (const { usercache, timeseries } of opened) {
      usercache.close();
      timeseries.close();
    }
  };
  let closed: Promise<void> | null = null;
  return {
    address: `sqlite:${folder}`,
    users: door.guard(users(all)),
    tokens: door.guard(tokens(all)),
    studies: door.guard(studies(all)),
    profiles: door.guard(profiles(all)),
    usercache: door.guard(usercache(all)),
    documents: door.guard(documents(all)),
    errors: door.guard(errorTimeseries(all)),
    timeseries: door.guard(timeseries(all, now)),
    trips: door.guard(trips(all, now)),
    pipeline: door.guard(pipelineStates(all)),
    leases: door.guard(leases(all, now)),
    use: null,
    ...whole,
    forRun(userId) {
      return { ...this, trips: door.guard(trips(all, now, { userId, links: new Map() })) };
    },
    close: () => (closed ??= close()),
  };
}

/** All files of the folder but the logs, which may be elsewhere. */
async function diskOf(folder: string): Promise<{ bytes: number; free: number }> {
  const names = await readdir(folder);
  const files = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => null))); // some come and go
  const { bavail, bsize } = await statfs(folder);
  const bytes = files.reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0);
  return { bytes, free: bavail * bsize };
}

async function ping({ all, first: { usercache, timeseries } }: Shards): Promise<void> {
  for (const shard of all) for (const file of [shard.usercache, shard.timeseries]) file.expectInPlace();
  await usercache.write(() => usercache.sql("UPDATE counters SET value = value + 1 WHERE name = 'ping'").run());
  await timeseries.read(() => timeseries.sql("SELECT value FROM counters WHERE name = 'fence'").get());
}
