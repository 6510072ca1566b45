// Contract: changes of the timeseries, what they mark as changed, and the zones around a time.
import { expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import type { EntryCursor, PickQuery, Store } from '../../../src/store/store.ts';
import {
  apply,
  battery,
  entry,
  fix,
  incident,
  leased,
  location,
  mergeState,
  newId,
  newUser,
  same,
  type Use,
} from './kit.ts';

const clean = { changed: null, documents_due: false };

/** What is marked as changed; then takes the marks away. */
async function marks(store: Store, user: string) {
  const { changed, documents_due } = await store.pipeline.get(user);
  await mergeState(store, user, clean);
  return { changed, documents_due };
}

export function timeseriesTests(use: Use): void {
  it('a change counts entries inserted, updated, unchanged and removed', async () => {
    const user = await newUser(use.store);
    const marked = { changed: null, documents: false };
    const nothing = { inserted: 0, updated: 0, unchanged: 0, removed: 0, marked };
    expect(await apply(use.store, user, {})).toEqual(nothing);
    expect(await apply(use.store, user, { put: [fix(1), fix(2), fix(3)] })).toEqual({
      ...nothing,
      inserted: 3,
      marked: { ...marked, changed: { from: 1, to: 3 } },
    });
    expect(await apply(use.store, user, { put: [entry(incident, 7, { ts: 1 })] })).toEqual({
      ...nothing,
      inserted: 1,
      marked: { ...marked, documents: true },
    });
    const remove = [3, 5].map((write_ts) => ({ key: location, write_ts }));
    const counts = await apply(use.store, user, { put: [fix(1), fix(2, { a: 1 }), fix(4)], remove });
    expect(counts).toMatchObject({
      inserted: 1,
      updated: 1,
      unchanged: 1,
      removed: 1,
      marked: { changed: { from: 2, to: 4 } },
    });
    same(await use.store.timeseries.get(user, { key: location, write_ts: 2 }), fix(2, { a: 1 }));
    expect(await use.store.timeseries.get(user, { key: location, write_ts: 3 })).toBeNull();
    expect((await use.store.counts(user)).timeseries).toBe(4);
  });

  it('the same change twice is the same as once', async () => {
    const user = await newUser(use.store);
    const change = { put: [fix(1), entry(battery, 2)], remove: [{ key: location, write_ts: 9 }] };
    await apply(use.store, user, change);
    expect(await apply(use.store, user, change)).toMatchObject({ inserted: 0, updated: 0, unchanged: 2, removed: 0 });
  });

  it('one identity twice in a change keeps the later content', async () => {
    const user = await newUser(use.store);
    expect(await apply(use.store, user, { put: [fix(1, { a: 1 }), fix(1, { a: 2 })] })).toMatchObject({
      inserted: 1,
      updated: 1,
    });
    same(await use.store.timeseries.get(user, { key: location, write_ts: 1 }), fix(1, { a: 2 }));
  });

  it('a change removes first, then puts in its order, however its write times are mixed', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, { put: [fix(1, { a: 1 }), fix(3), fix(5)] });
    const put = [fix(4), fix(3, { a: 1 }), fix(1, { a: 2 }), fix(3, { a: 2 }), fix(0), fix(1, { a: 1 })];
    const remove = [5, 1, 2].map((write_ts) => ({ key: location, write_ts }));
    expect(await apply(use.store, user, { put, remove })).toMatchObject({
      ...{ inserted: 3, updated: 3, unchanged: 0, removed: 2 },
      marked: { changed: { from: 0, to: 5 } },
    });
    const expected = [fix(0), fix(1, { a: 1 }), null, fix(3, { a: 2 }), fix(4), null];
    for (const [write_ts, one] of expected.entries()) {
      const found = await use.store.timeseries.get(user, { key: location, write_ts });
      if (one === null) expect(found).toBeNull();
      else same(found, one);
    }
  });

  it('get is by identity, within the user', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, { put: [fix(1.5)] });
    same(await use.store.timeseries.get(user, { key: location, write_ts: 1.5 }), fix(1.5));
    expect(await use.store.timeseries.get(user, { key: battery, write_ts: 1.5 })).toBeNull();
    expect(await use.store.timeseries.get(user, { key: location, write_ts: 1.25 })).toBeNull();
    expect(await use.store.timeseries.get(newId(), { key: location, write_ts: 1.5 })).toBeNull();
  });

  it('pick gives to its reader, one by one, the entries that find gives', async () => {
    const user = await newUser(use.store);
    const put = [fix(4, { a: 1 }), fix(2.5, { a: 'x' }), fix(3, { a: null }), entry(battery, 3, { ts: 3, a: [1] })];
    await apply(use.store, user, { put });
    const fields = { metadata: ['key', 'write_ts'], data: ['ts', 'a', 'missing'] };
    const read = ({ metadata, data }: Entry) => ({ key: metadata.key, at: metadata.write_ts, a: data.a });
    for (const descending of [false, true]) {
      const query = { time: 'ts', from: 2.5, to: 4, limit: 2, descending } as const;
      const [page, picked] = [
        await use.store.timeseries.find(user, query),
        await use.store.timeseries.pick(user, query, fields, read),
      ];
      expect(picked).toEqual({ picked: page.entries.map(read), next: page.next });
      expect(picked.picked).toHaveLength(2);
      const after = { ...query, after: picked.next! };
      expect((await use.store.timeseries.pick(user, after, fields, read)).next).toBeNull();
    }
    const some = await use.store.timeseries.pick(user, { time: 'ts', limit: 9 }, fields, ({ data }) =>
      typeof data.a === 'number' ? data.a : null,
    );
    expect(some).toEqual({ picked: [1], next: null });
    expect(await use.store.timeseries.pick(newId(), { time: 'ts', limit: 9 }, fields, read)).toEqual({
      ...{ picked: [], next: null },
    });
  });

  it('a page has as many entries as were asked for, also where each lies in a chunk of its own', async () => {
    const user = await newUser(use.store);
    const put = [1, 2e8, 4e8, 6e8, 8e8, 1e9, 1.2e9].map((ts) => fix(ts));
    await apply(use.store, user, { put });
    for (const time of ['write_ts', 'ts'] as const) {
      for (const descending of [false, true]) {
        const sizes: number[] = [];
        for (const limit of [1, 3, 5, 7, 9]) {
          const page = await use.store.timeseries.find(user, { keys: [location], time, limit, descending });
          sizes.push(page.entries.length);
          expect(page.next === null).toBe(limit >= 7);
        }
        expect(sizes).toEqual([1, 3, 5, 7, 7]);
      }
    }
  });

  it('pick within ranges gives only entries at these times, over all pages and in both directions', async () => {
    const user = await newUser(use.store);
    const times = [1, 2, 2.5, 3, 4, 5, 6, 7.5, 8, 20];
    await apply(use.store, user, { put: times.map((ts) => fix(ts)) });
    const fields = { metadata: [], data: ['ts'] };
    const within = [
      { from: 1.5, to: 3 },
      { from: 4, to: 4.5 },
      { from: 6, to: 8 },
      { from: 9, to: 10 },
    ];
    for (const limit of [1, 2, 100]) {
      for (const descending of [false, true]) {
        const picked: unknown[] = [];
        let after: EntryCursor | null = null;
        do {
          const query: PickQuery = {
            time: 'ts',
            from: 2.25,
            to: 21,
            limit,
            descending,
            within,
            ...(after && { after }),
          };
          const page = await use.store.timeseries.pick(user, query, fields, ({ data }) => data.ts);
          expect(page.picked.length).toBeLessThanOrEqual(limit);
          picked.push(...page.picked);
          after = page.next;
        } while (after !== null);
        expect(picked).toEqual(descending ? [7.5, 6, 4, 2.5] : [2.5, 4, 6, 7.5]);
      }
    }
  });

  it('what the reader of pick throws the call throws, and the store goes on', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, { put: [fix(1)] });
    const fields = { metadata: [], data: ['ts'] };
    const failing = use.store.timeseries.pick(user, { time: 'ts', limit: 9 }, fields, () => {
      throw new Error('unreadable');
    });
    await expect(failing).rejects.toThrow('unreadable');
    expect((await use.store.timeseries.pick(user, { time: 'ts', limit: 9 }, fields, () => 1)).picked).toEqual([1]);
  });

  it('new entries that affect trips mark their data times, both ends included', async () => {
    const user = await newUser(use.store);
    expect(await marks(use.store, user)).toEqual(clean);
    await apply(use.store, user, { put: [fix(100), fix(50)] });
    expect(await marks(use.store, user)).toEqual({ changed: { from: 50, to: 100 }, documents_due: false });
    await apply(use.store, user, { put: [fix(70)] });
    expect(await marks(use.store, user)).toEqual({ changed: { from: 70, to: 70 }, documents_due: false });
  });

  it('marks add up until they are taken away', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, { put: [fix(100)] });
    await apply(use.store, user, { put: [fix(300)] });
    await apply(use.store, user, { put: [fix(200)], alsoChanged: { from: 90, to: 95 } });
    expect((await use.store.pipeline.get(user)).changed).toEqual({ from: 90, to: 300 });
  });

  it('a different content marks its old and its new data time', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, { put: [fix(100)] });
    await marks(use.store, user);
    await apply(use.store, user, { put: [entry(location, 100, { ts: 40 })] });
    expect((await marks(use.store, user)).changed).toEqual({ from: 40, to: 100 });
    await apply(use.store, user, { put: [entry(location, 100, { ts: 40, accuracy: 5 })] });
    expect((await marks(use.store, user)).changed).toEqual({ from: 40, to: 40 });
  });

  it('a removed entry marks its data time', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, { put: [entry(location, 7, { ts: 123 }), fix(1)] });
    await marks(use.store, user);
    await apply(use.store, user, { remove: [{ key: location, write_ts: 7 }] });
    expect((await marks(use.store, user)).changed).toEqual({ from: 123, to: 123 });
  });

  it('identical content marks nothing', async () => {
    const user = await newUser(use.store);
    const put = [fix(1), entry(incident, 2, { ts: 2 })];
    await apply(use.store, user, { put });
    await marks(use.store, user);
    await apply(use.store, user, { put });
    await apply(use.store, user, { remove: [{ key: location, write_ts: 99 }] });
    expect(await marks(use.store, user)).toEqual(clean);
  });

  it('entries that affect only documents make documents due: new, different and removed entries', async () => {
    const user = await newUser(use.store);
    for (const change of [
      { put: [entry(incident, 5, { ts: 5, stress: 1 })] },
      { put: [entry(incident, 5, { ts: 5, stress: 2 })] },
      { remove: [{ key: incident, write_ts: 5 }] },
    ]) {
      await apply(use.store, user, change);
      expect(await marks(use.store, user)).toEqual({ changed: null, documents_due: true });
    }
  });

  it('entries that affect nothing, and entries without a data time, mark nothing', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, {
      put: [entry(battery, 5, { ts: 5 }), entry('no/such key', 6, { ts: 6 }), entry(location, 7)],
    });
    expect(await marks(use.store, user)).toEqual(clean);
  });

  it('every key that affects trips marks', async () => {
    for (const key of ['background/filtered_location', 'background/motion_activity', 'statemachine/transition']) {
      const user = await newUser(use.store);
      await apply(use.store, user, { put: [entry(key, 9, { ts: 8.5 })] });
      expect((await marks(use.store, user)).changed).toEqual({ from: 8.5, to: 8.5 });
    }
  });

  it('alsoChanged marks even when nothing else changes', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, { alsoChanged: { from: 10, to: 20 } });
    expect((await marks(use.store, user)).changed).toEqual({ from: 10, to: 20 });
    await apply(use.store, user, { put: [fix(30)], alsoChanged: null });
    expect((await marks(use.store, user)).changed).toEqual({ from: 30, to: 30 });
  });

  it('marks leave the rest of the state alone', async () => {
    const user = await newUser(use.store);
    await mergeState(use.store, user, { complete_until: 77.5, analysis_version: 3 });
    await apply(use.store, user, { put: [fix(1)] });
    expect(await use.store.pipeline.get(user)).toMatchObject({ complete_until: 77.5, analysis_version: 3 });
  });

  it('a large change is one change', async () => {
    const user = await newUser(use.store);
    const put = Array.from({ length: 2_500 }, (_, i) => fix(i));
    expect((await apply(use.store, user, { put })).inserted).toBe(2_500);
    expect((await apply(use.store, user, { put })).unchanged).toBe(2_500);
    expect((await use.store.pipeline.get(user)).changed).toEqual({ from: 0, to: 2_499 });
  });

  it('zonesAround gives the valid zones next to a time', async () => {
    const user = await newUser(use.store);
    const zoned = (key: string, ts: number, time_zone?: unknown) =>
      entry(key, ts, {}, time_zone === undefined ? {} : { time_zone: time_zone as string });
    const berlin = { write_ts: 10, zone: 'Europe/Berlin' };
    const paris = { write_ts: 20, zone: 'Europe/Paris' };
    await apply(use.store, user, {
      put: [
        zoned(battery, 10, 'Europe/Berlin'),
        zoned(location, 15),
        zoned(location, 16, 'Nowhere/Land'),
        zoned(location, 17, 5),
        zoned(location, 20, 'Europe/Madrid'),
        zoned('a/key', 20, 'Europe/Paris'),
        zoned('0/key', 20),
      ],
    });
    const around = (ts: number) => use.store.timeseries.zonesAround(user, ts);
    expect(await around(9.5)).toEqual({ before: null, after: berlin });
    expect(await around(10)).toEqual({ before: berlin, after: paris });
    expect(await around(17)).toEqual({ before: berlin, after: paris });
    expect(await around(20)).toEqual({ before: paris, after: null });
    expect(await around(1e12)).toEqual({ before: paris, after: null });
    await apply(use.store, user, { put: [zoned('a/key', 20)], remove: [{ key: battery, write_ts: 10 }] });
    expect(await around(17)).toEqual({ before: null, after: { write_ts: 20, zone: 'Europe/Madrid' } });
    expect(await use.store.timeseries.zonesAround(newId(), 17)).toEqual({ before: null, after: null });
  });

  it('zonelessSpan gives the data time of entries without a valid zone that affect trips', async () => {
    const user = await newUser(use.store);
    await apply(use.store, user, {
      put: [
        entry(location, 10, { ts: 9 }, { time_zone: 'Europe/Berlin' }),
        entry(location, 11, { ts: 5 }),
        entry('statemachine/transition', 12, { ts: 20 }, { time_zone: 'Nowhere/Land' }),
        entry(battery, 13, { ts: 1_000 }),
        entry(location, 14),
        entry(location, 15, { ts: 500 }),
      ],
    });
    const span = (from: number, to: number) => use.store.timeseries.zonelessSpan(user, { from, to });
    expect(await span(10, 15)).toEqual({ from: 5, to: 20 });
    expect(await span(11, 12)).toEqual({ from: 5, to: 5 });
    expect(await span(10, 11)).toBeNull();
    expect(await span(13, 15)).toBeNull();
    expect(await span(0, 1_000)).toEqual({ from: 5, to: 500 });
    expect(await use.store.timeseries.zonelessSpan(newId(), { from: 0, to: 1_000 })).toBeNull();
  });

  it('a state that was never written is the initial one; merging keeps the other fields', async () => {
    const user = await newUser(use.store);
    const initial = await use.store.pipeline.get(user);
    expect(initial).toMatchObject({
      changed: null,
      documents_due: false,
      complete_until: null,
      analysis_version: null,
    });
    const first = { complete_until: 5.5, locations_from: 'background/location' as const, last_error: 'e\u0000\ud800' };
    await mergeState(use.store, user, first);
    await mergeState(use.store, user, { last_run_ts: 9, documents_due: true });
    same(await use.store.pipeline.get(user), { ...initial, ...first, last_run_ts: 9, documents_due: true });
    await mergeState(use.store, user, { complete_until: null, last_error: null });
    expect(await use.store.pipeline.get(user)).toMatchObject({
      complete_until: null,
      last_error: null,
      last_run_ts: 9,
    });
    expect((await use.store.counts(user)).pipeline).toBe(1);
  });

  it('withWork names the users with waiting entries, changed data time or documents due', async () => {
    const [idle, unknown, waits, changed, due] = [
      await newUser(use.store),
      await newUser(use.store),
      await newUser(use.store),
      await newUser(use.store),
      await newUser(use.store),
    ];
    await mergeState(use.store, idle, { complete_until: 5 });
    await use.store.usercache.put(waits, { entries: [entry(battery, 1)], unusable: [] }, 1);
    await apply(use.store, changed, { put: [fix(1)] });
    await mergeState(use.store, due, { documents_due: true });
    const all = [idle, unknown, waits, changed, due];
    expect(await use.store.pipeline.withWork(all, 4e9)).toEqual(new Set([waits, changed, due]));
    expect(await use.store.pipeline.withWork([idle, due], 4e9)).toEqual(new Set([due]));
    expect(await use.store.pipeline.withWork([], 4e9)).toEqual(new Set());
    await mergeState(use.store, idle, { analysis_version: 'first' });
    expect(await use.store.pipeline.withWork(all, 4e9, 'first')).toEqual(new Set([waits, changed, due]));
    expect(await use.store.pipeline.withWork(all, 4e9, 'second')).toEqual(new Set([idle, waits, changed, due]));
    await mergeState(use.store, changed, clean);
    await mergeState(use.store, due, clean);
    const [row] = await use.store.usercache.read(waits, { limit: 1 });
    await use.store.usercache.settle(
      waits,
      { moved: [{ key: battery, write_ts: 1, revision: row!.revision }], failed: [] },
      1,
    );
    expect(await use.store.pipeline.withWork(all, 4e9)).toEqual(new Set());
  });

  it('a single unusable entry is not work for the pipeline', async () => {
    const user = await newUser(use.store);
    await use.store.usercache.put(user, { entries: [], unusable: [{ entry: 1, reason: 'r', message: 'm' }] }, 1);
    expect(await use.store.pipeline.withWork([user], 4e9)).toEqual(new Set());
  });

  it('changes of many users at once stay apart', async () => {
    const users = await Promise.all(Array.from({ length: 20 }, () => newUser(use.store)));
    await Promise.all(
      users.map((user, i) =>
        leased(use.store, user, (lease) => use.store.timeseries.apply(user, { put: [fix(i)], remove: [] }, lease)),
      ),
    );
    for (const [i, user] of users.entries())
      expect((await use.store.pipeline.get(user)).changed).toEqual({ from: i, to: i });
  });
}
