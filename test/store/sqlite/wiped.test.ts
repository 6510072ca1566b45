// What an erasure leaves in the files of the embedded store, searched byte by byte, also while others have it open.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/log/log.ts';
import { runPipeline } from '../../../src/pipeline/run-pipeline.ts';
import { backupSqliteStore } from '../../../src/store/sqlite/backup.ts';
import { connect } from '../../../src/store/sqlite/driver.ts';
import { fileName } from '../../../src/store/sqlite/folder.ts';
import type { Store } from '../../../src/store/store.ts';
import { entry, findAll, newId, newUser, put, same, waitingEntries } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();
vi.setConfig({ testTimeout: 120_000 });

const marker = 'WIPEMARKER';
const secretKey = 'manual/KEYMARKERada';

/** How often each of `texts` stands in the files of a folder; those that do not are left out. */
async function found(folder: string, texts: readonly string[]): Promise<Record<string, number>> {
  const hits: Record<string, number> = {};
  for (const name of await readdir(folder)) {
    if (name.endsWith('-shm')) continue;
    const bytes = (await readFile(join(folder, name))).toString('latin1');
    for (const text of texts) {
      const times = bytes.split(text).length - 1;
      if (times > 0) hits[`${text} in ${name}`] = times;
    }
  }
  return hits;
}

/** Pieces of what the user has in compressed form, as they stand in the files. */
function packed(folder: string, shards: number, uuid: string): string[] {
  return Array.from({ length: shards }, (_, shard) => [
    ...packedIn(join(folder, fileName('timeseries', shard)), 'chunks', uuid),
    ...packedIn(join(folder, fileName('usercache', shard)), 'batches', uuid),
  ]).flat();
}

function packedIn(path: string, table: 'chunks' | 'batches', uuid: string): string[] {
  const connection = connect(path);
  const sql = `SELECT hex(entries) AS hex FROM ${table} JOIN user_ids ON user_ids.id = ${table}.user WHERE uuid = ?`;
  const rows = connection.prepare(sql).all<{ hex: string }>(uuid);
  connection.close();
  return rows.map(({ hex }) => Buffer.from(hex, 'hex').toString('latin1').slice(20, 60));
}

/** Rows of every kind that are moved, replaced, fail and are taken back, in the pages of somebody else's. */
async function live(store: Store, user: string, word: string, key: string): Promise<void> {
  const run = () => runPipeline(store, user, { log: silentLog, now: () => 1_800_000_000 });
  for (let round = 0; round < 4; round++) {
    const texts = Array.from({ length: 150 }, (_, i) =>
      entry(i % 3 === 0 ? key : 'background/battery', 1_700_000_000 + 60 * i, { word: `${word} ${round} ${i}` }),
    );
    await put(store, user, texts);
    await store.usercache.put(user, { entries: [], unusable: [{ entry: word, reason: 'r', message: word }] }, round);
    await store.profiles.merge(user, { word: `${word} ${round}` });
    await run();
  }
  await put(store, user, [entry(key, 5, { word })]);
  await put(
    store,
    user,
    Array.from({ length: 80 }, (_, i) => entry(key, 1_900_000_000 + i, { word: `${word} ${newId()}` })),
  );
}

it.each([1, 2])(
  'no byte of an erased user is in the files of a store of %d shards, its logs or a backup',
  async (shards) => {
    const folder = join(await places.folder(), 'store');
    const serving = await places.open(folder, { shards, checkpointer: true });
    const store = await places.open(folder);
    const email = `carla-${marker}@example.org`;
    const { user } = await store.users.register(email, { now: 1 });
    const ben = await newUser(store);
    const token = newId().replaceAll('-', '').repeat(2);
    await store.tokens.add({ hash: token, user_id: user.uuid, created_ts: 1, expires_ts: null });
    for (let round = 0; round < 2; round++) {
      await live(serving, ben, 'BENSWORD', 'manual/bens');
      await live(store, user.uuid, marker, secretKey);
    }
    const texts = [marker, user.uuid, token, 'KEYMARKER', ...packed(folder, shards, user.uuid)];
    expect(texts.length).toBeGreaterThan(4);
    expect(Object.keys(await found(folder, texts)).length).toBeGreaterThan(texts.length);
    const before = [
      await findAll(serving.timeseries, ben, { time: 'write_ts', limit: 100 }),
      await waitingEntries(serving, ben),
    ];

    await store.erase(user.uuid);

    expect(await found(folder, texts)).toEqual({});
    const copy = join(await places.folder(), 'copy');
    await backupSqliteStore(folder, copy);
    expect(await found(copy, texts)).toEqual({});
    // Others are whole, for whoever had the store open before too: also the key that was named like the erased one.
    same(
      [await findAll(serving.timeseries, ben, { time: 'write_ts', limit: 100 }), await waitingEntries(serving, ben)],
      before,
    );
    const again = entry(secretKey, 7, { a: 1 });
    expect(await put(serving, ben, [again])).toEqual(['inserted']);
    const query = { keys: [secretKey], time: 'write_ts', limit: 10 } as const;
    same((await store.usercache.find(ben, query)).entries, [again]);
    await runPipeline(serving, ben, { log: silentLog, now: () => 1_800_000_000 });
    same((await store.timeseries.find(ben, query)).entries, [again]);
  },
);
