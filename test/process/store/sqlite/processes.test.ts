// The embedded store used by several processes, some of which are killed.
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { connect } from '../../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../../src/store/sqlite/folder.ts';
import { fix, numbers, Person, same, storeWithUser } from '../../../store/contract/kit.ts';
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

/** Moves pending entries, ten at a time, and prints each result; ends when none is left. */
const mover = `
  const store = await openStore(args.folder, { busySeconds: 240 });
  const { lease } = await store.leases.acquire(args.user, 'mover', 0);
  for (let more = true; more; ) {
    const judge = ({ data, metadata }) => (metadata.write_ts % 9 ? { ts: data.ts } : { reason: 'r', message: 'm' });
    const page = await store.usercache.move(args.user, { at: 1e13, limit: 10 }, lease, judge);
    say('moved ' + page.moved.length);
    more = page.more;
  }
  await store.close();
`;

it('processes that make a new store simultaneously and write to it lose nothing and insert nothing twice', async () => {
  const folder = join(tempFolder(), 'new');
  const children = numbers(1, 5).map((n) => {
    return {
      own: uuidOf(n),
      child: startChild(program, writer, { folder, user: uuidOf(0), own: uuidOf(n), count: 60 }),
    };
  });
  for (const { child } of children) expect(await child.ended).toBe(0);
  const store = await openStoreIn(folder);
  expect(await new Person(store, uuidOf(0)).waiting()).toHaveLength(60);
  for (const { own } of children) expect(await new Person(store, own).waiting()).toHaveLength(60);
  const inserted = children.flatMap(({ child }) => child.lines.filter((line) => line.endsWith('inserted')));
  expect(new Set(inserted).size).toBe(60);
  expect(inserted).toHaveLength(60);
});

it('acknowledged entries are stored after the writers were killed', async () => {
  const folder = join(tempFolder(), 'store');
  for (let round = 0; round < 3; round++) {
    const children = [1, 2].map((n) => {
      const own = uuidOf(10 * (round + 1) + n);
      return { own, child: startChild(program, writer, { folder, user: uuidOf(0), own, count: 1e9 }) };
    });
    for (const { child } of children) await child.line(`ack ${5 + 7 * round} `);
    for (const { child } of children) await child.kill();
    const store = await openStoreIn(folder);
    const shared = new Set((await new Person(store, uuidOf(0)).waiting()).map((one) => one.metadata.write_ts));
    for (const { own, child } of children) {
      const acknowledged = child.lines.filter((line) => line.startsWith('ack')).length;
      const found = (await new Person(store, own).waiting()).map((one) => one.metadata.write_ts);
      expect(found.length).toBeGreaterThanOrEqual(acknowledged);
      expect(found.length).toBeLessThanOrEqual(acknowledged + 1);
      same(found, numbers(0, found.length));
      for (let i = 0; i < acknowledged; i++) expect(shared.has(i)).toBe(true);
    }
    await store.close();
  }
});

it('a move that is killed at any moment leaves each entry in one place, while another process puts entries', async () => {
  const { folder, store, user } = await storeWithUser();
  const all = numbers(1, 401);
  for (const ts of all.slice(0, 300)) await user.put([fix(ts)]);
  const timesOf = async () => {
    const errors = await store.errors.list(user.id, { limit: 1_000 });
    const rows = [...(await user.waiting()), ...(await user.stored())];
    return [...rows.map((one) => one.metadata.write_ts), ...errors.map((row) => row.identity!.write_ts)];
  };
  for (let round = 0; round < 4; round++) {
    const child = startChild(program, mover, { folder, user: user.id });
    await child.line('moved');
    await user.put([fix(all[300 + round]!)]);
    await child.kill();
    const times = await timesOf();
    expect(times).toHaveLength(301 + round);
    same(
      times.sort((a, b) => a - b),
      all.slice(0, 301 + round),
    );
  }
  expect(await startChild(program, mover, { folder, user: user.id }).ended).toBe(0);
  expect(await store.counts(user.id)).toMatchObject({ usercache: 0, timeseries: 304 - 33, errors: 33 });
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
