// What a process leaves that is killed at any statement while it converts an older store, or writes chunks anew: the
// files as they are at that moment, opened again. Nothing is lost, and nothing is there twice.
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import { connect } from '../../../src/store/sqlite/driver.ts';
import { fileName } from '../../../src/store/sqlite/folder.ts';
import type { Store } from '../../../src/store/store.ts';
import { apply, battery, entry, findAll, fix, location, newUser } from '../contract/kit.ts';
import { newFolder, usePlaces } from '../support/folders.ts';

/** Called before each statement that any connection runs. */
const watched = vi.hoisted(() => ({ before: (_sql: string): void => {} }));

vi.mock('../../../src/store/sqlite/driver.ts', async (original) => {
  const actual = await original<typeof import('../../../src/store/sqlite/driver.ts')>();
  type Connection = ReturnType<typeof actual.connect>;
  const watchedConnection = (connection: Connection): Connection => ({
    get inTransaction() {
      return connection.inTransaction;
    },
    exec: (sql) => {
      watched.before(sql);
      connection.exec(sql);
    },
    prepare: (sql) => {
      const statement = connection.prepare(sql);
      return {
        run: (...values) => {
          watched.before(sql);
          return statement.run(...values);
        },
        get: (...values) => {
          watched.before(sql);
          return statement.get(...values);
        },
        all: (...values) => {
          watched.before(sql);
          return statement.all(...values);
        },
      };
    },
    copyTo: (path) => connection.copyTo(path),
    close: () => connection.close(),
  });
  return { ...actual, connect: (path: string) => watchedConnection(actual.connect(path)) };
});

const places = usePlaces();
afterEach(() => {
  watched.before = () => {};
});

/** The files of a store as a kill at this moment would leave them. */
function copyOf(folder: string, target: string): string {
  mkdirSync(target);
  for (const file of readdirSync(folder)) copyFileSync(join(folder, file), join(target, file));
  return target;
}

/** Does the work, and copies the store before some of its statements on the long term, and after the last. */
async function copiesDuring(
  folder: string,
  work: () => Promise<unknown>,
  isWanted: (statement: number, sql: string) => boolean,
): Promise<string[]> {
  const base = await newFolder();
  places.later(() => rm(base, { recursive: true, force: true }));
  const copies: string[] = [];
  let statement = 0;
  watched.before = (sql) => {
    if (isWanted(statement++, sql)) copies.push(copyOf(folder, join(base, String(copies.length))));
  };
  await work();
  watched.before = () => {};
  return [...copies, copyOf(folder, join(base, 'last'))];
}

/** What a store returns of a user, by both times, each entry once. */
async function contentOf(store: Store, user: string): Promise<string[]> {
  const byTime = await findAll(store.timeseries, user, { time: 'ts', limit: 700 });
  const byWritten = await findAll(store.timeseries, user, { time: 'write_ts', limit: 700 });
  const texts = (entries: readonly Entry[]): string[] => entries.map((one) => JSON.stringify(one)).sort();
  expect(texts(byTime)).toEqual(texts(byWritten));
  expect((await store.counts(user)).timeseries).toBe(byTime.length);
  return texts(byTime);
}

async function contentAfterKill(folder: string, users: readonly string[]): Promise<string[][]> {
  const store = await places.open(folder);
  const contents: string[][] = [];
  for (const user of users) contents.push(await contentOf(store, user));
  await store.close();
  return contents;
}

describe('a kill at any statement', () => {
  it('of the conversion of rows of an older store leaves each entry in one place', async () => {
    const folder = join(await places.folder(), 'store');
    const store = await places.open(folder);
    const users = [await newUser(store), await newUser(store)];
    const entries = Array.from({ length: 1_200 }, (_, i) =>
      i % 5 === 0 ? entry(battery, 1_000 + i, { ts: 1_000 + i }) : fix(1_000 + i),
    );
    for (const user of users) await apply(store, user, { put: entries.slice(0, 50) });
    await store.close();
    // The rest of the entries as an earlier version kept them; some of them were converted before an earlier kill.
    const connection = connect(join(folder, fileName('timeseries', 0)));
    connection.exec(`
      CREATE TABLE entries (
        id INTEGER PRIMARY KEY, user INTEGER NOT NULL, key INTEGER NOT NULL, write_ts REAL NOT NULL, ts REAL,
        latitude REAL, longitude REAL, zone TEXT, entry TEXT NOT NULL, received_ts REAL NOT NULL DEFAULT 5
      );
      CREATE UNIQUE INDEX entries_identity ON entries (user, key, write_ts)`);
    const insert = connection.prepare(`
      INSERT INTO entries (user, key, write_ts, ts, entry) SELECT user_ids.id, keys.id, ?, ?, ? FROM user_ids, keys
      WHERE uuid = ? AND name = ?`);
    connection.exec('BEGIN');
    for (const user of users) {
      for (const one of entries.slice(50)) {
        const { key, write_ts } = one.metadata;
        insert.run(write_ts, one.data.ts as number, JSON.stringify(one), user, key);
      }
    }
    connection.exec('COMMIT');
    connection.close();
    const expected = entries.map((one) => JSON.stringify(one)).sort();
    const copies = await copiesDuring(
      folder,
      async () => {
        const converting = await places.open(folder);
        for (const user of users) await contentOf(converting, user);
        await converting.close();
      },
      // Each row is read and removed by a statement: a few of these, and all others from the first row on.
      (statement, sql) =>
        /entries WHERE id/.test(sql)
          ? statement % 1_499 === 0
          : /entries|chunks|COMMIT/.test(sql) && statement % 11 === 0,
    );
    expect(copies.length).toBeGreaterThan(6);
    for (const copy of copies) expect(await contentAfterKill(copy, users)).toEqual([expected, expected]);
  }, 120_000);

  it('of a change of chunks leaves all of the change or nothing of it, and it can be repeated', async () => {
    const at = fc.integer({ min: 0, max: 1_400 });
    const changes = fc.record({
      put: fc.array(fc.tuple(at, fc.nat(2)), { minLength: 1, maxLength: 30 }),
      remove: fc.array(at, { maxLength: 10 }),
      before: fc.constantFrom(400, 700),
    });
    await fc.assert(
      fc.asyncProperty(changes, async ({ put, remove, before }) => {
        const folder = join(await places.folder(), 'store');
        const store = await places.open(folder);
        const user = await newUser(store);
        await apply(store, user, { put: Array.from({ length: before }, (_, i) => fix(1_000 + i)) });
        const old = await contentOf(store, user);
        const change = {
          put: put.map(([i, content]) => fix(1_000.5 + i / 2, { content })),
          remove: remove.map((i) => ({ key: location, write_ts: 1_000 + i })),
        };
        const copies = await copiesDuring(
          folder,
          () => apply(store, user, change),
          (statement) => statement % 3 === 0,
        );
        const wanted = await contentOf(store, user);
        await store.close();
        let seen = 0;
        for (const copy of copies) {
          const [found] = await contentAfterKill(copy, [user]);
          const isNew = JSON.stringify(found) === JSON.stringify(wanted);
          if (!isNew) expect(found).toEqual(old);
          seen += Number(isNew);
        }
        expect(seen).toBeGreaterThan(0);
        const again = await places.open(copies[0]!);
        await apply(again, user, change);
        expect(await contentOf(again, user)).toEqual(wanted);
      }),
      { numRuns: 2 },
    );
  }, 120_000);
});
