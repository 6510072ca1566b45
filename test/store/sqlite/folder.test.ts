// The folder of an embedded store: how it is made, what is checked at every opening, and how old formats come forward.
import { createHash, randomBytes } from 'node:crypto';
import { cp, mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkStore } from '../../../src/store/open.ts';
import { startCheckpointer } from '../../../src/store/sqlite/checkpointer.ts';
import { connect } from '../../../src/store/sqlite/driver.ts';
import { fileName, openFolder, upgradeFolder } from '../../../src/store/sqlite/folder.ts';
import { type FileAbout, type Migration, migrations } from '../../../src/store/sqlite/schema.ts';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import { fix, newUser, put, rejects, same, waitingEntries } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';
import { mayOnlyRead } from '../support/may-only-read.ts';

const places = usePlaces();
const usercache = fileName('usercache', 0);
const timeseries = fileName('timeseries', 0);

/** A folder with a store that was closed, and the user whose entry waits in it. */
async function closedStore(shards = 1): Promise<{ folder: string; user: string }> {
  const folder = join(await places.folder(), 'store');
  const store = await openSqliteStore({ folder, shards });
  const user = await newUser(store);
  await put(
    store,
    user,
    Array.from({ length: 200 }, (_, i) => fix(i, { text: randomBytes(500).toString('base64') })),
  );
  await store.close();
  // A copy: nothing of it is open in this process, as at the start of a program.
  const copy = join(await places.folder(), 'copy');
  await cp(folder, copy, { recursive: true });
  return { folder: copy, user };
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

describe('a new store', () => {
  it('is private: its folder and all its files', async () => {
    const folder = join(await places.folder(), 'a', 'store');
    const store = await places.open(folder);
    await put(store, await newUser(store), [fix(1)]);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    const names = await readdir(folder);
    expect(names).toEqual(expect.arrayContaining(['store.json', usercache, `${usercache}-wal`, timeseries]));
    for (const name of names) expect([name, (await stat(join(folder, name))).mode & 0o777]).toEqual([name, 0o600]);
  });

  it('may stand beside other things in its folder', async () => {
    const folder = await places.folder();
    await mkdir(join(folder, 'logs'));
    await writeFile(join(folder, 'notes.txt'), 'mine');
    await places.open(folder);
    expect(await readFile(join(folder, 'notes.txt'), 'utf8')).toBe('mine');
  });

  it('keeps its number of shards for good, and spreads users over them', async () => {
    const { folder } = await closedStore(3);
    expect(JSON.parse(await readFile(join(folder, 'store.json'), 'utf8'))).toMatchObject({
      version: migrations.length,
      shards: 3,
    });
    const store = await places.open(folder, { shards: 5 });
    for (let i = 0; i < 30; i++) await put(store, await newUser(store), [fix(1)]);
    await store.close();
    expect((await readdir(folder)).sort()).toEqual(
      ['store.json', ...[0, 1, 2].flatMap((n) => [fileName('usercache', n), fileName('timeseries', n)])].sort(),
    );
    for (const n of [0, 1, 2]) {
      const connection = connect(join(folder, fileName('usercache', n)));
      expect(connection.prepare('SELECT count(*) AS n FROM user_ids').get<{ n: number }>()!.n).toBeGreaterThan(1);
      connection.close();
    }
  });

  it('refuses a number of shards that makes no sense', async () => {
    for (const shards of [0, -1, 1.5, 1_000, Number.NaN]) {
      await expect(openSqliteStore({ folder: join(await places.folder(), 'x'), shards })).rejects.toThrow(TypeError);
    }
  });

  it('is finished at the next opening when its making was interrupted', async () => {
    for (const left of [[], [usercache], [usercache, timeseries], [usercache, timeseries, fileName('usercache', 1)]]) {
      const folder = join(await places.folder(), 'made');
      for (const file of await openFolder(folder, { shards: 2 })) {
        file.usercache.close();
        file.timeseries.close();
      }
      for (const name of await readdir(folder)) if (!left.includes(name)) await rm(join(folder, name));
      const newest = left.at(-1);
      for (const isEmpty of newest === undefined ? [false] : [false, true]) {
        // In another folder: nothing of it is open in this process.
        const copy = join(await places.folder(), 'copy');
        await cp(folder, copy, { recursive: true });
        if (isEmpty) await truncate(join(copy, newest!));
        const store = await places.open(copy, { shards: 2 });
        const user = await newUser(store);
        await put(store, user, [fix(1)]);
        expect(JSON.parse(await readFile(join(copy, 'store.json'), 'utf8'))).toMatchObject({ shards: 2 });
      }
    }
  });

  it('is made once when many open it at once', async () => {
    const folder = join(await places.folder(), 'store');
    const stores = await Promise.all(Array.from({ length: 8 }, () => places.open(folder, { shards: 2 })));
    const user = await newUser(stores[0]!);
    await Promise.all(stores.map((store, i) => put(store, user, [fix(i)])));
    expect(await waitingEntries(stores[0]!, user)).toHaveLength(8);
  });

  it('cannot be made where a file is, or below one', async () => {
    const file = join(await places.folder(), 'file');
    await writeFile(file, 'text');
    await rejects(openSqliteStore({ folder: file }), 'MOBILITY_STORE_ADDRESS');
    await rejects(openSqliteStore({ folder: join(file, 'below') }), 'MOBILITY_STORE_ADDRESS');
    expect(await readFile(file, 'utf8')).toBe('text');
  });
});

describe('every opening', () => {
  it('sets full synchronisation and write-ahead logging, also the second time', async () => {
    const { folder } = await closedStore();
    for (let i = 0; i < 2; i++) {
      const shards = await openFolder(folder, {});
      for (const file of shards.flatMap((shard) => [shard.usercache, shard.timeseries])) {
        const pragma = (name: string) => Object.values(file.connection.prepare(`PRAGMA ${name}`).get<object>()!)[0];
        expect(pragma('synchronous')).toBe(2);
        expect(pragma('journal_mode')).toBe('wal');
        file.close();
      }
    }
  });

  it('synchronises fully in the thread that moves commits into the files, too', async () => {
    const { folder } = await closedStore();
    const seen = join(folder, 'seen.txt');
    // The engine, which notes what its connection is set to whenever one checkpoints.
    const engine = join(folder, 'engine.cjs');
    const real = JSON.stringify(createRequire(import.meta.url).resolve('@photostructure/sqlite'));
    await writeFile(
      engine,
      `const { DatabaseSync } = require(${real});
       exports.DatabaseSync = class extends DatabaseSync {
         prepare(sql) {
           const statement = super.prepare(sql);
           if (!sql.includes('wal_checkpoint')) return statement;
           const note = () => {
             const { synchronous } = super.prepare('PRAGMA synchronous').get();
             require('node:fs').appendFileSync(${JSON.stringify(seen)}, synchronous + ' ');
             return statement.get();
           };
           return { get: note };
         }
       };`,
    );
    const thread = startCheckpointer([join(folder, usercache), join(folder, timeseries)], engine);
    await expect.poll(() => readFile(seen, 'utf8').catch(() => ''), { timeout: 20_000 }).toMatch(/^(2 ){2,}$/);
    await thread.stop();
  });

  it('refuses a store of a newer version and touches nothing', async () => {
    const { folder } = await closedStore();
    const label = join(folder, 'store.json');
    await writeFile(
      label,
      (await readFile(label, 'utf8')).replace(/"version": \d+/, `"version": ${migrations.length + 1}`),
    );
    const before = await stateOf(folder);
    await rejects(openSqliteStore({ folder }), 'MOBILITY_STORE_VERSION');
    same(await stateOf(folder), before);
  });

  it('refuses a file of a newer version and touches nothing', async () => {
    const { folder } = await closedStore();
    const connection = connect(join(folder, timeseries));
    connection.exec('PRAGMA user_version = 77');
    connection.close();
    const before = await stateOf(folder);
    await rejects(openSqliteStore({ folder }), 'MOBILITY_STORE_VERSION');
    same(await stateOf(folder), before);
  });

  const damages: Record<string, (folder: string) => Promise<void>> = {
    'a label that is no JSON': (folder) => writeFile(join(folder, 'store.json'), '{"format":'),
    'a label of something else': (folder) => writeFile(join(folder, 'store.json'), '{"version":1,"shards":1}'),
    'a label with another number of shards': (folder) =>
      writeFile(join(folder, 'store.json'), '{"format":"mobility-store","version":1,"shards":2}'),
    'a label without a number of shards': (folder) =>
      writeFile(join(folder, 'store.json'), '{"format":"mobility-store","version":1}'),
    'a file that is gone': (folder) => rm(join(folder, timeseries)),
    'an empty file': (folder) => truncate(join(folder, usercache)),
    'a file that is no database': (folder) => writeFile(join(folder, timeseries), 'no database '.repeat(1_000)),
    'a file that was cut off': async (folder) => {
      await truncate(join(folder, usercache), Math.floor((await stat(join(folder, usercache))).size / 2));
    },
    'two files that changed places': async (folder) => {
      await rename(join(folder, usercache), join(folder, 'x'));
      await rename(join(folder, timeseries), join(folder, usercache));
      await rename(join(folder, 'x'), join(folder, timeseries));
    },
    'a database of something else': async (folder) => {
      await rm(join(folder, usercache));
      await writeFile(join(folder, usercache), '');
      const connection = connect(join(folder, usercache));
      connection.exec('CREATE TABLE mine (x)');
      connection.close();
    },
  };

  it.each(Object.entries(damages))('refuses %s', async (_, damage) => {
    const { folder } = await closedStore();
    await damage(folder);
    await rejects(openSqliteStore({ folder }), 'MOBILITY_STORE_DAMAGED');
  });

  it('writes a label that is lost anew, and takes no store for complete that lost a file too', async () => {
    const names = [0, 1].flatMap((n) => [fileName('usercache', n), fileName('timeseries', n)]);
    const whole = await closedStore(2);
    await rm(join(whole.folder, 'store.json'));
    const copyWithout = async (lost: string[]): Promise<string> => {
      const copy = join(await places.folder(), 'copy');
      await cp(whole.folder, copy, { recursive: true });
      for (const name of lost) await rm(join(copy, name));
      return copy;
    };
    for (const lost of [...names.map((name) => [name]), names.slice(0, 3), names.slice(1)]) {
      const folder = await copyWithout(lost);
      const before = await stateOf(folder);
      await rejects(openSqliteStore({ folder }), 'MOBILITY_STORE_DAMAGED');
      same(await stateOf(folder), before);
      const { findings } = await checkStore(folder);
      expect(findings.map(({ file }) => file)).toEqual(expect.arrayContaining(['store.json', ...lost]));
      expect(findings.filter(({ cure }) => cure.startsWith('mobility'))).toEqual([]);
    }
    const folder = await copyWithout([]);
    const { findings } = await checkStore(folder);
    expect(findings).toMatchObject([{ code: 'DAMAGED_FILE', file: 'store.json', cure: 'mobility store init' }]);
    const store = await places.open(folder, { shards: 5 });
    expect(await waitingEntries(store, whole.user)).toHaveLength(200);
    expect(JSON.parse(await readFile(join(folder, 'store.json'), 'utf8'))).toMatchObject({ shards: 2 });
    await store.close();
    expect((await checkStore(folder)).findings).toEqual([]);
  });

  it('an overwritten page is reported as damage by every read of it', async () => {
    const { folder, user } = await closedStore();
    const path = join(folder, usercache);
    const bytes = await readFile(path);
    bytes.fill(0x5a, 4096 * 20);
    await writeFile(path, bytes);
    const store = await places.open(folder);
    await rejects(store.usercache.read(user, { limit: 1_000 }), 'MOBILITY_STORE_DAMAGED');
    await store.users.list({ limit: 1 });
  });

  it('what a log that was cut off without a trace still holds is there: the first commits, whole', async () => {
    const open = join(await places.folder(), 'open');
    const folder = join(await places.folder(), 'copy');
    const store = await places.open(open);
    const user = await newUser(store);
    const sizes: number[] = [];
    for (let i = 0; i < 5; i++) {
      await put(store, user, [fix(2 * i), fix(2 * i + 1, { text: 'x'.repeat(10_000) })]);
      sizes.push((await stat(join(open, `${usercache}-wal`))).size);
    }
    for (const [cut, commits] of [
      [sizes[4]! - 1, 4],
      [sizes[2]!, 3],
      [sizes[2]! - 5_000, 2],
      [100, 0],
    ] as const) {
      // As after a power cut: the index of the log, which is never synchronised, did not survive.
      await cp(open, folder, { recursive: true });
      for (const name of [usercache, timeseries]) await rm(join(folder, `${name}-shm`));
      await truncate(join(folder, `${usercache}-wal`), cut);
      const copy = await openSqliteStore({ folder });
      const found = (await waitingEntries(copy, user)).map((one) => one.metadata.write_ts);
      expect(found).toEqual(Array.from({ length: 2 * commits }, (_, i) => i));
      await copy.close();
      await rm(folder, { recursive: true });
    }
  });

  it('a log that an erasure emptied is no damage after a power cut that kept an older index of it', async () => {
    const open = join(await places.folder(), 'open');
    const folder = join(await places.folder(), 'copy');
    const store = await places.open(open);
    const [user, gone] = [await newUser(store), await newUser(store)];
    for (let i = 0; i < 5; i++) {
      for (const id of [user, gone]) await put(store, id, [fix(i, { text: 'x'.repeat(10_000) })]);
    }
    const indexes = [usercache, timeseries].map((name) => `${name}-shm`);
    const older = await Promise.all(indexes.map((name) => readFile(join(open, name))));
    await store.erase(gone);
    for (const count of [5, 6]) {
      // The index is never synchronised: the disk may hold it as it was at any earlier moment.
      await cp(open, folder, { recursive: true });
      for (const [i, name] of indexes.entries()) await writeFile(join(folder, name), older[i]!);
      expect((await checkStore(folder)).findings).toEqual([]);
      const copy = await openSqliteStore({ folder });
      expect(await waitingEntries(copy, user)).toHaveLength(count);
      await copy.close();
      await rm(folder, { recursive: true });
      await put(store, user, [fix(count)]);
    }
  });

  it('refuses a log in which any bit flipped after a kill, and takes one that is as it was', async () => {
    const open = join(await places.folder(), 'open');
    const folder = join(await places.folder(), 'copy');
    const store = await places.open(open);
    const user = await newUser(store);
    for (let i = 0; i < 5; i++) await put(store, user, [fix(i, { text: 'x'.repeat(10_000) })]);
    const log = await readFile(join(open, `${usercache}-wal`));
    const frame = 32 + 24; // the header of the log, and that of its first page
    const known = [0, 5, 9, 13, 17, 21, 25, 30, 33, 37, 41, 45, 49, 53, frame, frame + 4095, log.length - 1];
    const drawn = Array.from({ length: 8 }, () => Math.floor(Math.random() * log.length));
    for (const at of [null, ...known, ...drawn]) {
      // As after a kill: the index of the log is there, and nobody has it open.
      await cp(open, folder, { recursive: true });
      if (at !== null) {
        const changed = Buffer.from(log);
        changed[at]! ^= 1 << (at % 8);
        await writeFile(join(folder, `${usercache}-wal`), changed);
        const before = await stateOf(folder);
        const error = await openSqliteStore({ folder }).then(
          () => null,
          (one: Error) => one,
        );
        expect(error, `byte ${at} of ${log.length}`).toMatchObject({ code: 'MOBILITY_STORE_DAMAGED' });
        expect(error!.message).toMatch(
          /expected a write-ahead log with \d+ pages, found one that is as it was written/,
        );
        same(await stateOf(folder), before);
        const [finding] = (await checkStore(folder)).findings;
        expect(finding).toMatchObject({ code: 'DAMAGED_LOG', file: usercache });
      } else {
        const copy = await openSqliteStore({ folder });
        expect(await waitingEntries(copy, user)).toHaveLength(5);
        await copy.close();
      }
      await rm(folder, { recursive: true });
    }
  });

  it('names the file that it may not write to, and tells what helps', async (test) => {
    const { folder } = await closedStore();
    const path = join(folder, timeseries);
    if (!(await mayOnlyRead(path, places))) return test.skip('running as root, and without the right to mount');
    const error = await openSqliteStore({ folder }).catch((one) => one);
    expect(error).toMatchObject({ code: 'MOBILITY_STORE_READONLY' });
    expect(error.message).toContain(`${path}: `);
    expect(error.message).toContain('as the user of the service');
  });

  it('refuses a folder that it may not write to and touches nothing', async (test) => {
    const { folder } = await closedStore();
    if (!(await mayOnlyRead(folder, places))) return test.skip('running as root, and without the right to mount');
    const before = await stateOf(folder);
    await rejects(openSqliteStore({ folder }), 'MOBILITY_STORE_READONLY');
    same(await stateOf(folder), before);
  });
});

describe('migrations', () => {
  const about: FileAbout = { role: 'usercache', shard: 0, shards: 1 };
  const steps: Migration[] = [
    (connection) => connection.exec('CREATE TABLE notes (text TEXT)'),
    (connection) => connection.exec("INSERT INTO notes VALUES ('second step')"),
    (connection) => connection.exec('ALTER TABLE notes ADD COLUMN more TEXT'),
  ];

  async function emptyFile(): Promise<string> {
    const path = join(await places.folder(), 'file.sqlite');
    await writeFile(path, '');
    return path;
  }

  function versionOf(path: string): { version: number; notes: unknown[] } {
    const connection = connect(path);
    const version = connection.prepare('PRAGMA user_version').get<{ user_version: number }>()!.user_version;
    const tables = connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'notes'").all();
    const notes = tables.length === 0 ? [] : connection.prepare('SELECT * FROM notes').all<object>();
    connection.close();
    return { version, notes: notes.map((row) => ({ ...row })) };
  }

  function lift(path: string, some: readonly Migration[]): void {
    const connection = connect(path);
    try {
      upgradeFolder(connection, path, some, about);
    } finally {
      connection.close();
    }
  }

  it('run from the version of the file on, each once', async () => {
    const path = await emptyFile();
    lift(path, steps.slice(0, 1));
    expect(versionOf(path)).toEqual({ version: 1, notes: [] });
    lift(path, steps);
    lift(path, steps);
    expect(versionOf(path)).toEqual({ version: 3, notes: [{ text: 'second step', more: null }] });
  });

  it('that fail leave the file as it was', async () => {
    const path = await emptyFile();
    lift(path, steps.slice(0, 1));
    const failing: Migration = () => {
      throw new Error('no');
    };
    expect(() => lift(path, [...steps, failing])).toThrow('no');
    expect(versionOf(path)).toEqual({ version: 1, notes: [] });
  });

  it('refuse a file of a newer version', async () => {
    const path = await emptyFile();
    lift(path, steps);
    expect(() => lift(path, steps.slice(0, 2))).toThrow(expect.objectContaining({ code: 'MOBILITY_STORE_VERSION' }));
    expect(versionOf(path).version).toBe(3);
  });
});
