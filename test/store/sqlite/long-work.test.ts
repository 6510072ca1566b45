// Work that takes long in the embedded store: very many keys, and a put of many entries beside small calls.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/store.ts';
import type { EntryQuery, Store } from '../../../src/store/store.ts';
import { expectedOf } from '../contract/find.ts';
import { apply, entry, findAll, fix, newUser, put, same } from '../contract/kit.ts';

let folder: string;
let store: Store;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mobility-long-'));
  store = await openSqliteStore({ folder });
});
afterAll(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

it('thousands of keys come in the same order as a few', async () => {
  const user = await newUser(store);
  const all = Array.from({ length: 2_100 }, (_, i) => entry(`k/${(i * 37) % 2_100}`, i % 9, { ts: i % 5 }));
  const keys = all.slice(0, 2_050).map((one) => one.metadata.key);
  const queries: EntryQuery[] = [
    { time: 'write_ts', limit: 800 },
    { time: 'ts', limit: 700, descending: true },
    { time: 'ts', limit: 600, from: 1, to: 4, keys },
  ];
  await put(store, user, all);
  for (const query of queries) same(await findAll(store.usercache, user, query), expectedOf(all, query));
  await apply(store, user, { put: all });
  for (const query of queries) same(await findAll(store.timeseries, user, query), expectedOf(all, query));
});

it('small reads go on beside a put of many entries, and see nothing of it before it is done', async () => {
  const user = await newUser(store);
  await put(store, user, [fix(0)]);
  let done = false;
  const many = put(
    store,
    user,
    Array.from({ length: 10_000 }, (_, i) => fix(i + 1)),
  ).then(() => {
    done = true;
  });
  const seen: number[] = [];
  while (!done) {
    const { count } = await store.usercache.summary(user);
    if (!done) seen.push(count);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await many;
  expect(seen.length).toBeGreaterThan(5);
  expect(new Set(seen.slice(0, -1))).toEqual(new Set([1]));
  expect((await store.usercache.summary(user)).count).toBe(10_001);
});

it('a put of many entries that fails leaves nothing behind, and those beside it are stored', async () => {
  const user = await newUser(store);
  const broken = Array.from({ length: 2_000 }, (_, i) => fix(i + 1));
  broken[1_500]!.metadata.write_ts = Number.NaN;
  const [failed, small] = await Promise.allSettled([put(store, user, broken), put(store, user, [fix(0.5)])]);
  expect([failed.status, small.status]).toEqual(['rejected', 'fulfilled']);
  expect((await store.usercache.summary(user)).count).toBe(1);
});
