// Backups of the embedded store: consistent while others write, and good to go on from.
import { cp, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { backupSqliteStore } from '../../../src/store/sqlite/backup.ts';
import { fileName } from '../../../src/store/sqlite/folder.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { buildProgram } from '../../support/build.ts';
import { apply, fix, leaseOn, newUser, pause, put, rejects, waiting, waitingEntries } from '../contract/kit.ts';
import { startChild } from '../support/child.ts';
import { usePlaces } from '../support/folders.ts';
import { mayOnlyRead } from '../support/may-only-read.ts';

const places = usePlaces();
vi.setConfig({ testTimeout: 120_000 }); // a process beside, on a machine that may be busy
let program: string;
beforeAll(async () => {
  program = await buildProgram();
}, 120_000);

/** write_ts of all entries of a user, where each is: `w` waiting, `t` in the timeseries. */
async function entriesOf(store: Store, user: string): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  for (const one of await waitingEntries(store, user)) found.set(one.metadata.write_ts, 'w');
  let after: { time: number; key: string; write_ts: number } | null = null;
  do {
    const page = await store.timeseries.find(user, {
      time: 'write_ts',
      limit: 1_000,
      ...(after === null ? {} : { after }),
    });
    for (const { metadata } of page.entries) found.set(metadata.write_ts, `${found.get(metadata.write_ts) ?? ''}t`);
    after = page.next;
  } while (after !== null);
  return found;
}

it('a backup while a process puts and moves has everything acknowledged before, and is one moment of it', async () => {
  const folder = join(await places.folder(), 'store');
  const made = await openSqliteStore({ folder, shards: 2 });
  const users = [await newUser(made), await newUser(made), await newUser(made)];
  await made.close();
  const writer = `
    const store = await openSqliteStore({ folder: args.folder, shards: 2, checkpointer: true });
    const fix = (ts) => ({ metadata: { key: 'background/location', write_ts: ts }, data: { ts, text: 'x'.repeat(300) } });
    for (let i = 0; ; i += 10) {
      for (const user of args.users) {
        const entries = Array.from({ length: 10 }, (_, j) => fix(i + j));
        await store.usercache.put(user, { entries, unusable: [] }, 1);
      }
      say('ack ' + i);
      for (const user of args.users) {
        const { lease } = await store.leases.acquire(user, 'writer', 60);
        const rows = await store.usercache.read(user, { limit: 7 });
        await store.timeseries.apply(user, { put: rows.map((row) => row.entry), remove: [] }, lease);
        const moved = rows.map(({ entry, revision }) => ({ key: entry.metadata.key, write_ts: entry.metadata.write_ts, revision }));
        await store.usercache.settle(user, { moved, failed: [] }, 1);
      }
    }`;
  const child = startChild(program, writer, { folder, users });
  places.later(() => child.kill());
  await child.line('ack 200');
  for (let round = 0; round < 3; round++) {
    const target = join(await places.folder(), 'backup');
    const before = child.lines.length * 10;
    const report = await backupSqliteStore(folder, target);
    expect(report.files).toHaveLength(4);
    expect(report.bytes).toBeGreaterThan(200_000);
    const copy = await places.open(target);
    const counts: number[] = [];
    for (const user of users) {
      const found = await entriesOf(copy, user);
      const times = [...found.keys()].sort((a, b) => a - b);
      expect(times).toEqual(times.map((_, i) => i));
      expect(times.length).toBeGreaterThanOrEqual(before);
      // What is in both is the one page between the two steps of a move.
      expect([...found.values()].filter((where) => where === 'wt').length).toBeLessThanOrEqual(7);
      expect(await copy.leases.get(user)).toBeNull();
      counts.push(times.length);
    }
    // One moment over all files: the writer takes user after user, so that the first is ahead by one batch at most.
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(10);
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
    await put(copy, users[0]!, [fix(1e9)]);
    await copy.close();
  }
  const lines = child.lines.length;
  await pause(0.3);
  expect(child.lines.length).toBeGreaterThan(lines);
});

it('a backup is private, complete in its files, and opens as a store without leases', async () => {
  const folder = join(await places.folder(), 'store');
  const target = join(await places.folder(), 'a', 'backup');
  const store = await places.open(folder, { shards: 2 });
  const user = await newUser(store);
  await put(store, user, [fix(1)]);
  await apply(store, user, { put: [fix(2)] });
  await leaseOn(store, user, 'somebody');
  await mkdir(dirname(target));
  await backupSqliteStore(folder, target);
  const names = ['store.json', ...[0, 1].flatMap((n) => [fileName('usercache', n), fileName('timeseries', n)])];
  expect((await readdir(target)).sort()).toEqual(names.sort());
  expect(await readdir(dirname(target))).toEqual([basename(target)]);
  expect((await stat(target)).mode & 0o777).toBe(0o700);
  for (const name of names) expect((await stat(join(target, name))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(target, 'store.json'), 'utf8')).toBe(await readFile(join(folder, 'store.json'), 'utf8'));
  const copy = await places.open(target);
  expect(await copy.counts(user)).toMatchObject({ usercache: 1, timeseries: 1, pipeline: 1, leases: 0 });
  await leaseOn(copy, user, 'somebody else');
  expect((await store.leases.get(user))?.owner).toBe('somebody');
});

it('a backup may go to an empty folder, and to no other', async () => {
  const folder = join(await places.folder(), 'store');
  await (await places.open(folder)).close();
  const target = await places.folder();
  await backupSqliteStore(folder, target);
  expect(await readdir(target)).toContain('store.json');
  const before = (await readdir(target)).sort();
  await rejects(backupSqliteStore(folder, target), 'MOBILITY_STORE_ADDRESS');
  await rejects(backupSqliteStore(folder, folder), 'MOBILITY_STORE_ADDRESS');
  const file = join(await places.folder(), 'file');
  await writeFile(file, '');
  await rejects(backupSqliteStore(folder, file), 'MOBILITY_STORE_ADDRESS');
  expect((await readdir(target)).sort()).toEqual(before);
});

it('of two backups to one folder one is made, and the other says that the folder is not empty', async () => {
  const folder = join(await places.folder(), 'store');
  await (await places.open(folder)).close();
  const target = join(await places.folder(), 'backup');
  const both = await Promise.allSettled([backupSqliteStore(folder, target), backupSqliteStore(folder, target)]);
  const [lost] = both.filter((one) => one.status === 'rejected');
  expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(lost?.reason).toMatchObject({
    code: 'MOBILITY_STORE_ADDRESS',
    message: expect.stringContaining(`expected ${target} to be a new or empty folder`),
  });
  expect(await readdir(dirname(target))).toEqual(['backup']);
});

it('a backup of a store that may only be read names the file of the store, not the place of the backup', async (test) => {
  const used = join(await places.folder(), 'store');
  await newUser(await places.open(used));
  const folder = join(await places.folder(), 'store');
  // As a power cut leaves it: with a log, which SQLite must write to read it.
  await cp(used, folder, { recursive: true, filter: (path) => !path.endsWith('-shm') });
  if (!(await mayOnlyRead(folder, places))) return test.skip('running as root, and without the right to mount');
  const target = join(await places.folder(), 'backup');
  const error = await backupSqliteStore(folder, target).catch((one) => one);
  expect(error.message).toMatch(`${folder}/`);
  expect(error.message).not.toContain(target);
  expect(await readdir(dirname(target))).toEqual([]);
});

it('a backup of a folder without a store creates nothing', async () => {
  const folder = await places.folder();
  await rejects(backupSqliteStore(join(folder, 'none'), join(folder, 'backup')), 'MOBILITY_STORE_ADDRESS');
  expect(await readdir(folder)).toEqual([]);
});

it('a backup of a damaged store says so and leaves nothing behind', async () => {
  const folder = join(await places.folder(), 'store');
  const store = await places.open(folder);
  const user = await newUser(store);
  await put(
    store,
    user,
    Array.from({ length: 200 }, (_, i) => fix(i, { text: 'x'.repeat(1_000) })),
  );
  await store.close();
  const path = join(folder, fileName('usercache', 0));
  const bytes = await readFile(path);
  bytes.fill(0x5a, Math.floor(bytes.length / 8192) * 4096); // the second half of its pages
  await writeFile(path, bytes);
  const target = join(await places.folder(), 'backup');
  await rejects(backupSqliteStore(folder, target), 'MOBILITY_STORE_DAMAGED');
  expect(await readdir(dirname(target))).toEqual([]);
});

it('two backups at once and a store that closes meanwhile do not disturb each other', async () => {
  const folder = join(await places.folder(), 'store');
  const store = await places.open(folder);
  const user = await newUser(store);
  await put(
    store,
    user,
    Array.from({ length: 3_000 }, (_, i) => fix(i)),
  );
  const targets = [join(await places.folder(), 'backup'), join(await places.folder(), 'backup')];
  await Promise.all([...targets.map((target) => backupSqliteStore(folder, target)), store.close()]);
  for (const target of targets) expect(await waiting(await places.open(target), user)).toHaveLength(3_000);
});

it('a backup that is interrupted anywhere leaves nothing behind', async () => {
  const folder = join(await places.folder(), 'store');
  const made = await openSqliteStore({ folder });
  await put(made, await newUser(made), [fix(1)]);
  await made.close();
  const around = await places.folder();
  const stop = new Error('Ctrl-C');
  for (let looks = 0; ; looks++) {
    let left = looks;
    const throwIfAborted = (): void => {
      if (left-- === 0) throw stop;
    };
    const signal = Object.assign(new AbortController().signal, { throwIfAborted });
    const error = await backupSqliteStore(folder, join(around, 'backup'), { signal }).catch((one) => one);
    if (error !== stop) {
      expect(error).toMatchObject({ files: [fileName('usercache', 0), fileName('timeseries', 0)] });
      expect(looks).toBeGreaterThanOrEqual(2); // behind each file; in large ones, every 2,000 pages, too
      break;
    }
    expect(await readdir(around)).toEqual([]);
  }
});
