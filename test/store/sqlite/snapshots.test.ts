// What reads of a file see, and how many statements a run needs: reads that follow one another share a snapshot.
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { putBatch, runPipeline, silentLog, simulateDays } from '../../../src/index.ts';
import { connect, type SqlValue, type Statement } from '../../../src/store/sqlite/driver.ts';
import type { StoreFile } from '../../../src/store/sqlite/file.ts';
import { openFolder, type Shard } from '../../../src/store/sqlite/folder.ts';
import { storeOf } from '../../../src/store/sqlite/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();

/** The statements that ran, of any connection. */
const texts = vi.hoisted((): string[] => []);

vi.mock('../../../src/store/sqlite/driver.ts', async (original) => {
  const actual = await original<typeof import('../../../src/store/sqlite/driver.ts')>();
  const noting = (sql: string, statement: Statement): Statement => ({
    run: (...values) => {
      texts.push(sql);
      return statement.run(...values);
    },
    get: <Row>(...values: SqlValue[]) => {
      texts.push(sql);
      return statement.get<Row>(...values);
    },
    all: <Row>(...values: SqlValue[]) => {
      texts.push(sql);
      return statement.all<Row>(...values);
    },
  });
  return {
    ...actual,
    connect: (path: string) => {
      const connection = actual.connect(path);
      const prepare = (sql: string): Statement => {
        return noting(sql, connection.prepare(sql));
      };
      return {
        get inTransaction() {
          return connection.inTransaction;
        },
        exec: connection.exec,
        prepare,
        copyTo: connection.copyTo,
        close: connection.close,
      };
    },
  };
});

/** The statements since the last call. */
const ran = (): string[] => texts.splice(0);

async function openOne(): Promise<{ shard: Shard; store: Store }> {
  const [shard] = await openFolder(join(await places.folder(), 'store'), {});
  if (shard === undefined) throw new TypeError('expected a shard, found none');
  const store = storeOf('x', [shard], null, () => Date.now() / 1000);
  places.later(() => store.close());
  return { shard, store };
}

const snapshotsIn = (texts: readonly string[]): number => texts.filter((sql) => sql === 'BEGIN').length;
const valueIn = (file: StoreFile): number =>
  file.sql("SELECT value FROM counters WHERE name = 'ping'").get<{ value: number }>()!.value;

/** Writes through a connection of its own, as another process does, at once. */
function writeFromOutside(file: StoreFile, value: number): void {
  const other = connect(file.path);
  other.exec(`INSERT INTO counters (name, value) VALUES ('ping', ${value}) ON CONFLICT DO UPDATE SET value = ${value}`);
  other.close();
}

it('reads that follow one another share a snapshot, until anything from outside may have come', async () => {
  const { shard, store } = await openOne();
  const { timeseries } = shard;
  const { user } = await store.users.register('somebody', { now: 1 });
  await new Promise((resolve) => setImmediate(resolve));
  ran();
  for (let i = 0; i < 5; i++) await store.trips.summary(user.uuid);
  expect(snapshotsIn(ran())).toBe(1);
  expect(timeseries.connection.inTransaction).toBe(true);
  await new Promise((resolve) => setImmediate(resolve));
  expect(timeseries.connection.inTransaction).toBe(false);
  await store.trips.summary(user.uuid);
  expect(snapshotsIn(ran())).toBe(1);
});

it('who has read in one file sees in the other what was written before that', async () => {
  const { shard } = await openOne();
  const { usercache, timeseries } = shard;
  for (const file of [timeseries, usercache]) writeFromOutside(file, 1);
  expect(await timeseries.read(() => valueIn(timeseries))).toBe(1);
  for (const file of [timeseries, usercache]) writeFromOutside(file, 2);
  expect(await usercache.read(() => valueIn(usercache))).toBe(2);
  expect(await timeseries.read(() => valueIn(timeseries))).toBe(2);
});

it('a write begins after what was read, and reads after it see it', async () => {
  const { shard } = await openOne();
  const { timeseries } = shard;
  const put = (): unknown => timeseries.sql("INSERT OR REPLACE INTO counters (name, value) VALUES ('ping', 5)").run();
  await timeseries.read(() => timeseries.sql('SELECT * FROM counters').all());
  const written = timeseries.write(put).then(() => timeseries.read(() => valueIn(timeseries)));
  // Reads beside it go on and on, each as the continuation of the one before.
  for (let i = 0; i < 100; i++) await timeseries.read(() => timeseries.sql('SELECT * FROM counters').all());
  expect(await written).toBe(5);
});

it('a read that fails leaves no snapshot open, and the number of a user who came later is found', async () => {
  const { shard, store } = await openOne();
  const { usercache } = shard;
  const failing = usercache.read(() => {
    throw new TypeError('broken on purpose');
  });
  await expect(failing).rejects.toThrow('broken on purpose');
  expect(usercache.connection.inTransaction).toBe(false);
  const uuid = '01234567-89ab-4cde-8f01-23456789abcd';
  expect((await store.usercache.summary(uuid)).count).toBe(0);
  await store.users.register('somebody', { now: 1, uuid });
  const [entries = []] = [...simulateDays({ platform: 'android', day: '2024-03-11', seed: 'a' }, 1)];
  await putBatch(uuid, entries.slice(0, 3), { store, now: () => 2e9 });
  expect((await store.usercache.summary(uuid)).count).toBe(3);
});

it('a run of an hour needs few snapshots, commits and statements', async () => {
  const { store } = await openOne();
  const { user } = await store.users.register('somebody', { now: 1 });
  const days = [...simulateDays({ platform: 'android', day: '2024-03-11', seed: 'hourly' }, 2)];
  const run = () => runPipeline(store, user.uuid, { log: silentLog, now: () => 2e9 });
  await putBatch(user.uuid, days[0]!, { store, now: () => 2e9 });
  await run();
  const counts: { snapshots: number; commits: number; all: number }[] = [];
  for (let part = 0; part < 24; part++) {
    const [from, to] = [part, part + 1].map((at) => Math.floor((at * days[1]!.length) / 24));
    await putBatch(user.uuid, days[1]!.slice(from, to), { store, now: () => 2e9 });
    ran();
    expect((await run()).status).toBe('done');
    const texts = ran();
    const commits = texts.filter((sql) => sql === 'BEGIN IMMEDIATE').length;
    counts.push({ snapshots: snapshotsIn(texts), commits, all: texts.length });
  }
  expect(Math.max(...counts.map(({ commits }) => commits))).toBeLessThanOrEqual(5);
  expect(Math.max(...counts.map(({ snapshots }) => snapshots))).toBeLessThanOrEqual(9);
  const mean = counts.reduce((sum, { all }) => sum + all, 0) / counts.length;
  expect(mean).toBeLessThan(190);
});
