// A store that an earlier version of the program made opens, and gets the tables and indexes that it lacks.
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { connect } from '../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../src/store/sqlite/folder.ts';
import { tempFolder } from '../../support/clean-up.ts';
import { allEntries, chainOf, pipeline } from '../../support/diary.ts';
import { openStoreIn } from '../../support/store.ts';
import { storeWithUser } from '../contract/kit.ts';

const user = '10000000-0000-4000-8000-000000000000';

/** A folder with a store of commit cb09d3fe: three moved locations, and a pending one. */
async function earlierStore(): Promise<string> {
  const folder = tempFolder();
  const packed = await readFile(join(import.meta.dirname, '../../fixtures/stores/0.1.0-cb09d3fe.db.gz'));
  await writeFile(databaseIn(folder), gunzipSync(packed));
  return folder;
}

function onFile<T>(folder: string, work: (connection: ReturnType<typeof connect>) => T): T {
  const connection = connect(databaseIn(folder));
  const result = work(connection);
  connection.close();
  return result;
}

const namesIn = (folder: string) =>
  onFile(folder, (connection) => connection.prepare('SELECT name FROM sqlite_schema ORDER BY name').all());

it('a store of commit cb09d3fe opens with all its entries, and the pipeline continues from its state', async () => {
  const store = await openStoreIn(await earlierStore());
  expect(await allEntries(store.timeseries, user)).toHaveLength(3);
  expect(await store.usercache.count(user)).toBe(1);
  expect(await pipeline(store, user)).toMatchObject({ status: 'done' });
  expect(await allEntries(store.timeseries, user)).toHaveLength(4);
  expect(await chainOf(store, user)).toEqual([]);
  expect(await store.users.byEmail('ada@example.org')).toMatchObject({ uuid: user });
});

it('opening creates missing tables and indexes, also for commands that create no store', async () => {
  const { folder: made, store: fresh } = await storeWithUser();
  await fresh.close();
  for (const make of [true, false]) {
    const folder = await earlierStore();
    const missing = 'DROP TABLE managers; DROP INDEX trips_user_day; DROP TABLE documents';
    onFile(folder, (connection) => connection.exec(missing));
    const store = await openStoreIn(folder, { make });
    expect(await store.managers.list()).toEqual([]);
    await store.close();
    expect(namesIn(folder)).toEqual(namesIn(made));
  }
});

it('a store that may only be read opens as it is', async () => {
  const folder = await earlierStore();
  onFile(folder, (connection) => connection.exec('DROP INDEX trips_user_day'));
  await chmod(databaseIn(folder), 0o400);
  const store = await openStoreIn(folder, { make: false });
  expect(await allEntries(store.timeseries, user)).toHaveLength(3);
});
