// Rows of entries: chunks of the timeseries by day and data time, and batches of pending entries.
import { expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import { connect } from '../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../src/store/sqlite/folder.ts';
import { atEnd } from '../../support/clean-up.ts';
import { noise } from '../../support/noise.ts';
import { openStoreIn } from '../../support/store.ts';
import { battery, entry, findAll, fix, fixes, location, numbers, same, storeWithUser } from '../contract/kit.ts';

const day = 86_400;
const midnight = 19_000 * day;

async function newStore() {
  const { folder, store, user } = await storeWithUser();
  const connection = connect(databaseIn(folder));
  atEnd(() => connection.close());
  /** The chunks of the store, by first write time. */
  const chunks = () =>
    connection
      .prepare('SELECT "key", first, count, sum, length(entries) AS bytes FROM chunks ORDER BY first, "key"')
      .all<{ key: string; first: number; count: number; sum: string; bytes: number }>();
  const batches = () => connection.prepare('SELECT count FROM batches ORDER BY id').all<{ count: number }>();
  return { folder, store, user, chunks, batches };
}

const counts = (rows: readonly { count: number }[]): number[] => rows.map(({ count }) => count);

it('entries of a key and a UTC day share a chunk, after any number of moves', async () => {
  const { store, user, chunks } = await newStore();
  const all: Entry[] = [];
  for (let hour = 0; hour < 49; hour++) {
    const some = numbers(0, 1 + (hour % 9)).map((i) => fix(midnight + 3_600 * hour + 60 * i));
    all.push(...some);
    await user.moveIn(some);
  }
  await user.moveIn([entry(battery, midnight)]);
  const ofDay = (from: number): number =>
    all.filter(({ metadata: { write_ts } }) => write_ts >= from && write_ts < from + day).length;
  const days = [0, 1, 2].map((n) => midnight + n * day);
  const found = chunks().map(({ key, first, count }) => [key, first, count]);
  same(found, [[battery, midnight, 1], ...days.map((from) => [location, from, ofDay(from)])]);
  same(await findAll(store.timeseries, user.id, { time: 'ts', limit: 50 }), all);
});

it('a chunk has a limited number of entries, and a change writes only the chunk of the changed entry', async () => {
  const { user, chunks } = await newStore();
  const many = numbers(0, 5_000).map((i) => fix(midnight + i));
  await user.moveIn(many);
  const before = chunks();
  expect(Math.max(...counts(before))).toBeLessThanOrEqual(2_000);
  expect(before.length).toBeLessThanOrEqual(4);
  await user.moveIn([fix(midnight + 700, { a: 1 })]);
  await user.moveIn([fix(midnight + 6_000)]);
  const sums = new Set(before.map(({ sum }) => sum));
  const after = chunks();
  expect(after.filter(({ sum }) => !sums.has(sum))).toHaveLength(2);
  expect(after).toHaveLength(before.length);
  many[700] = fix(midnight + 700, { a: 1 });
  same(await user.stored(), [...many, fix(midnight + 6_000)]);
});

it('large entries of a day lie in several chunks', async () => {
  const { user, chunks } = await newStore();
  const many = numbers(0, 12).map((i) => fix(midnight + i, { text: noise(`${i}`, 700_000) }));
  await user.moveIn(many);
  expect(chunks().length).toBeGreaterThan(2);
  expect(Math.max(...chunks().map(({ bytes }) => bytes))).toBeLessThan(4_000_000);
  same(await user.stored(), many);
});

it('the data times of a chunk lie within a month, or none has a data time, for entries in any order', async () => {
  const { store, user, chunks } = await newStore();
  const all: Entry[] = [];
  for (const i of numbers(0, 12)) {
    const data = [{ ts: midnight + i }, { ts: midnight - 400 * day }, {}][i % 3]!;
    const one = entry(location, midnight + 60 * i, data);
    all.push(one);
    await user.moveIn([one]);
  }
  expect(counts(chunks())).toEqual([4, 4, 4]);
  same(await user.stored(), all);
  const ofToday = all.filter((_, i) => i % 3 === 0);
  same(await findAll(store.timeseries, user.id, { time: 'ts', from: midnight, limit: 3 }), ofToday);
});

it('a store sees the change of another one in a chunk that it read before', async () => {
  const { folder, store, user } = await newStore();
  const other = await openStoreIn(folder);
  for (const round of [1, 2, 3]) {
    await user.on(round === 2 ? other : store).moveIn([fix(midnight, { round }), fix(midnight + round)]);
    for (const one of [store, other]) {
      const [changed, ...others] = await user.on(one).stored();
      same(changed, fix(midnight, { round }));
      expect(others).toHaveLength(round);
    }
  }
});

it('a put is one row, an entry that is pushed again moves out of it, and its last entry removes it', async () => {
  const { store, user, batches } = await newStore();
  await user.put(fixes(0, 900));
  expect(counts(batches())).toEqual([900]);
  await user.put(fixes(850, 1_000, { again: true }));
  expect(counts(batches())).toEqual([850, 150]);
  expect(await store.usercache.count(user.id)).toBe(1_000);
  await user.put(fixes(0, 850, { again: true }));
  expect(counts(batches())).toEqual([150, 850]);
  expect((await user.waiting()).every(({ data }) => data.again === true)).toBe(true);
});

it('a large put is several rows, and entries that are not due are in a separate row', async () => {
  const { user, batches } = await newStore();
  const entries = [...fixes(0, 4_500), ...numbers(0, 3).map((i) => fix(9 * day + i))];
  await user.put(entries);
  expect(counts(batches()).toSorted((a, b) => a - b)).toEqual([3, 500, 1_000, 1_000, 1_000, 1_000]);
  same(await user.waiting(), entries);
});
