// Contract: reading by time. Order, both ends of a range, cursors over equal times, keys, users.
import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { dataTime, type Entry } from '../../../src/model/entry.ts';
import type { JsonObject } from '../../../src/model/json.ts';
import type { EntryQuery } from '../../../src/store/store.ts';
import { battery, entry, findAll, fix, location, numbers, type Person, same, type Use } from './kit.ts';

/** The expected result of a query, computed simply. Keys here are ASCII: they are ordered by their characters. */
export function expectedOf(
  entries: Entry[],
  { keys, time, from = -Infinity, to = Infinity, descending }: EntryQuery,
): Entry[] {
  const timeOf = (one: Entry): number | null => (time === 'ts' ? dataTime(one.data) : one.metadata.write_ts);
  const rows = entries.flatMap((one) => {
    const at = timeOf(one);
    const wanted = at !== null && at >= from && at < to && (keys === undefined || keys.includes(one.metadata.key));
    return wanted ? [{ at, one }] : [];
  });
  rows.sort((a, b) => {
    const [k, l] = [a.one.metadata, b.one.metadata];
    return a.at - b.at || (k.key < l.key ? -1 : k.key > l.key ? 1 : k.write_ts - l.write_ts);
  });
  if (descending) rows.reverse();
  return rows.map((row) => row.one);
}

/** Entries with many equal times: some keys, few data times, some without one. */
const manyEqual: Entry[] = ['b/key', 'a.b/$c', 'a/key', 'c/key'].flatMap((key) =>
  numbers(0, 12).map((i) => {
    const data: JsonObject = i % 5 === 4 ? {} : { [i % 5 === 3 ? 'start_ts' : 'ts']: i % 3 };
    return entry(key, i % 4 === 3 ? i : Math.floor(i / 2) + i / 100, data);
  }),
);

/** In order: by code points, NUL and halves of characters as the backslash of their escapes. */
const inOrder = ['a', 'a/[', 'a/\\', 'a/\\\\', 'a/\0', 'a/\ud800', 'a/]', 'a/é', 'a/\uE000', 'a/\uFFFD', 'a/\u{1F6B2}'];
const shuffled = [7, 0, 10, 3, 5, 1, 9, 2, 8, 4, 6].map((i) => inOrder[i]!);

const fixesAt = (...times: number[]): Entry[] => times.map((ts) => fix(ts));

export function findTests(use: Use): void {
  describe.each(['usercache', 'timeseries'] as const)('%s.find', (place) => {
    const fill = (user: Person, entries: Entry[]): Promise<unknown> =>
      place === 'usercache' ? user.put(entries) : user.moveIn(entries);
    const find = (user: Person, query: Partial<EntryQuery>): Promise<Entry[]> =>
      findAll(use.store[place], user.id, { time: 'write_ts', limit: 100, ...query });

    use.it('entries exactly a month apart are found together, by either time', async (user) => {
      const month = 31 * 86_400;
      const starts = [0.1, 0.7, 1e9 + 0.3, 2 ** 51 + 0.5];
      const entries = starts.flatMap((start, i) => {
        const at = (1 + i) * 1_000;
        const late = start + month;
        return [entry('a', at, { ts: start }), entry('a', at + 1, { ts: late }), entry('a', at + 2, { ts: late })];
      });
      await fill(user, entries);
      for (const query of [{}, { limit: 1 }, { limit: 2 }, { limit: 2, descending: true }, { descending: true }]) {
        same(await find(user, { time: 'ts', ...query }), expectedOf(entries, { time: 'ts', limit: 100, ...query }));
      }
      for (const from of entries.map(({ data }) => data.ts as number)) {
        same(await find(user, { time: 'ts', from }), expectedOf(entries, { time: 'ts', from, limit: 100 }));
      }
    });

    use.it('any range, keys, order and page size give the same as sorting all entries', async (user, other) => {
      await fill(other, manyEqual);
      await fill(user, manyEqual);
      const bound = fc.integer({ min: -1, max: 13 });
      const anyQuery = fc.record(
        {
          time: fc.constantFrom('write_ts' as const, 'ts' as const),
          from: bound,
          to: bound,
          keys: fc.array(fc.constantFrom('a/key', 'b/key', 'c/key', 'a.b/$c', 'not/there')),
          limit: fc.integer({ min: 1, max: 9 }),
          descending: fc.boolean(),
        },
        { requiredKeys: ['time', 'limit', 'descending'] },
      );
      const finds = async (query: EntryQuery): Promise<void> =>
        same(await findAll(use.store[place], user.id, query), expectedOf(manyEqual, query));
      await fc.assert(fc.asyncProperty(anyQuery, finds), { numRuns: 60 });
    });

    use.it('a query within ranges gives only entries at these times, in pages of any size', async (user) => {
      await fill(user, fixesAt(1, 2, 2.5, 3, 4, 5, 6, 7.5, 8, 20));
      const ranges = [1.5, 3, 4, 4.5, 6, 8, 9, 10];
      const within = numbers(0, 4).map((i) => ({ from: ranges[2 * i]!, to: ranges[2 * i + 1]! }));
      const expected = fixesAt(2.5, 4, 6, 7.5);
      for (const time of ['write_ts', 'ts'] as const) {
        for (const limit of [1, 2, 100]) {
          const query = { time, from: 2.25, to: 21, limit, within };
          same(await find(user, query), expected);
          same(await find(user, { ...query, descending: true }), expected.toReversed());
        }
      }
    });

    use.it('any position can be a cursor, even if no entry can have it', async (user) => {
      const all = [fix(1), fix(2), fix(3)];
      await fill(user, all);
      const at = (time: number, write_ts: number) => ({ after: { time, key: location, write_ts } });
      for (const limit of [1, 100]) {
        same(await find(user, { ...at(2, 2), limit }), [fix(3)]);
        same(await find(user, { ...at(2, 1.5), limit }), [fix(2), fix(3)]);
        same(await find(user, { after: { time: 2, key: 'a', write_ts: 0 }, limit }), [fix(2), fix(3)]);
        same(await find(user, { ...at(2, 2.5), limit }), [fix(3)]);
        same(await find(user, { ...at(2, 2), limit, descending: true }), [fix(1)]);
        same(await find(user, { ...at(2, 2.5), limit, descending: true }), [fix(2), fix(1)]);
        same(await find(user, { ...at(2, 1.5), limit, descending: true }), [fix(1)]);
        same(await find(user, { ...at(0, 9), limit }), all);
        same(await find(user, { ...at(9, 0), limit, descending: true }), all.toReversed());
        same(await find(user, { ...at(2, 1.5), limit, from: 3 }), [fix(3)]);
        same(await find(user, { ...at(2, 2.5), limit, to: 2, descending: true }), [fix(1)]);
      }
    });
  });

  use.it('the summary of the timeseries counts per key, with first and last data time', async (user) => {
    expect(await use.store.timeseries.summary(user.id)).toEqual([]);
    await user.moveIn([fix(7), fix(5), entry(battery, 1), entry(location, 9, { note: 'no time' })]);
    expect(await use.store.timeseries.summary(user.id)).toEqual([
      { key: battery, count: 1, first_ts: null, last_ts: null },
      { key: location, count: 3, first_ts: 5, last_ts: 7 },
    ]);
  });

  use.it('keys of any characters have one order, either way, in any pages and in the summary', async (user) => {
    const made = shuffled.map((key) => entry(key, 1, { ts: 1 }));
    const wanted = inOrder.map((key) => entry(key, 1, { ts: 1 }));
    await user.moveIn(made);
    await user.put(made);
    for (const finder of [use.store.usercache, use.store.timeseries]) {
      for (const time of ['write_ts', 'ts'] as const) {
        for (const limit of [1, 3, 100]) {
          same(await findAll(finder, user.id, { time, limit }), wanted);
          same(await findAll(finder, user.id, { time, limit, descending: true }), wanted.toReversed());
        }
      }
    }
    expect((await use.store.timeseries.summary(user.id)).map(({ key }) => key)).toEqual(inOrder);
  });
}
