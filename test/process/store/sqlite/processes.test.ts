// The embedded store used by several processes, some of which are killed.
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { connect } from '../../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../../src/store/sqlite/folder.ts';
import { numbers, Person, storeWithUser } from '../../../store/contract/kit.ts';
import { startChild } from '../../../store/support/child.ts';
import { buildProgram } from '../../../support/build.ts';
import { atEnd, tempFolder } from '../../../support/clean-up.ts';
import { openStoreIn } from '../../../support/store.ts';

let program: string;
beforeAll(async () => {
  program = await buildProgram();
});

const uuidOf = (n: number): string => `9b1b3f2e-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Registers both users, puts own entries and entries of all writers, one per put; prints the acknowledged ones. */
const writer = `
  const store = await openStore(args.folder, { busySeconds: 240 });
  for (const uuid of [args.user, args.own]) await store.users.register(uuid + '@example.org', { uuid, now: 1 });
  say('open');
  const fix = (ts) => ({ metadata: { key: 'background/location', write_ts: ts }, data: { ts, by: args.own } });
  for (let i = 0; i < args.count; i++) {
    const { results: [shared] } = await store.usercache.put(args.user, { entries: [fix(i)], unusable: [] }, 1);
    await store.usercache.put(args.own, { entries: [fix(i)], unusable: [] }, 1);
    say('ack ' + i + ' ' + shared);
  }
  await store.close();
  say('done');
`;

it('processes that make a new store simultaneously and write to it lose nothing and insert nothing twice', async () => {
  const folder = join(tempFolder(), 'new');
  const children = numbers(1, 5).map((n) =>
    startChild(program, writer, { folder, user: uuidOf(0), own: uuidOf(n), count: 60 }),
  );
  for (const child of children) expect(await child.ended).toBe(0);
  const store = await openStoreIn(folder);
  for (const n of numbers(0, 5)) expect(await new Person(store, uuidOf(n)).waiting()).toHaveLength(60);
  const inserted = children.flatMap(({ lines }) => lines.filter((line) => line.endsWith('inserted')));
  expect([inserted.length, new Set(inserted).size]).toEqual([60, 60]);
  expect((await readdir(folder)).filter((name) => !/^mobility\.db(-wal|-shm)?$/.test(name))).toEqual([]);
});

it('an opening reports no damage while another process removes or empties its files as it closes', async () => {
  const folder = join(tempFolder(), 'store');
  const visitor = `
    for (let i = 0; i < 60; i++) {
      const store = await openStore(args.folder, { busySeconds: 240 });
      await store.users.register('somebody', { now: i });
      await store.close();
    }
  `;
  const looker = `
    const { openFolder } = await import(args.folderModule);
    say('looks');
    for (;;) {
      await openFolder(args.folder, { make: false }).catch((error) => say('found ' + error.message));
      await new Promise((resolve) => setImmediate(resolve));
    }
  `;
  await (await openStoreIn(folder)).close();
  const folderModule = join(program, 'dist/store/sqlite/folder.js');
  const looks = startChild(program, looker, { folder, folderModule });
  await looks.line('looks');
  expect(await startChild(program, visitor, { folder }).ended).toBe(0);
  await looks.kill();
  expect(looks.lines).toEqual(['looks']);
});

it('an erasure in one process leaves no row of the user, despite writes in other processes', async () => {
  const { folder, store } = await storeWithUser();
  const body = `try { ${writer} } catch (error) { say(error.code); }`;
  const child = startChild(program, body, { folder, user: uuidOf(0), own: uuidOf(1), count: 1e9 });
  atEnd(() => child.kill());
  await child.line('ack 5 ');
  await store.erase(uuidOf(1));
  expect(await child.ended).toBe(0);
  expect(child.lines.at(-1)).toBe('MOBILITY_USER_UNKNOWN');
  const connection = connect(databaseIn(folder));
  const tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all<{ name: string }>();
  expect(tables.length).toBeGreaterThan(9);
  for (const { name } of tables) {
    const rows = connection.prepare(`SELECT * FROM "${name}"`).all();
    expect(JSON.stringify(rows), name).not.toContain(`"${uuidOf(1)}"`);
  }
  connection.close();
  await new Person(store, uuidOf(0)).moveAll();
  expect((await store.counts(uuidOf(0))).timeseries).toBeGreaterThan(3);
});
