// What waits lies in batches: entries leave them one by one, and what is left stays small, whole and found.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { connect } from '../../../src/store/sqlite/driver.ts';
import type { Store } from '../../../src/store/store.ts';
import { entry, fix, newUser, put, refOf, rejects, same, waiting } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();

async function newStore(): Promise<{ store: Store; user: string; rows: () => { count: number; bytes: number }[] }> {
  const folder = join(await places.folder(), 'store');
  const store = await places.open(folder);
  const rows = () => {
    const connection = connect(join(folder, 'usercache-0.sqlite'));
    const found = connection.prepare('SELECT count, length(entries) AS bytes FROM batches ORDER BY id');
    const all = found.all<{ count: number; bytes: number }>();
    connection.close();
    return all;
  };
  return { store, user: await newUser(store), rows };
}

const words = () => randomBytes(150).toString('hex');
const times = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

it('a put is one row, an entry that is pushed again leaves it, and it goes with its last entry', async () => {
  const { store, user, rows } = await newStore();
  await put(
    store,
    user,
    times(0, 900).map((ts) => fix(ts)),
  );
  expect(rows().map(({ count }) => count)).toEqual([900]);
  await put(
    store,
    user,
    times(850, 1_000).map((ts) => fix(ts, { again: true })),
  );
  expect(rows().map(({ count }) => count)).toEqual([850, 150]);
  expect(await store.usercache.summary(user)).toEqual({ count: 1_000, oldest_ts: 0, newest_ts: 999 });
  await put(
    store,
    user,
    times(0, 850).map((ts) => fix(ts, { again: true })),
  );
  expect(rows().map(({ count }) => count)).toEqual([150, 850]);
  expect((await waiting(store, user)).every((row) => row.entry.data.again === true)).toBe(true);
});

it('what is left of a batch keeps its revisions, and the texts of the others go', async () => {
  const { store, user, rows } = await newStore();
  await put(
    store,
    user,
    times(0, 900).map((ts) => fix(ts, { words: words() })),
  );
  const [{ bytes: before } = { bytes: 0 }] = rows();
  const all = await waiting(store, user);
  const left = all.filter((_, i) => i % 90 === 0);
  const moved = all.filter((_, i) => i % 90 !== 0).map(refOf);
  expect(await store.usercache.settle(user, { moved, failed: [] }, 1)).toBe(890);
  expect(rows()).toEqual([{ count: 10, bytes: expect.any(Number) }]);
  expect(rows()[0]!.bytes).toBeLessThan(before / 20);
  same(await waiting(store, user), left);
  const [first, ...others] = left.map(refOf);
  expect(await store.usercache.settle(user, { moved: [first!, ...moved], failed: [] }, 1)).toBe(1);
  expect(await store.usercache.summary(user)).toEqual({ count: 9, oldest_ts: 90, newest_ts: 810 });
  expect(await store.usercache.settle(user, { moved: others, failed: [] }, 1)).toBe(9);
  expect(rows()).toEqual([]);
});

it('a key waits until its last entry leaves, however many others are in the batch', async () => {
  const { store, user } = await newStore();
  await put(store, user, [entry('manual/one', 5), ...times(0, 20).map((ts) => fix(ts))]);
  const one = (await waiting(store, user)).find(({ entry: { metadata } }) => metadata.key === 'manual/one')!;
  expect((await store.usercache.keys(user)).sort()).toEqual(['background/location', 'manual/one']);
  await store.usercache.settle(user, { moved: [refOf(one)], failed: [] }, 1);
  expect(await store.usercache.keys(user)).toEqual(['background/location']);
  expect(await put(store, user, [entry('manual/one', 5)])).toEqual(['inserted']);
});

it('a page of few small entries ends before it unpacks all the large batches that they are in', async () => {
  const { store, user } = await newStore();
  const large = 'x'.repeat(499_000);
  await Promise.all(
    times(0, 100).map((ts) => put(store, user, [entry('a/small', ts), entry('b/large', ts, { large })])),
  );
  for (const read of [
    async () => (await store.usercache.read(user, { limit: 100 })).length,
    async () => (await store.usercache.find(user, { keys: ['a/small'], time: 'write_ts', limit: 100 })).entries.length,
  ]) {
    expect(await read()).toBeGreaterThan(50);
    expect(await read()).toBeLessThan(70);
  }
  expect(await waiting(store, user, 100)).toHaveLength(200);
});

it('a damaged batch is refused by file, number and user', async () => {
  const folder = join(await places.folder(), 'store');
  const store = await places.open(folder);
  const user = await newUser(store);
  await put(store, user, [fix(1), fix(2)]);
  for (const column of ['entries', 'columns']) {
    const connection = connect(join(folder, 'usercache-0.sqlite'));
    connection.exec(`UPDATE batches SET ${column} = x'0100000000000000ff'`);
    connection.close();
    await rejects(store.usercache.find(user, { time: 'ts', limit: 10 }), 'MOBILITY_STORE_DAMAGED');
    const place = new RegExp(`usercache-0.sqlite, table batches, batch \\d+, user ${user}`);
    await expect(store.usercache.read(user, { limit: 10 })).rejects.toThrow(place);
  }
});
