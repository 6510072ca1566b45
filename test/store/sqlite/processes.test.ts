// The embedded store used by several processes, some of which are killed.
import { join } from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { buildProgram } from '../../support/build.ts';
import { fix, pause, put, waiting } from '../contract/kit.ts';
import { startChild } from '../support/child.ts';
import { usePlaces } from '../support/folders.ts';

const user = '9b1b3f2e-0000-4000-8000-000000000001';
const places = usePlaces();
vi.setConfig({ testTimeout: 120_000 }); // several processes, on a machine that may be busy
let program: string;
beforeAll(async () => {
  program = await buildProgram();
}, 120_000);

/** Puts entries of its own and of all writers, each alone; says which were acknowledged. */
const writer = `
  const store = await openSqliteStore({ folder: args.folder, shards: args.shards });
  await store.users.admit(args.user);
  await store.users.admit(args.own);
  say('open');
  const fix = (ts) => ({ metadata: { key: 'background/location', write_ts: ts }, data: { ts, by: args.name } });
  for (let i = 0; i < args.count; i++) {
    const [shared] = await store.usercache.put(args.user, { entries: [fix(i)], unusable: [] }, 1);
    await store.usercache.put(args.own, { entries: [fix(i)], unusable: [] }, 1);
    say('ack ' + i + ' ' + shared);
  }
  await store.close();
  say('done');
`;

it('processes that make a new store at once and write to it lose nothing and insert nothing twice', async () => {
  for (const shards of [1, 3]) {
    const folder = join(await places.folder(), 'new');
    const names = ['a', 'b', 'c', 'd'];
    const children = names.map((name, i) => {
      const own = `9b1b3f2e-0000-4000-8000-00000000010${i}`;
      return { own, child: startChild(program, writer, { folder, shards, user, own, name, count: 60 }) };
    });
    for (const { child } of children) expect(await child.ended).toBe(0);
    const store = await places.open(folder);
    expect(await waiting(store, user)).toHaveLength(60);
    for (const { own } of children) expect(await waiting(store, own)).toHaveLength(60);
    const inserted = children.flatMap(({ child }) => child.lines.filter((line) => line.endsWith('inserted')));
    expect(new Set(inserted).size).toBe(60);
    expect(inserted).toHaveLength(60);
  }
});

it('processes that make a new store at once with different numbers of shards agree on one', async () => {
  const folder = join(await places.folder(), 'new');
  const children = [1, 2, 3, 4].map((shards) =>
    startChild(program, writer, { folder, shards, user, own: user, name: 'x', count: 3 }),
  );
  for (const child of children) expect(await child.ended).toBe(0);
  expect(await waiting(await places.open(folder), user)).toHaveLength(3);
});

it('an opening finds nothing wrong with files that another process removes as it closes', async () => {
  const folder = join(await places.folder(), 'store');
  // Whoever is the last to close a store removes its logs.
  const visitor = `
    for (let i = 0; i < 60; i++) {
      const store = await openSqliteStore({ folder: args.folder });
      await store.users.admit(args.user);
      const fix = { metadata: { key: 'background/location', write_ts: i }, data: { ts: i } };
      await store.usercache.put(args.user, { entries: [fix], unusable: [] }, 1);
      await store.close();
    }
  `;
  const looker = `
    const { checkPresent, pathsOf } = await import(args.folderModule);
    say('looks');
    for (;;) {
      await checkPresent(pathsOf(args.folder, 1)).catch((error) => say('found ' + error.message));
      await new Promise((resolve) => setImmediate(resolve));
    }
  `;
  await (await places.open(folder)).close();
  const folderModule = join(program, 'dist/store/sqlite/folder.js');
  const looks = startChild(program, looker, { folder, folderModule });
  await looks.line('looks');
  expect(await startChild(program, visitor, { folder, user }).ended).toBe(0);
  await looks.kill();
  expect(looks.lines).toEqual(['looks']);
});

it('acknowledged entries are there after the writers were killed', async () => {
  const folder = join(await places.folder(), 'store');
  for (let round = 0; round < 4; round++) {
    const children = ['a', 'b'].map((name, i) => {
      const own = `9b1b3f2e-0000-4000-8000-0000000${round}010${i}`;
      return { own, child: startChild(program, writer, { folder, user, own, name, count: 1e9 }) };
    });
    for (const { child } of children) await child.line('ack 5 ');
    await pause(Math.random() * 0.15);
    for (const { child } of children) await child.kill();
    const store = await places.open(folder);
    const shared = new Set((await waiting(store, user)).map((row) => row.entry.metadata.write_ts));
    for (const { own, child } of children) {
      const acknowledged = child.lines.filter((line) => line.startsWith('ack')).length;
      const found = (await waiting(store, own)).map((row) => row.entry.metadata.write_ts);
      expect(found.length).toBeGreaterThanOrEqual(acknowledged);
      expect(found.length).toBeLessThanOrEqual(acknowledged + 1);
      expect(found).toEqual(found.map((_, i) => i));
      for (let i = 0; i < acknowledged; i++) expect(shared.has(i)).toBe(true);
    }
    await store.close();
  }
});

it('a move that was killed anywhere leaves each entry in the usercache, the timeseries or both', async () => {
  const folder = join(await places.folder(), 'store');
  const mover = `
    const store = await openSqliteStore({ folder: args.folder });
    const { lease } = await store.leases.acquire(args.user, 'mover', 0);
    say('open');
    for (;;) {
      const page = await store.usercache.read(args.user, { limit: 10 });
      if (page.length === 0) break;
      await store.timeseries.apply(args.user, { put: page.map((row) => row.entry), remove: [] }, lease);
      const moved = page.map(({ entry, revision }) => ({ key: entry.metadata.key, write_ts: entry.metadata.write_ts, revision }));
      await store.usercache.settle(args.user, { moved, failed: [] }, 1);
      say('moved');
    }
    say('done');
    await store.close();
  `;
  const store = await places.open(folder);
  await store.users.admit(user);
  const all = Array.from({ length: 400 }, (_, i) => i);
  await put(
    store,
    user,
    all.map((ts) => fix(ts)),
  );
  for (let round = 0; round < 3; round++) {
    const child = startChild(program, mover, { folder, user });
    await child.line('moved');
    await pause(Math.random() * 0.03);
    await child.kill();
    const left = (await waiting(store, user)).map((row) => row.entry.metadata.write_ts);
    const moved = await store.timeseries.find(user, { time: 'write_ts', limit: 1_000 });
    const found = new Set([...left, ...moved.entries.map((one) => one.metadata.write_ts)]);
    expect([...found].sort((a, b) => a - b)).toEqual(all);
  }
  const last = startChild(program, mover, { folder, user });
  expect(await last.ended).toBe(0);
  expect(await store.counts(user)).toMatchObject({ usercache: 0, timeseries: 400 });
});

it('the checkpointer moves commits into the files and does not keep its process alive', async () => {
  const folder = join(await places.folder(), 'store');
  const child = startChild(
    program,
    `const { statSync } = await import('node:fs');
     const { randomBytes } = await import('node:crypto');
     const store = await openSqliteStore({ folder: args.folder, checkpointer: true });
     const before = statSync(args.file).size;
     const entry = { metadata: { key: 'a/b', write_ts: 1 }, data: { text: randomBytes(250_000).toString('hex') } };
     await store.users.admit(args.user);
     await store.usercache.put(args.user, { entries: [entry], unusable: [] }, 1);
     while (statSync(args.file).size < before + 200_000) await new Promise((resolve) => setTimeout(resolve, 10));
     say('grown');`,
    { folder, user, file: join(folder, 'usercache-0.sqlite') },
  );
  expect(await child.ended).toBe(0);
  expect(child.lines).toEqual(['grown']);
});

it('the checkpointer ends with its store', async () => {
  const folder = await places.folder();
  const store = await places.open(folder, { checkpointer: true });
  await store.users.admit(user);
  await put(store, user, [fix(1)]);
  await store.close();
  const again = await places.open(folder, { checkpointer: true });
  expect(await waiting(again, user)).toHaveLength(1);
});
