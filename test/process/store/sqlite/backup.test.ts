// Backups of the embedded store: a consistent snapshot while others write, which opens as a store.
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { openStore } from '../../../../src/store/open.ts';
import { databaseIn } from '../../../../src/store/sqlite/folder.ts';
import { backupStore } from '../../../../src/upkeep/backup-store.ts';
import { checkStore } from '../../../../src/upkeep/check-store.ts';
import { fix, newPerson, numbers, rejects, same, storeWithUser } from '../../../store/contract/kit.ts';
import { startChild } from '../../../store/support/child.ts';
import { buildProgram } from '../../../support/build.ts';
import { atEnd, tempFolder } from '../../../support/clean-up.ts';
import { noise } from '../../../support/noise.ts';
import { openStoreIn } from '../../../support/store.ts';

let program: string;
beforeAll(async () => {
  program = await buildProgram();
});

it('a backup during puts and moves has everything acknowledged before it, and is a consistent snapshot', async () => {
  const { folder, store } = await storeWithUser();
  const users = [await newPerson(store), await newPerson(store), await newPerson(store)];
  const writer = `
    const store = await openStore(args.folder);
    const fix = (ts) => ({ metadata: { key: 'background/location', write_ts: ts }, data: { ts, text: 'x'.repeat(300) } });
    for (let i = 0; ; i += 10) {
      for (const user of args.users) {
        const entries = Array.from({ length: 10 }, (_, j) => fix(i + j));
        await store.usercache.put(user.id, { entries, unusable: [] }, 1);
      }
      say('ack ' + i);
      for (const user of args.users) {
        const { lease } = await store.leases.acquire(user.id, 'writer', 60);
        await store.usercache.move(user.id, { at: 1e13, limit: 7 }, lease, ({ data }) => ({ ts: data.ts }));
      }
    }`;
  const child = startChild(program, writer, { folder, users });
  atEnd(() => child.kill());
  await child.line('ack 200');
  for (let round = 0; round < 2; round++) {
    const target = join(tempFolder(), 'backup');
    const before = child.lines.length * 10;
    expect((await backupStore(folder, target)).rows).toBeGreaterThan(5);
    const copy = await openStoreIn(target);
    const counts: number[] = [];
    for (const user of users) {
      const entries = [...(await user.on(copy).stored()), ...(await user.on(copy).waiting())];
      const times = entries.map((one) => one.metadata.write_ts).sort((a, b) => a - b);
      same(times, numbers(0, times.length)); // each entry in one place
      expect(times.length).toBeGreaterThanOrEqual(before);
      counts.push(times.length);
    }
    // The writer takes user after user, so that the first is ahead by one batch at most.
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(10);
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
    await users[0]!.on(copy).put([fix(1e9)]);
  }
  await child.line(`ack ${10 * child.lines.length}`); // the writer continues
});

it('a backup is private, complete in its one file, read without a change of any byte, and a store', async () => {
  const { folder, store, user } = await storeWithUser();
  const target = join(tempFolder(), 'a', 'backup');
  await user.moveIn([fix(2)]);
  await user.put([fix(1)]);
  await mkdir(dirname(target));
  await backupStore(folder, target);
  expect(await readdir(target)).toEqual(['mobility.db']);
  expect(await readdir(dirname(target))).toEqual([basename(target)]);
  expect((await stat(target)).mode & 0o777).toBe(0o700);
  expect((await stat(databaseIn(target))).mode & 0o777).toBe(0o600);
  const before = await readFile(databaseIn(target));
  expect(await checkStore(target)).toMatchObject({ findings: [], complete: true });
  const read = await openStore(target, { make: false });
  expect(await read.counts(user.id)).toMatchObject({ usercache: 1, timeseries: 1 });
  await read.close();
  expect((await readFile(databaseIn(target))).equals(before)).toBe(true);
  await user.on(await openStoreIn(target)).lease();
  expect(await store.leases.get(user.id)).toBeNull();
});

it('of two backups to one folder one succeeds, and the other fails because the folder is not empty', async () => {
  const { folder } = await storeWithUser();
  const target = join(tempFolder(), 'backup');
  const both = await Promise.allSettled([backupStore(folder, target), backupStore(folder, target)]);
  const [lost] = both.filter((one) => one.status === 'rejected');
  expect(both.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(lost?.reason).toMatchObject({ code: 'MOBILITY_STORE_ADDRESS', message: expect.stringContaining(target) });
  expect(await readdir(dirname(target))).toEqual(['backup']);
});

it('a backup of a missing or damaged store fails with the reason and leaves no files', async () => {
  const around = tempFolder();
  await rejects(backupStore(join(around, 'none'), join(around, 'backup')), 'MOBILITY_STORE_ADDRESS');
  const { folder, store, user } = await storeWithUser();
  await user.put(numbers(0, 200).map((ts) => fix(ts, { text: noise(`${ts}`, 1_000) })));
  await store.close();
  const bytes = await readFile(databaseIn(folder));
  bytes.fill(0x5a, Math.floor(bytes.length / 8192) * 4096); // the second half of its pages
  await writeFile(databaseIn(folder), bytes);
  await rejects(backupStore(folder, join(around, 'backup')), 'MOBILITY_STORE_DAMAGED');
  expect(await readdir(around)).toEqual([]);
});

it('a backup that is interrupted at any moment leaves no files', async () => {
  const { folder, store } = await storeWithUser();
  await (await newPerson(store)).put([fix(1)]);
  const around = tempFolder();
  const stop = new Error('Ctrl-C');
  for (let looks = 0; ; looks++) {
    let left = looks;
    const throwIfAborted = (): void => {
      if (left-- === 0) throw stop;
    };
    const signal = Object.assign(new AbortController().signal, { throwIfAborted });
    const error = await backupStore(folder, join(around, 'backup'), signal).catch((one) => one);
    if (error !== stop) {
      expect(error).toMatchObject({ rows: expect.any(Number) });
      expect(looks).toBeGreaterThanOrEqual(2);
      break;
    }
    expect(await readdir(around)).toEqual([]);
  }
});
