// The embedded store when the disk is full, a file is busy, or one write of many fails.
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { putBatch } from '../../../src/intake/put-batch.ts';
import { connect } from '../../../src/store/sqlite/driver.ts';
import { whenFree } from '../../../src/store/sqlite/file.ts';
import { fileName, openFolder, type Shard } from '../../../src/store/sqlite/folder.ts';
import { admitUser } from '../../../src/store/sqlite/ids.ts';
import { profiles } from '../../../src/store/sqlite/people.ts';
import { leases, pipelineStates } from '../../../src/store/sqlite/pipeline.ts';
import { shardsOf } from '../../../src/store/sqlite/rows.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { usercache } from '../../../src/store/sqlite/usercache.ts';
import type { Lease, Usercache } from '../../../src/store/store.ts';
import { noise } from '../../support/noise.ts';
import { fix, newId, newUser, pause, put, refOf, rejects, waiting, waitingEntries } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();

/** The parts of a store over files that a test can reach. */
async function openParts(): Promise<{ shard: Shard; cache: Usercache; shards: ReturnType<typeof shardsOf> }> {
  const opened = await openFolder(join(await places.folder(), 'store'), {});
  const [shard] = opened;
  places.later(() => {
    shard!.usercache.close();
    shard!.timeseries.close();
  });
  return { shard: shard!, cache: usercache(shardsOf(opened)), shards: shardsOf(opened) };
}

/** Somebody whom rows may be written about. */
function newMember(shard: Shard): string {
  const uuid = newId();
  admitUser(shard.usercache, uuid);
  return uuid;
}

/** Lets a file grow by so many pages and no more. */
function limitPages(shard: Shard, more: number): void {
  const pages = shard.usercache.connection.prepare('PRAGMA page_count').get<{ page_count: number }>()!.page_count;
  shard.usercache.connection.exec(`PRAGMA max_page_count = ${pages + more}`);
}

const batchOf = (from: number, count: number) => ({
  entries: Array.from({ length: count }, (_, i) => fix(from + i, { text: noise(`${from + i}`, 1_000) })),
  unusable: [],
});

describe('a full file', () => {
  it('refuses the whole put, keeps its data, and accepts the put when there is space', async () => {
    const { shard, cache } = await openParts();
    const user = newMember(shard);
    await cache.put(user, batchOf(0, 10), 1);
    limitPages(shard, 20);
    for (let i = 0; i < 3; i++) await rejects(cache.put(user, batchOf(100, 500), 1), 'MOBILITY_STORE_FULL');
    expect((await cache.summary(user)).count).toBe(10);
    expect(await cache.put(user, batchOf(50, 1), 1)).toEqual(['inserted']);
    shard.usercache.connection.exec('PRAGMA max_page_count = 1000000');
    expect(new Set(await cache.put(user, batchOf(100, 500), 1))).toEqual(new Set(['inserted']));
    expect((await cache.summary(user)).count).toBe(511);
  });

  it('records no put that it refuses in the profile, and each one that it accepts', async () => {
    const { shard, cache, shards } = await openParts();
    const user = newMember(shard);
    const pushed = (from: number, count: number, at: number) =>
      putBatch(user, batchOf(from, count).entries, { store: { usercache: cache }, now: () => at });
    await pushed(0, 2, 5);
    limitPages(shard, 20);
    await rejects(pushed(100, 500, 6), 'MOBILITY_STORE_FULL');
    expect(await profiles(shards).get(user)).toMatchObject({ last_put_ts: 5 });
    await pushed(10, 2, 7);
    expect(await profiles(shards).get(user)).toMatchObject({ last_put_ts: 7 });
  });

  it('of concurrent puts, refuses those that do not fit and accepts the others', async () => {
    const { shard, cache } = await openParts();
    const [small, large] = [newMember(shard), newMember(shard)];
    limitPages(shard, 60);
    const results = await Promise.allSettled([
      cache.put(small, batchOf(0, 2), 1),
      cache.put(large, batchOf(0, 400), 1),
      cache.put(small, batchOf(10, 2), 1),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect((results[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'MOBILITY_STORE_FULL' });
    expect((await cache.summary(small)).count).toBe(4);
    expect((await cache.summary(large)).count).toBe(0);
  });

  it('gives keys that it could not name their numbers later', async () => {
    const { shard, cache } = await openParts();
    const user = newMember(shard);
    limitPages(shard, 3);
    const entries = Array.from({ length: 300 }, (_, i) => ({ ...fix(i), metadata: { key: `key/${i}`, write_ts: i } }));
    await rejects(cache.put(user, { entries, unusable: [] }, 1), 'MOBILITY_STORE_FULL');
    shard.usercache.connection.exec('PRAGMA max_page_count = 1000000');
    await cache.put(user, { entries: entries.slice(200), unusable: [] }, 1);
    await cache.put(user, { entries, unusable: [] }, 1);
    const found = await cache.find(user, { time: 'write_ts', limit: 1_000 });
    expect(found.entries.map((one) => one.metadata.key)).toEqual(entries.map((one) => one.metadata.key));
  });
});

describe('a key that is named in a write that was undone', () => {
  const named = (key: string, at: number) => ({ ...fix(at), metadata: { key, write_ts: at } });

  it.each([
    ['alone', (shard: Shard) => shard],
    ['with its whole transaction', (shard: Shard) => limitPages(shard, 0)],
  ])('%s, gets its number again when an entry has it', async (how, prepare) => {
    const { shard, cache } = await openParts();
    const user = newMember(shard);
    await cache.put(user, { entries: [named('known', 1)], unusable: [] }, 1);
    prepare(shard);
    const undone = shard.usercache.write(() => {
      shard.usercache.keys.intern('new');
      if (how === 'alone') throw new Error('undone');
      // More than the file may grow by: the engine undoes everything.
      shard.usercache.sql('INSERT INTO keys (name) VALUES (?)').run('x'.repeat(1_000_000));
    });
    const beside = shard.usercache.write(() => 'done');
    await expect(undone).rejects.toThrow();
    expect(await beside).toBe('done');
    shard.usercache.connection.exec('PRAGMA max_page_count = 1000000');
    await cache.put(user, { entries: [named('new', 2)], unusable: [] }, 1);
    // Another process has nothing but the file.
    const again = await openFolder(dirname(shard.usercache.path), {});
    const { entries } = await usercache(shardsOf(again)).find(user, { time: 'write_ts', limit: 10 });
    for (const file of again.flatMap((one) => [one.usercache, one.timeseries])) file.close();
    expect(entries.map(({ metadata }) => metadata.key)).toEqual(['known', 'new']);
  });
});

it('a disk without space refuses writes, loses nothing, and is used again when it has space', async (test) => {
  const disk = join(await places.folder(), 'disk');
  await mkdir(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    return test.skip('without the right to mount a small disk');
  }
  places.later(() => execFileSync('umount', ['-l', disk]));
  const store = await places.open(join(disk, 'store'), { checkpointer: true });
  const user = await newUser(store);
  await writeFile(join(disk, 'ballast'), Buffer.alloc(1_000_000));
  const acknowledged: number[] = [];
  let next = 0;
  const fill = async (): Promise<void> => {
    for (;;) {
      const ts = next++;
      await put(store, user, [fix(ts, { text: 'x'.repeat(20_000) })]);
      acknowledged.push(ts);
    }
  };
  await rejects(fill(), 'MOBILITY_STORE_FULL');
  expect(acknowledged.length).toBeGreaterThan(10);
  const found = (await waitingEntries(store, user)).map((one) => one.metadata.write_ts);
  expect(found).toEqual(acknowledged);

  await rm(join(disk, 'ballast'));
  await rejects(fill(), 'MOBILITY_STORE_FULL');
  expect(acknowledged.length).toBeGreaterThan(found.length + 5);
  execFileSync('mount', ['-o', 'remount,size=9m', disk]);
  await put(store, user, [fix(1e6)]);
  await store.ping();
  await store.usercache.settle(user, { moved: (await waiting(store, user)).slice(0, 10).map(refOf), failed: [] }, 1);
  expect(await waitingEntries(store, user)).toHaveLength(acknowledged.length - 10 + 1);
});

it('a disk that is full at once makes no store, and one is made when there is space', async (test) => {
  const disk = join(await places.folder(), 'disk');
  await mkdir(disk);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=100k', 'tmpfs', disk], { stdio: 'ignore' });
  } catch {
    return test.skip('without the right to mount a small disk');
  }
  places.later(() => execFileSync('umount', ['-l', disk]));
  await rejects(openSqliteStore({ folder: join(disk, 'store') }), 'MOBILITY_STORE_FULL');
  execFileSync('mount', ['-o', 'remount,size=2m', disk]);
  const store = await places.open(join(disk, 'store'));
  await put(store, await newUser(store), [fix(1)]);
  expect(await readdir(join(disk, 'store'))).toContain('store.json');
});

describe('a file that others write to', () => {
  it('is waited for without blocking other calls', async () => {
    const folder = join(await places.folder(), 'store');
    const store = await places.open(folder);
    const user = await newUser(store);
    const other = connect(join(folder, fileName('usercache', 0)));
    other.exec('BEGIN IMMEDIATE');
    let ended: string | null = null;
    const waitingPut = put(store, user, [fix(1)]);
    waitingPut.then(
      () => {
        ended = 'stored';
      },
      () => {
        ended = 'failed';
      },
    );
    // A put that held the event loop would have failed by the end of the first of these turns.
    for (let turns = 0; turns < 40; turns += 1) await pause(0.001);
    expect(ended).toBe(null);
    expect((await store.usercache.summary(user)).count).toBe(0);
    other.exec('ROLLBACK');
    expect(await waitingPut).toEqual(['inserted']);
    other.close();
  });

  it('that stays busy is reported as busy', async () => {
    const path = join(await places.folder(), 'file.sqlite');
    await writeFile(path, '');
    const [one, other] = [connect(path), connect(path)];
    one.exec('CREATE TABLE t (x); BEGIN IMMEDIATE');
    const attempt = whenFree(() => other.exec('BEGIN IMMEDIATE'), 0.05);
    await expect(attempt).rejects.toMatchObject({ errcode: 5 });
    one.close();
    await whenFree(() => other.exec('BEGIN IMMEDIATE'), 0.05);
    other.close();
  });

  it('continues when another store on the same folder closes', async () => {
    const folder = join(await places.folder(), 'store');
    const [store, other] = [await places.open(folder), await places.open(folder)];
    const user = await newUser(store);
    await put(store, user, [fix(1)]);
    await other.close();
    await put(store, user, [fix(2)]);
    const connection = connect(join(folder, fileName('usercache', 0)));
    expect(connection.prepare('PRAGMA journal_mode').get()).toMatchObject({ journal_mode: 'wal' });
    connection.close();
    expect(await waiting(store, user)).toHaveLength(2);
  });
});

it('of concurrent writes, one that fails does not fail the others', async () => {
  const { shard, shards } = await openParts();
  const [states, rights] = [pipelineStates(shards), leases(shards, () => 100)];
  const users = [newMember(shard), newMember(shard), newMember(shard)];
  const taken: Lease[] = [];
  for (const user of users) {
    const result = await rights.acquire(user, 'a', 10);
    if ('lease' in result) taken.push(result.lease);
  }
  taken[1] = { ...taken[1]!, fence: taken[1]!.fence - 1_000 };
  const results = await Promise.allSettled(users.map((user, i) => states.merge(user, { last_run_ts: i }, taken[i]!)));
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect((await Promise.all(users.map((user) => states.get(user)))).map((state) => state.last_run_ts)).toEqual([
    0,
    null,
    2,
  ]);
});
