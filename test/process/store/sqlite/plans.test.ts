// The statements of the store: each finds its rows by an index, for any history of a user, and a call needs
// few of them.
import { afterEach, expect, it, vi } from 'vitest';
import type { TripRecord } from '../../../../src/model/trip.ts';
import { connect } from '../../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../../src/store/sqlite/folder.ts';
import { accept, battery, entry, fix, never, numbers, same, storeWithUser } from '../../../store/contract/kit.ts';
import { useAll } from '../../../store/support/use-all.ts';
import { watched } from '../../../store/support/watched-driver.ts';

vi.mock('../../../../src/store/sqlite/driver.ts', async (original) =>
  (await import('../../../store/support/watched-driver.ts')).watchedDriver(await original()),
);

afterEach(() => watched.reset());

it('no statement scans a table except studies and feeds, and statements sort only rows that an index found', async () => {
  const { folder, store } = await storeWithUser();
  const texts = new Set<string>();
  watched.prepared = (sql) => {
    if (/^(SELECT|INSERT|UPDATE|DELETE)/.test(sql)) texts.add(sql);
  };
  await useAll(store);
  const connection = connect(databaseIn(folder));
  const plans = [...texts].map((sql) => {
    const rows = connection.prepare(`EXPLAIN QUERY PLAN ${sql}`).all<{ detail: string }>();
    return { sql, plan: rows.map((row) => row.detail).join('; ') };
  });
  connection.close();
  expect(plans.length).toBeGreaterThan(80);
  expect(plans.filter(({ plan }) => /SCAN (?!json_each|studies|feeds|feed_parts)/.test(plan))).toEqual([]);

  const sorts = plans
    .filter(({ plan }) => plan.includes('TEMP B-TREE'))
    .map(({ sql }) => /FROM (\w+).*(ORDER BY .*?)(?: LIMIT|$)/.exec(sql)!.slice(1).join(' ').replaceAll('"', ''));
  expect(sorts.sort()).toEqual([
    'documents ORDER BY write_ts, key',
    'tokens ORDER BY created_ts, hash',
    'trips ORDER BY chain_ts', // of some days
    'trips ORDER BY chain_ts', // of some days, starts
    'trips ORDER BY chain_ts', // what is not settled
  ]);
  // Times are found in a range of an index, for any history of a user.
  const byTime = plans.filter(({ sql }) => /FROM chunks .*"first(_ts)?" (>=|<=|IN)/.test(sql));
  expect(byTime.length).toBeGreaterThan(10);
  for (const { plan } of byTime) expect(plan).toMatch(/user=\? AND (key=\? AND )?first(_ts)?[<>=]/);
});

it('an hour of entries is stored and moved in one write transaction each, with few statements, after any history', async () => {
  const { store, user } = await storeWithUser();
  const hour = (n: number) =>
    numbers(0, 60).flatMap((minute) => {
      const ts = 1_700_000_000 + 3_600 * n + 60 * minute;
      return [fix(ts, {}, { time_zone: 'Europe/Berlin' }), entry(battery, ts + 1, { ts })];
    });
  await user.put(hour(-48), 1_800_000_000); // the first put of a user also records when it came
  await user.moveAll();
  for (const n of [0, 24, 48, 72, 73, 74, 2_000, 2_001]) {
    const statements: string[] = [];
    await user.leased(async (lease) => {
      watched.before = (sql) => statements.push(sql);
      await user.put(hour(n), 1_800_000_000);
      const ofPut = statements.splice(0);
      await store.usercache.move(user.id, { at: never, limit: 5_000 }, lease, accept);
      const ofMove = statements.splice(0);
      watched.before = () => {};
      const writes = [ofPut, ofMove].map((list) => list.filter((sql) => sql === 'BEGIN IMMEDIATE').length);
      expect(writes).toEqual([1, 1]);
      expect(ofPut.length).toBeLessThanOrEqual(12);
      expect(ofMove.length).toBeLessThanOrEqual(18);
    });
  }
});

it('a trip chain of decades is written and removed in one call: no statement has more values than SQLite allows', async () => {
  const { store, user } = await storeWithUser();
  const place = { start_zone: 'UTC', start_loc: [9, 48], end_loc: [9, 48], sections: [] };
  const link = (chain_ts: number) => {
    const times = { chain_ts, start_ts: chain_ts, end_ts: chain_ts, settled_ts: null };
    return { id: 'x', kind: 'trip', day: '2016-05-17', ...times, trip: place } as unknown as TripRecord;
  };
  const apply = (put: TripRecord[], remove: number[]) =>
    user.leased((lease) => store.trips.apply(user.id, { put, remove }, {}, lease));
  await apply(numbers(0, 33_000).map(link), []);
  expect(await store.trips.briefs(user.id, { from: 0, to: 33_000 })).toHaveLength(33_000);
  await apply([link(5.5)], numbers(0, 33_000));
  same(await store.trips.chain(user.id, { limit: 9 }), [link(5.5)]);
});
