// Contract: reading by time. Order, both ends of a range, cursors over equal times, keys, users.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dataTime, type Entry } from '../../../src/model/entry.ts';
import type { EntryQuery } from '../../../src/store/store.ts';
import {
  battery,
  entry,
  findAll,
  fix,
  location,
  newId,
  newPerson,
  numbers,
  type Person,
  same,
  type Use,
} from './kit.ts';

/** What a query must give, worked out the slow way. Keys here are ASCII: their order is that of their characters. */
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

/** Entries with many equal times: three keys, few data times, some without one. */
const manyEqual: Entry[] = ['b/key', 'a/key', 'c/key'].flatMap((key) =>
  numbers(0, 12).map((i) =>
    entry(key, i % 4 === 3 ? i : Math.floor(i / 2) + i / 100, i % 5 === 4 ? {} : { ts: i % 3 }),
  ),
);

export function findTests(use: Use): void {
  describe.each(['usercache', 'timeseries'] as const)('%s.find', (place) => {
    const fill = (user: Person, entries: Entry[]): Promise<unknown> =>
      place === 'usercache' ? user.put(entries) : user.moveIn(entries);
    const find = (user: Person, query: Partial<EntryQuery>): Promise<Entry[]> =>
      findAll(use.store[place], user.id, { time: 'write_ts', limit: 100, ...query });

    it('a range holds its start and not its end', async () => {
      const user = await newPerson(use.store);
      await fill(user, [fix(1), fix(2), fix(3), fix(3.000001)]);
      for (const time of ['write_ts', 'ts'] as const) {
        same(await find(user, { time, from: 2, to: 3 }), [fix(2)]);
        same(await find(user, { time, from: 2 }), [fix(2), fix(3), fix(3.000001)]);
        same(await find(user, { time, to: 3 }), [fix(1), fix(2)]);
        same(await find(user, { time, to: 3, descending: true }), [fix(2), fix(1)]);
        same(await find(user, { time, from: 2, to: 2 }), []);
        same(await find(user, { time, from: 3, to: 1 }), []);
      }
    });

    it('write_ts and data time are two orders; entries without a data time are in the first only', async () => {
      const user = await newPerson(use.store);
      const [a, b, c] = [
        entry(location, 1, { ts: 20 }),
        entry(location, 2, { ts: 10 }),
        entry(location, 3, { note: 'x' }),
      ];
      await fill(user, [c, a, b]);
      same(await find(user, {}), [a, b, c]);
      same(await find(user, { time: 'ts' }), [b, a]);
    });

    it('the data time of a label is its start_ts', async () => {
      const user = await newPerson(use.store);
      const label = entry('manual/mode_confirm', 50, { start_ts: 5, end_ts: 9, label: 'bike' });
      await fill(user, [label]);
      same(await find(user, { time: 'ts', from: 5, to: 6 }), [label]);
    });

    it('entries a month apart to the last bit are found together, by each of them', async () => {
      const user = await newPerson(use.store);
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

    it('keys select; no keys means all entries, an empty list no entries', async () => {
      const user = await newPerson(use.store);
      await fill(user, [fix(1), entry(battery, 2, { ts: 2 }), entry('a.b/$c', 3, { ts: 3 })]);
      for (const time of ['write_ts', 'ts'] as const) {
        expect(await find(user, { time })).toHaveLength(3);
        same(await find(user, { time, keys: [battery, 'a.b/$c'] }), [
          entry(battery, 2, { ts: 2 }),
          entry('a.b/$c', 3, { ts: 3 }),
        ]);
        same(await find(user, { time, keys: [location, location, 'not/there'] }), [fix(1)]);
        same(await find(user, { time, keys: ['not/there'] }), []);
        same(await find(user, { time, keys: [] }), []);
      }
    });

    it('users are kept apart', async () => {
      const [a, b] = [await newPerson(use.store), await newPerson(use.store)];
      await fill(a, [fix(1), fix(2)]);
      same(await find(b, {}), []);
      await fill(b, [fix(2, { of: 'b' })]);
      same(await find(a, { time: 'ts' }), [fix(1), fix(2)]);
      same(await find(b, { time: 'ts' }), [fix(2, { of: 'b' })]);
    });

    it('pages over equal times lose and repeat nothing', async () => {
      const user = await newPerson(use.store);
      await fill(user, manyEqual);
      for (const time of ['write_ts', 'ts'] as const) {
        for (const descending of [false, true]) {
          for (const keys of [undefined, ['a/key'], ['c/key', 'b/key']]) {
            // Pages of one to nine are in the property below.
            const query: EntryQuery = { time, descending, limit: 1_000, ...(keys === undefined ? {} : { keys }) };
            same(await findAll(use.store[place], user.id, query), expectedOf(manyEqual, query));
          }
        }
      }
    });

    it('any range, order and page size gives the same as sorting all entries', async () => {
      const user = await newPerson(use.store);
      await fill(user, manyEqual);
      const bound = fc.option(fc.integer({ min: -1, max: 13 }), { nil: undefined });
      const anyQuery = fc.record({
        time: fc.constantFrom('write_ts' as const, 'ts' as const),
        from: bound,
        to: bound,
        keys: fc.option(fc.subarray(['a/key', 'b/key', 'c/key']), { nil: undefined }),
        limit: fc.integer({ min: 1, max: 9 }),
        descending: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(anyQuery, async ({ from, to, keys, ...rest }) => {
          const query: EntryQuery = { ...rest };
          if (from !== undefined) query.from = from;
          if (to !== undefined) query.to = to;
          if (keys !== undefined) query.keys = keys;
          same(await findAll(use.store[place], user.id, query), expectedOf(manyEqual, query));
        }),
        { numRuns: 60 },
      );
    });

    it('dozens of keys come in the same order as a few', async () => {
      const user = await newPerson(use.store);
      const all = numbers(0, 60).map((i) => entry(`k/${(i * 37) % 60}`, i % 9, { ts: i % 5 }));
      await fill(user, all);
      const keys = all.slice(0, 50).map((one) => one.metadata.key);
      const queries: EntryQuery[] = [
        { time: 'write_ts', limit: 25 },
        { time: 'ts', limit: 25, descending: true },
        { time: 'ts', limit: 25, from: 1, to: 4, keys },
      ];
      for (const query of queries) same(await findAll(use.store[place], user.id, query), expectedOf(all, query));
    });

    it('a page that ends with the range is the last, and an empty one has no next', async () => {
      const user = await newPerson(use.store);
      await fill(user, [fix(1), fix(2)]);
      expect(await use.store[place].find(user.id, { time: 'ts', limit: 5 })).toMatchObject({ next: null });
      expect(await use.store[place].find(newId(), { time: 'ts', limit: 5 })).toEqual({
        entries: [],
        received_ts: [],
        next: null,
      });
    });

    it('a query within ranges gives only entries at these times, over all pages and in both directions', async () => {
      const user = await newPerson(use.store);
      const times = [1, 2, 2.5, 3, 4, 5, 6, 7.5, 8, 20];
      await fill(
        user,
        times.map((ts) => fix(ts)),
      );
      const within = [
        { from: 1.5, to: 3 },
        { from: 4, to: 4.5 },
        { from: 6, to: 8 },
        { from: 9, to: 10 },
      ];
      const expected = [2.5, 4, 6, 7.5].map((ts) => fix(ts));
      for (const time of ['write_ts', 'ts'] as const) {
        for (const limit of [1, 2, 100]) {
          const query = { time, from: 2.25, to: 21, limit, within };
          same(await find(user, query), expected);
          same(await find(user, { ...query, descending: true }), expected.toReversed());
        }
      }
    });

    it('a cursor still works when its entry is removed or others are added', async () => {
      const user = await newPerson(use.store);
      await fill(user, [fix(1), fix(2), fix(4)]);
      const page = await use.store[place].find(user.id, { time: 'ts', limit: 2 });
      await fill(user, [fix(3), fix(1.5)]);
      same(await find(user, { time: 'ts', after: page.next! }), [fix(3), fix(4)]);
      same(await find(user, { time: 'ts', after: { time: 2.5, key: 'x', write_ts: 0 } }), [fix(3), fix(4)]);
      same(await find(user, { time: 'ts', after: { time: 2, key: 'a', write_ts: 0 } }), [fix(2), fix(3), fix(4)]);
    });

    it('any position can be a cursor, even if no entry can have it', async () => {
      const user = await newPerson(use.store);
      const all = [fix(1), fix(2), fix(3)];
      await fill(user, all);
      const at = (time: number, write_ts: number) => ({ after: { time, key: location, write_ts } });
      for (const limit of [1, 100]) {
        same(await find(user, { ...at(2, 2), limit }), [fix(3)]);
        same(await find(user, { ...at(2, 1.5), limit }), [fix(2), fix(3)]);
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

  it('the summary of the usercache counts and names oldest and newest', async () => {
    const user = await newPerson(use.store);
    expect(await use.store.usercache.summary(user.id)).toEqual({ count: 0, oldest_ts: null, newest_ts: null });
    await user.put([fix(7.5), entry(battery, 3.25), fix(5)]);
    expect(await use.store.usercache.summary(user.id)).toEqual({ count: 3, oldest_ts: 3.25, newest_ts: 7.5 });
  });

  it('the summary of the timeseries counts per key, with first and last data time', async () => {
    const user = await newPerson(use.store);
    expect(await use.store.timeseries.summary(user.id)).toEqual([]);
    await user.moveIn([fix(7), fix(5), entry(battery, 1), entry(location, 9, { note: 'no time' })]);
    expect(await use.store.timeseries.summary(user.id)).toEqual([
      { key: battery, count: 1, first_ts: null, last_ts: null },
      { key: location, count: 3, first_ts: 5, last_ts: 7 },
    ]);
  });
}
