// A disk that is full, or may only be read: a clear message, and nothing acknowledged is lost.
import { cp, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, type TestContext } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { atEnd, tempFolder } from '../support/clean-up.ts';
import { allEntries } from '../support/diary.ts';
import { noise } from '../support/noise.ts';
import { copyOf, fillStore, mount, pushesOf, remount, withStore } from './kit.ts';
import { type Exit, type RunningServer, run, startServer, succeed } from './program.ts';

const mebibyte = 1024 * 1024;

// ---------------------------------------------------------------- a full disk

/** A file system in memory with a few MiB left, and a store in it; how to make more space while a program uses it. */
async function smallFileSystem(test: TestContext) {
  const mounted = join(tempFolder(), 'mounted');
  await mkdir(mounted);
  mount(test, mounted, '-t', 'tmpfs', '-o', 'size=32m', 'tmpfs');
  const ballast = join(mounted, 'ballast');
  await writeFile(ballast, Buffer.alloc(26 * mebibyte));
  const folder = join(mounted, 'store');
  const { ada } = await fillStore(folder, { ada: [] });
  // Enlarged, not only emptied: removed files count as free immediately, but some kernels free their space later.
  const makeSpace = async () => {
    await rm(ballast);
    remount(mounted, 'size=256m');
  };
  return { mounted, folder, ada: ada!, makeSpace };
}

const batchSize = 1000;
function batchOf(number: number): Entry[] {
  return Array.from({ length: batchSize }, (_, i) => {
    const ts = 1_710_000_000 + number * batchSize + i;
    return {
      metadata: { key: 'background/location', write_ts: ts, platform: 'android', time_zone: 'UTC' },
      data: { ts, latitude: 48.52, longitude: 9.05, accuracy: 12, remark: noise(`${ts}`, 260) },
    };
  });
}

async function put(server: RunningServer, number: number): Promise<number> {
  const { status, text } = await server.post('/usercache/put', { user: 'ada', phone_to_server: batchOf(number) });
  if (status !== 200) {
    expect(status, text).toBe(503);
    expect(JSON.parse(text)).toMatchObject({ code: 'MOBILITY_STORE_FULL' });
  }
  return status;
}

/** Puts until the disk is full and a few more; returns the batches that were acknowledged, and those that were not. */
async function fillDisk(server: RunningServer): Promise<{ acknowledged: number[]; refused: number[] }> {
  const acknowledged: number[] = [];
  const refused: number[] = [];
  for (let number = 0; refused.length < 5 && number < 200; number++) {
    ((await put(server, number)) === 200 ? acknowledged : refused).push(number);
  }
  expect(acknowledged.length).toBeGreaterThan(0);
  expect(refused).toHaveLength(5);
  return { acknowledged, refused };
}

/** How many entries of each batch the store has: an entry that waits and is moved already is one. */
async function storedBatches(folder: string, uuid: string): Promise<Record<number, number>> {
  return withStore(folder, async (store) => {
    const waiting = await allEntries(store.usercache, uuid);
    const moved = await allEntries(store.timeseries, uuid);
    const counts: Record<number, number> = {};
    for (const writeTs of new Set([...waiting, ...moved].map((entry) => entry.metadata.write_ts))) {
      const number = Math.floor((writeTs - 1_710_000_000) / batchSize);
      counts[number] = (counts[number] ?? 0) + 1;
    }
    return counts;
  });
}

/** Runs the pipeline over pending entries; throws while the disk is full. */
async function moveAll(folder: string): Promise<Exit> {
  const moved = await run(['pipeline', '--user', 'ada', '--store', folder]);
  if (/MOBILITY_STORE_FULL|expected space/.test(moved.stderr)) throw new Error(moved.stderr);
  return moved;
}

/** Some kernels count the space of a file system in memory per processor, and see late what another one made free. */
async function onceThereIsSpace<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (tries === 20 || !/space|full/i.test(String(error))) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

/** The commands that only read answer. */
async function lookAt(folder: string): Promise<void> {
  for (const look of [['status'], ['doctor', '--user', 'ada'], ['users', 'list'], ['diary', '--user', 'ada']]) {
    const seen = await run([...look, '--store', folder, '--log-dir', join(folder, '..', 'logs')]);
    expect([0, 3], `${look.join(' ')}: ${seen.stderr}`).toContain(seen.code); // 3: a failed run is reported
  }
}

it('on a disk without space puts answer 503, and with new space the service continues without a restart or a loss', async (test) => {
  const { folder, ada, makeSpace } = await smallFileSystem(test);
  const server = await startServer(folder);
  atEnd(() => server.kill());
  const { acknowledged, refused } = await fillDisk(server);
  const pipeline = await run(['pipeline', '--user', 'ada', '--store', folder]);
  if (pipeline.code !== 0) expect(pipeline.stderr).toMatch(/MOBILITY_STORE_FULL|expected space/);
  await lookAt(folder);

  await makeSpace();
  for (const number of refused) expect(await put(server, number)).toBe(200);
  const end = await server.stop();
  expect(end, end.stderr).toMatchObject({ code: 0 });
  const counts = Object.fromEntries([...acknowledged, ...refused].map((number) => [number, batchSize]));
  expect(await onceThereIsSpace(() => storedBatches(folder, ada))).toEqual(counts);
  const moved = await onceThereIsSpace(() => moveAll(folder));
  expect(moved, moved.stderr).toMatchObject({ code: 0 });
  expect(await onceThereIsSpace(() => storedBatches(folder, ada))).toEqual(counts);
});

it.for(['stop', 'kill'] as const)(
  'a store on a disk without a free byte can be read after a %s of its server',
  async (end, test) => {
    const { mounted, folder } = await smallFileSystem(test);
    const server = await startServer(folder);
    await fillDisk(server).finally(() => server[end]());
    const fillRest = async (): Promise<never> => {
      for (;;) await writeFile(join(mounted, 'rest'), Buffer.alloc(4096), { flag: 'a' });
    };
    await expect(fillRest()).rejects.toMatchObject({ code: 'ENOSPC' });
    await lookAt(folder);
  },
);

// ---------------------------------------------------------------- a store that may only be read

/** A store, and a copy whose last commits are in the write-ahead log only, as a killed process leaves it. */
async function storeAndKilled(open: string, killed: string): Promise<void> {
  await fillStore(open, { ada: pushesOf('ada', 'android', 1) });
  await withStore(open, async (opened) => {
    const ada = await opened.users.byEmail('ada');
    for (let number = 0; number < 3; number++) {
      await opened.usercache.put(ada!.uuid, { entries: batchOf(number), unusable: [] }, 1);
    }
    await copyOf(open, killed);
  });
  expect((await stat(join(killed, 'mobility.db-wal'))).size).toBeGreaterThan(500_000);
}

it('a store that is mounted read-only can be read, with its log or without; a command that writes names the cause', async (test) => {
  const folder = tempFolder();
  const [written, mounted] = [join(folder, 'written'), join(folder, 'mounted')];
  for (const made of [written, mounted]) await mkdir(made);
  const logs = ['--log-dir', join(folder, 'logs')];
  const reads = ['users', 'list', '--counts'];
  const names = ['open', 'killed']; // without a log, and with one
  await storeAndKilled(join(written, 'open'), join(written, 'killed'));
  const expected = [];
  for (const name of names) {
    await cp(join(written, name), join(folder, name), { recursive: true });
    expected.push((await run([...reads, '--store', join(folder, name)])).stdout);
  }
  mount(test, mounted, '--bind', written);
  remount(mounted, 'ro,bind');
  const writes = ['pipeline --all', 'users token ada', 'users add eve'];
  for (const [i, name] of names.entries()) {
    const store = ['--store', join(mounted, name)];
    expect(await run([...reads, ...store])).toMatchObject({ code: 0, stdout: expected[i] });
    await succeed(['backup', join(folder, `copy-${i}`), ...store]);
    for (const command of writes) {
      const end = await run([...command.split(' '), ...store, ...logs]);
      expect(end.code, command).toBe(1);
      expect(end.stderr).toMatch(/^mobility: MOBILITY_STORE_READONLY: .*mounted read-only/);
    }
  }
});
