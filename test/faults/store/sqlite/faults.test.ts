// The embedded store when the disk is full, a file is busy or out of reach, or one write of many fails: what was
// acknowledged is there, what was refused left nothing, and the store continues when the fault ends.
import { renameSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { connect } from '../../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../../src/store/sqlite/folder.ts';
import { retryWhileBusy } from '../../../../src/store/sqlite/sqlite-transactions.ts';
import { fix, fixes, newPerson, numbers, refuse, rejects, same, storeWithUser } from '../../../store/contract/kit.ts';
import { engineError, watched } from '../../../store/support/watched-driver.ts';
import { tempFolder } from '../../../support/clean-up.ts';
import { noise } from '../../../support/noise.ts';
import { openStoreIn } from '../../../support/store.ts';
import { until } from '../../../support/until.ts';
import { mount, remount } from '../../kit.ts';

vi.mock('../../../../src/store/sqlite/driver.ts', async (original) =>
  (await import('../../../store/support/watched-driver.ts')).watchedDriver(await original()),
);

afterEach(() => watched.reset());

it('a full file refuses the whole put, including its note in the profile, and accepts it when there is space', async () => {
  const { store, user } = await storeWithUser();
  const writer = watched.connections.at(-1)!;
  const growBy = (pages: number): void => {
    const { page_count } = writer.prepare('PRAGMA page_count').get<{ page_count: number }>()!;
    writer.exec(`PRAGMA max_page_count = ${page_count + pages}`);
  };
  const push = async (from: number, count: number, at: number) => {
    const entries = numbers(from, from + count).map((ts) => fix(ts, { text: noise(`${ts}`, 1_000) }));
    return (await store.usercache.put(user.id, { entries, unusable: [], note: { set: { at } } }, at)).results;
  };
  await push(0, 10, 5);
  growBy(20);
  for (let i = 0; i < 3; i++) await rejects(push(100, 500, 6), 'MOBILITY_STORE_FULL');
  expect(await store.usercache.count(user.id)).toBe(10);
  expect(await store.profiles.get(user.id)).toEqual({ at: 5 });
  expect(await push(50, 1, 7)).toEqual(['inserted']);
  growBy(1_000_000);
  expect(new Set(await push(100, 500, 8))).toEqual(new Set(['inserted']));
  expect(await store.usercache.count(user.id)).toBe(511);
  expect(await store.profiles.get(user.id)).toEqual({ at: 8 });
});

it('no store is made on a full disk, and one is made when there is space', async (test) => {
  const disk = join(tempFolder(), 'disk');
  await mkdir(disk);
  mount(test, disk, '-t', 'tmpfs', '-o', 'size=100k', 'tmpfs');
  const folder = join(disk, 'store');
  await rejects(openStoreIn(folder), 'MOBILITY_STORE_FULL');
  expect(await readdir(folder)).toEqual([]);
  remount(disk, 'size=2m');
  const store = await openStoreIn(folder);
  await (await newPerson(store)).put([fix(1)]);
});

describe('a file that others write to', () => {
  it('delays a put without blocking other calls', async () => {
    const { folder, store, user } = await storeWithUser();
    const other = connect(databaseIn(folder));
    other.exec('BEGIN IMMEDIATE');
    let tries = 0;
    watched.before = (sql) => {
      if (sql === 'BEGIN IMMEDIATE') tries += 1;
    };
    const waitingPut = user.put([fix(1)]);
    await until(async () => {
      expect(await store.usercache.count(user.id)).toBe(0);
      return tries > 10;
    });
    other.exec('ROLLBACK');
    expect(await waitingPut).toEqual(['inserted']);
    other.close();
  });

  it('that stays busy is reported as busy', async () => {
    const path = join(tempFolder(), 'file.sqlite');
    await writeFile(path, '');
    const [one, other] = [connect(path), connect(path)];
    one.exec('CREATE TABLE t (x); BEGIN IMMEDIATE');
    const attempt = retryWhileBusy(() => other.exec('BEGIN IMMEDIATE'), 0.05);
    await expect(attempt).rejects.toMatchObject({ errcode: 5 });
    one.close();
    await retryWhileBusy(() => other.exec('BEGIN IMMEDIATE'), 0.05);
    other.close();
  });
});

it('a store whose folder was moved or replaced stores nothing more', async () => {
  const { folder, user } = await storeWithUser();
  await user.put([fix(1)]);
  await rename(folder, `${folder}-moved`);
  await rejects(user.put([fix(2)]), 'MOBILITY_STORE_UNAVAILABLE');
  const another = await openStoreIn(folder);
  await rejects(user.put([fix(3)]), 'MOBILITY_STORE_UNAVAILABLE');
  await another.close();
  await rm(folder, { recursive: true });
  await rename(`${folder}-moved`, folder);
  await user.put([fix(4)]);
  same(await user.waiting(), [fix(1), fix(4)]);
});

it.each([1, 1_000])(
  'a folder that is moved while a put of %d entries is written contains none of them',
  async (count) => {
    const { folder, user } = await storeWithUser();
    watched.before = (sql) => {
      if (/INTO batches/.test(sql)) renameSync(folder, `${folder}-moved`);
    };
    await rejects(user.put(fixes(0, count)), 'MOBILITY_STORE_UNAVAILABLE');
    watched.before = () => {};
    await rename(`${folder}-moved`, folder);
    same(await user.waiting(), []);
  },
);

it.each([1, 1_000])('a put of %d entries is not acknowledged if its commit failed', async (count) => {
  const { store, user } = await storeWithUser();
  const other = await newPerson(store);
  watched.before = (sql) => {
    if (/^COMMIT/.test(sql)) throw engineError(10);
  };
  const puts = await Promise.allSettled([user.put(fixes(0, count)), other.put(fixes(0, count))]);
  expect(puts.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  watched.before = () => {};
  same(await user.waiting(), []);
});

it('of two simultaneous writes, one that fails after its first row leaves no row, and the other is stored', async () => {
  const { store, user } = await storeWithUser();
  const other = await newPerson(store);
  let inserts = 0;
  watched.before = (sql) => {
    if (/INTO batches/.test(sql) && inserts++ === 0) throw new Error('made up');
  };
  const unusable = [{ entry: 1, reason: 'r', message: 'm' }];
  const failing = store.usercache.put(user.id, { entries: [fix(1)], unusable }, 1);
  const puts = await Promise.allSettled([failing, other.put([fix(2)])]);
  expect(puts.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  expect(await user.errors()).toEqual([]);
  same(await other.waiting(), [fix(2)]);
});

describe('an error of the engine', () => {
  const codes: [number, string][] = [
    [13, 'MOBILITY_STORE_FULL'], // SQLITE_FULL
    [10 | (3 << 8), 'MOBILITY_STORE_FULL'], // SQLITE_IOERR_WRITE: a quota
    [10 | (19 << 8), 'MOBILITY_STORE_FULL'], // SQLITE_IOERR_SHMSIZE
    [8, 'MOBILITY_STORE_READONLY'],
    [7, 'MOBILITY_STORE_UNAVAILABLE'], // no memory
    [14, 'MOBILITY_STORE_UNAVAILABLE'], // too many open files
    [10, 'MOBILITY_STORE_UNAVAILABLE'],
    [11, 'MOBILITY_STORE_DAMAGED'],
    [26, 'MOBILITY_STORE_DAMAGED'],
  ];

  it.each(codes)('%d is reported as %s at any statement, and changes nothing', async (errcode, code) => {
    const { folder, store, user } = await storeWithUser();
    await user.moveIn([fix(1)]);
    await user.put([fix(2)]);
    const lease = await user.lease();
    const move = () => user.move(lease);
    const note = { set: { a: 1 } };
    const put = () => store.usercache.put(user.id, { entries: [fix(2), fix(3)], unusable: [], note }, 5);
    const calls: [() => Promise<unknown>, ...RegExp[]][] = [
      [put, /^BEGIN IMMEDIATE/, /FROM accounts/, /INTO batches/, /INTO profiles/, /^COMMIT/],
      [move, /FROM batches/, /INTO chunks/, /DELETE FROM batches/, /INTO accounts/],
      [() => user.stored(), /^BEGIN$/, /FROM chunks/],
    ];
    for (const [words, call] of calls.flatMap(([call, ...all]) => all.map((words) => [words, call] as const))) {
      watched.before = (sql) => {
        if (words.test(sql)) throw engineError(errcode);
      };
      const error = (await call().catch((one) => one)) as Error & { code: string };
      expect([words, error.code]).toEqual([words, code]);
      expect(error.message).toContain(databaseIn(folder));
      watched.before = () => {};
      same(await user.waiting(), [fix(2)]);
      same(await user.stored(), [fix(1)]);
      expect(await store.profiles.get(user.id)).toBeNull();
    }
    await move();
    await user.moveIn([fix(4)]);
    same(await user.stored(), [fix(1), fix(2), fix(4)]);
    await user.put([fix(5)]);
    await user.moveAll(refuse());
    expect(await user.errors()).toHaveLength(1);
  });

  it('that it is busy leads to another attempt', async () => {
    const { user } = await storeWithUser();
    for (const code of [5, 6, 15]) {
      let times = 3;
      watched.before = (sql) => {
        if (/^BEGIN/.test(sql) && times-- > 0) throw engineError(code);
      };
      await user.put([fix(code)]);
      times = 3;
      expect((await user.waiting()).length).toBeGreaterThan(0);
    }
    same(await user.waiting(), [fix(5), fix(6), fix(15)]);
  });
});

it('a put is stored although the profile of its user is damaged, and the profile does not change', async () => {
  const { folder, store, user } = await storeWithUser();
  await store.profiles.merge(user.id, { name: 'ada' });
  const connection = connect(databaseIn(folder));
  connection.exec(`UPDATE profiles SET profile = '{"name":"eve"}'`);
  connection.close();
  const note = { set: { a: 1 } };
  expect(await store.usercache.put(user.id, { entries: [fix(7)], unusable: [], note }, 9)).toMatchObject({
    results: ['inserted'],
    noteError: { code: 'MOBILITY_STORE_DAMAGED', message: expect.stringContaining('profiles') },
  });
  same(await user.waiting(), [fix(7)]);
  await rejects(store.profiles.get(user.id), 'MOBILITY_STORE_DAMAGED');
});
