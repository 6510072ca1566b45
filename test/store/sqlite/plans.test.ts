// The statements of the store: each finds its rows by an index, whatever a user's history, and a call needs few of
// them.
import { afterEach, expect, it, vi } from 'vitest';
import type { TripRecord } from '../../../src/model/trip.ts';
import { connect } from '../../../src/store/sqlite/driver.ts';
import { databaseIn } from '../../../src/store/sqlite/folder.ts';
import type { Store } from '../../../src/store/store.ts';
import { accept, battery, entry, fix, location, never, newPerson, numbers, refuse, same } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';
import { watched } from '../support/watched-driver.ts';

vi.mock('../../../src/store/sqlite/driver.ts', async (original) =>
  (await import('../support/watched-driver.ts')).watchedDriver(await original()),
);

const places = usePlaces();
afterEach(() => watched.reset());

/** Calls every method that has statements of its own. */
async function useAll(store: Store): Promise<void> {
  const user = await newPerson(store);
  const { id } = user;
  await store.users.register(`${id}@example.org`, { now: 2, uuid: id });
  await store.users.byUuid(id);
  await store.users.list({ limit: 10 });
  await store.tokens.add({ hash: 'x', user_id: id, created_ts: 1, expires_ts: null });
  await store.tokens.touch('x', 5);
  await store.tokens.list(id);
  await store.tokens.revoke(id, 'x', { ts: 6, why: 'revoked' });
  await store.profiles.merge(id, { a: 1 });
  const limits = { hour_limit: 9, total_limit: 9, created_ts: 1, config: null };
  const joining = { joining: 'open', open: true } as const;
  await store.studies.put({ name: 'sunny', join_names: ['sunny'], subgroups: [], ...joining, ...limits });
  const token = { hash: 'z', created_ts: 1, expires_ts: null };
  await store.studies.enrol({ study: 'sunny', subgroup: 'default', email: 'z', token, now: 1 });
  await store.studies.removeIdle('sunny', { limit: 1 });
  const zoned = { time_zone: 'Europe/Berlin' };
  await user.put([fix(1), fix(2), entry(battery, 4, {}, zoned), entry(battery, 9e9)]);
  await store.usercache.put(id, { entries: [fix(1)], unusable: [{ entry: 1, reason: 'r', message: 'm' }] }, 1);
  await store.usercache.ahead(id, 5);
  await store.usercache.keys(id);
  await store.usercache.summary(id);
  await user.moveAll((one) => (one.metadata.write_ts === 2 ? refuse()(one) : accept(one)));
  await user.put([fix(1), fix(0.5), entry(battery, 5, {}, zoned)]);
  await user.moveAll();
  await user.put([fix(3)]);
  await store.errors.summary(id);
  await store.errors.list(id, { limit: 10, key: location, reason: 'bad_value', after: '0' });
  const errors = await user.errors();
  await store.errors.put(id, errors);
  await store.errors.takeBack(
    id,
    errors.map((error) => ({ id: error.id, entry: fix(8) })),
  );
  await user.leased(async (lease) => {
    const change = { put: [{ key: 'a', write_ts: 1, data: 1 }], remove: ['a'] };
    for (let i = 0; i < 2; i++) await store.documents.apply(id, change, lease, { state: { documents_due: false } });
    await store.leases.renew(lease, 10);
    const link = { kind: 'trip', chain_ts: 1, start_ts: 1, end_ts: 1, day: '2016-05-17', trip: {} } as never;
    await store.trips.replace(id, { from: 0, to: 10 }, [link], {}, lease);
    await store.trips.replace(id, { from: 0, to: 10 }, [], {}, lease);
  });
  await store.documents.get(id, 'a');
  await store.documents.list(id);
  for (const place of [store.usercache, store.timeseries]) {
    for (const time of ['write_ts', 'ts'] as const) {
      for (const descending of [false, true]) {
        await place.find(id, { time, descending, limit: 10 });
        await place.find(id, { time, descending, limit: 10, from: 1, to: 3, keys: [location] });
      }
    }
  }
  await store.timeseries.get(id, { key: location, write_ts: 1 });
  await store.timeseries.summary(id);
  await store.timeseries.zonesAround(id, 1);
  await store.trips.chain(id, { limit: 10 });
  await store.trips.lastSettledBefore(id, 10);
  await store.trips.byDay(id, { from: '2016-05-17', to: '2016-05-18' });
  await store.trips.days(id, { from: '2016-05-17', to: '2016-05-18' });
  await store.trips.next(id, 0);
  await store.trips.previous(id, 9);
  await store.trips.spans(id, { from: 0, to: 10 });
  await store.trips.outlines(id, [1]);
  await store.trips.summary(id);
  await store.pipeline.withWork([id, (await newPerson(store)).id], never, 'a');
  await store.counts(id);
  await store.erase(id);
  await store.ping();
}

it('no statement looks through a table but that of the few studies, and only what was found by an index is sorted', async () => {
  const { folder, store } = await places.newStore();
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
  expect(plans.filter(({ plan }) => /SCAN (?!json_each|studies)/.test(plan))).toEqual([]);

  const sorts = plans
    .filter(({ plan }) => plan.includes('TEMP B-TREE'))
    .map(({ sql }) => /FROM (\w+).*(ORDER BY .*?)(?: LIMIT|$)/.exec(sql)!.slice(1).join(' ').replaceAll('"', ''));
  expect(sorts.sort()).toEqual([
    'batches ORDER BY id', // what is due
    'chunks ORDER BY first DESC, key', // of some days, in pages
    'documents ORDER BY write_ts, key',
    'tokens ORDER BY created_ts, hash',
    'trips ORDER BY chain_ts', // of some days
    'trips ORDER BY chain_ts', // what is not settled
  ]);
  // Times are found in a range of an index, whatever a user's history.
  const byTime = plans.filter(({ sql }) => /FROM chunks .*"first(_ts)?" (>=|<=|IN)/.test(sql));
  expect(byTime.length).toBeGreaterThan(10);
  for (const { plan } of byTime) expect(plan).toMatch(/user=\? AND first(_ts)?[<>=]/);
});

it('an hour of entries is stored and moved in one commit each, with few statements, whatever came before', async () => {
  const { store, user } = await places.newStore();
  const hour = (n: number) =>
    numbers(0, 60).flatMap((minute) => {
      const ts = 1_700_000_000 + 3_600 * n + 60 * minute;
      return [fix(ts, {}, { time_zone: 'Europe/Berlin' }), entry(battery, ts + 1, { ts })];
    });
  const counts: number[][] = [];
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
      expect([ofPut, ofMove].map((list) => list.filter((sql) => sql === 'COMMIT').length)).toEqual([1, 1]);
      counts.push([ofPut.length, ofMove.length]);
    });
  }
  expect(Math.max(...counts.map(([ofPut]) => ofPut!))).toBeLessThanOrEqual(12);
  expect(Math.max(...counts.map(([, ofMove]) => ofMove!))).toBeLessThanOrEqual(18);
});

it('a chain of decades is replaced at once: no statement has more values than the engine takes', async () => {
  const { store, user } = await places.newStore();
  const place = { start_zone: 'UTC', start_loc: [9, 48], end_loc: [9, 48], sections: [] };
  const link = (chain_ts: number) => {
    const times = { chain_ts, start_ts: chain_ts, end_ts: chain_ts, settled_ts: null };
    return { id: 'x', kind: 'trip', day: '2016-05-17', ...times, trip: place } as unknown as TripRecord;
  };
  const replace = (records: TripRecord[]) =>
    user.leased((lease) => store.trips.replace(user.id, { from: 0, to: 1e9 }, records, {}, lease));
  expect(await replace(numbers(0, 33_000).map(link))).toMatchObject({ added: 33_000 });
  expect(await store.trips.outlines(user.id, numbers(0, 33_001))).toHaveLength(33_000);
  expect(await replace([link(5.5)])).toMatchObject({ added: 1, removed: 33_000 });
  same(await store.trips.chain(user.id, { limit: 9 }), [link(5.5)]);
}, 120_000);
