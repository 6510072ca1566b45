// The folder of an embedded store: how it is made, and what is checked at every opening.
import { createHash } from 'node:crypto';
import { cp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { connect } from '../../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../../src/store/sqlite/folder.ts';
import type { Store } from '../../../../src/store/store.ts';
import { fix, newPerson, numbers, type Person, rejects, same, storeWithUser } from '../../../store/contract/kit.ts';
import { mayOnlyRead } from '../../../store/support/may-only-read.ts';
import { watched } from '../../../store/support/watched-driver.ts';
import { tempFolder } from '../../../support/clean-up.ts';
import { noise } from '../../../support/noise.ts';
import { openStoreIn } from '../../../support/store.ts';

vi.mock('../../../../src/store/sqlite/driver.ts', async (original) =>
  (await import('../../../store/support/watched-driver.ts')).watchedDriver(await original()),
);

afterEach(() => watched.reset());
const database = 'mobility.db';
const noMount = 'running as root, and without the right to mount';

/** A copy of a folder: nothing of it is open in this process, as at the start of a program. */
async function copyOf(folder: string): Promise<string> {
  const copy = join(tempFolder(), 'copy');
  await cp(folder, copy, { recursive: true });
  return copy;
}

/** A folder with a store that was closed, and the user whose entries wait in it. */
async function closedStore(): Promise<{ folder: string; user: Person }> {
  const { folder, store, user } = await storeWithUser();
  await user.put(numbers(0, 200).map((ts) => fix(ts, { text: noise(`${ts}`, 700) })));
  await store.close();
  return { folder: await copyOf(folder), user };
}

/** Names, contents and times of change of everything in a folder. */
async function stateOf(folder: string): Promise<Record<string, string>> {
  const state: Record<string, string> = {};
  for (const name of await readdir(folder)) {
    const hash = createHash('sha256').update(await readFile(join(folder, name)));
    state[name] = `${hash.digest('hex')} ${(await stat(join(folder, name))).mtimeMs}`;
  }
  return state;
}

/** Fails unless the store is refused with the code and nothing is touched. Returns the message. */
async function refused(folder: string, code: string): Promise<string> {
  const before = await stateOf(folder);
  const error = await openStoreIn(folder).catch((one) => one);
  expect(error).toMatchObject({ name: 'MobilityError', code });
  same(await stateOf(folder), before);
  return error.message;
}

describe('a new store', () => {
  it('is private: its folder and all its files', async () => {
    const folder = join(tempFolder(), 'a', 'store');
    const store = await openStoreIn(folder);
    await (await newPerson(store)).put([fix(1)]);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const names = (await readdir(folder)).sort();
    expect(names).toEqual([database, `${database}-shm`, `${database}-wal`]);
    for (const name of names) expect([name, (await stat(join(folder, name))).mode & 0o777]).toEqual([name, 0o600]);
  });

  it('is not made by an opening that may not make one, nor at the path of a file, or below one', async () => {
    const folder = tempFolder();
    const file = join(tempFolder(), 'file');
    await writeFile(file, 'text');
    for (const [path, make] of [
      [join(folder, 'none'), false],
      [folder, false],
      [file, true],
      [join(file, 'below'), true],
    ] as const)
      await rejects(openStoreIn(path, { make }), 'MOBILITY_STORE_ADDRESS');
    expect([await readdir(folder), await readFile(file, 'utf8')]).toEqual([[], 'text']);
  });

  it('cannot be made in a folder that may only be read', async (test) => {
    const folder = tempFolder();
    test.skip(!(await mayOnlyRead(folder)), noMount);
    await rejects(openStoreIn(folder), 'MOBILITY_STORE_READONLY');
  });
});

describe('every opening', () => {
  it('sets full synchronisation and write-ahead logging, also the second time', async () => {
    const { folder } = await closedStore();
    for (let i = 0; i < 2; i++) {
      watched.connections.length = 0;
      const store = await openStoreIn(folder);
      await store.ping();
      // The last two: one for reads, one for writes.
      const [reader, writer] = watched.connections.slice(-2);
      for (const connection of [reader!, writer!]) {
        const pragma = (name: string) => Object.values(connection.prepare(`PRAGMA ${name}`).get<object>()!)[0];
        expect(['synchronous', 'journal_mode', 'secure_delete'].map(pragma)).toEqual([2, 'wal', 1]);
      }
      await store.close();
    }
  });

  it('refuses a store of another format and touches nothing', async () => {
    for (const format of [0, 2, 77]) {
      const { folder } = await closedStore();
      const connection = connect(databaseIn(folder));
      connection.exec(`PRAGMA journal_mode = DELETE; PRAGMA user_version = ${format}`);
      connection.close();
      const message = await refused(await copyOf(folder), 'MOBILITY_STORE_VERSION');
      expect(message).toContain(`expected a store of format 1, found format ${format}`);
    }
  });

  const damages: Record<string, (path: string) => Promise<void>> = {
    'a file that is gone beside its log': async (path) => {
      await writeFile(`${path}-wal`, '');
      await rm(path);
    },
    'an empty file': (path) => truncate(path),
    'a file that was cut off in its header': (path) => truncate(path, 90),
    'a file that is no database': (path) => writeFile(path, 'no database '.repeat(1_000)),
    'a database of something else': async (path) => {
      await writeFile(path, '');
      const connection = connect(path);
      connection.exec('CREATE TABLE mine (x); PRAGMA user_version = 1');
      connection.close();
    },
  };

  it.each(Object.entries(damages))('refuses %s and touches nothing', async (_, damage) => {
    const { folder } = await closedStore();
    await damage(databaseIn(folder));
    await refused(folder, 'MOBILITY_STORE_DAMAGED');
  });

  it('refuses a flipped bit in the constant parts of the header', async () => {
    const { folder } = await closedStore();
    const path = databaseIn(folder);
    const whole = await readFile(path);
    for (const at of [0, 5, 15, 18, 19, 20, 21, 22, 23, 47, 59, 60, 63, 68, 71]) {
      const bytes = Buffer.from(whole);
      bytes[at]! ^= 0x10;
      await writeFile(path, bytes);
      const code = at >= 60 && at < 64 ? 'MOBILITY_STORE_VERSION' : 'MOBILITY_STORE_DAMAGED';
      expect([at, (await openStoreIn(folder).catch((error) => error)).code]).toEqual([at, code]);
    }
    await writeFile(path, whole);
    await openStoreIn(folder);
  });

  it('refuses a file or folder that may only be read, names the file, and touches nothing', async (test) => {
    for (const name of [database, '.']) {
      const { folder } = await closedStore();
      test.skip(!(await mayOnlyRead(join(folder, name))), noMount);
      const message = await refused(folder, 'MOBILITY_STORE_READONLY');
      expect(message).toContain(`${databaseIn(folder)}: `);
      expect(message).toMatch(/as the user of the service|mounted read-only/);
    }
  });

  it('opens a store that was copied after it was closed, without its log', async () => {
    const { folder, user } = await closedStore();
    for (const name of await readdir(folder)) if (name !== database) await rm(join(folder, name));
    expect(await user.on(await openStoreIn(folder)).waiting()).toHaveLength(200);
  });
});

it('overwritten or missing pages are reported as damage', async () => {
  for (const isMissing of [true, false]) {
    const { folder, user } = await closedStore();
    const path = databaseIn(folder);
    const bytes = await readFile(path);
    const half = 4096 * Math.floor(bytes.length / 8192);
    await writeFile(path, isMissing ? bytes.subarray(0, half) : bytes.fill(0x5a, 4096 * 30));
    const read = async () => user.on(await openStoreIn(folder)).waiting();
    await rejects(read(), 'MOBILITY_STORE_DAMAGED');
  }
});

describe('a write-ahead log', () => {
  /** A store in use, whose log has five commits; the size of the log after each. */
  async function openStore(): Promise<{ folder: string; store: Store; user: Person; sizes: number[] }> {
    const { folder, store, user } = await storeWithUser();
    const sizes: number[] = [];
    for (let i = 0; i < 5; i++) {
      await user.put([fix(2 * i), fix(2 * i + 1, { text: noise(`${i}`, 7_000) })]);
      sizes.push((await stat(`${databaseIn(folder)}-wal`)).size);
    }
    return { folder, store, user, sizes };
  }
  const timesIn = async (folder: string, user: Person): Promise<number[]> => {
    const store = await openStoreIn(folder);
    const times = (await user.on(store).waiting()).map((one) => one.metadata.write_ts);
    await store.close();
    return times;
  };

  it('that was cut off undetectably gives the first commits, each complete', async () => {
    const { folder, user, sizes } = await openStore();
    for (const [commits, cut] of Object.entries({ 4: sizes[4]! - 1, 3: sizes[2]!, 2: sizes[2]! - 5_000 })) {
      // As after a power cut: the index of the log, which is never synchronised, did not survive.
      const copy = await copyOf(folder);
      await rm(`${databaseIn(copy)}-shm`);
      await truncate(`${databaseIn(copy)}-wal`, cut);
      expect(await timesIn(copy, user)).toEqual(numbers(0, 2 * Number(commits)));
    }
  });

  it('that was emptied is no damage after a power cut that kept an older index of it', async () => {
    const { folder, store, user } = await openStore();
    const gone = await newPerson(store);
    await gone.put([fix(1, { text: 'x'.repeat(10_000) })]);
    const older = await readFile(`${databaseIn(folder)}-shm`);
    // The index is never synchronised: the disk may have it as it was at any earlier moment.
    const afterCut = async (): Promise<number[]> => {
      const copy = await copyOf(folder);
      await writeFile(`${databaseIn(copy)}-shm`, older);
      return timesIn(copy, user);
    };
    await store.erase(gone.id);
    for (const count of [10, 11]) {
      expect(await afterCut()).toHaveLength(count);
      await user.put([fix(count)]);
    }
    await store.close();
    expect(await afterCut()).toHaveLength(12);
  });

  it('that was removed or cut off, or whose head is damaged after a kill, is refused', async () => {
    const { folder, sizes } = await openStore();
    for (const size of [null, 31, 100, sizes[1]!, sizes[4]! - 1]) {
      const copy = await copyOf(folder);
      const log = `${databaseIn(copy)}-wal`;
      if (size === null) await rm(log);
      else await truncate(log, size);
      expect(await refused(copy, 'MOBILITY_STORE_DAMAGED')).toMatch(/expected a write-ahead log with \d+ pages, found/);
    }
    const bytes = await readFile(`${databaseIn(folder)}-wal`);
    bytes[9]! ^= 1;
    const copy = await copyOf(folder);
    await writeFile(`${databaseIn(copy)}-wal`, bytes);
    await refused(copy, 'MOBILITY_STORE_DAMAGED');
  });
});
