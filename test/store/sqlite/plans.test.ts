// How the engine finds what the store asks for: by an index, whatever a user's history.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Connection } from '../../../src/store/sqlite/driver.ts';
import { openFolder } from '../../../src/store/sqlite/folder.ts';
import { storeOf } from '../../../src/store/sqlite/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { battery, entry, fix, leased, location, newUser, put, refOf, waiting } from '../contract/kit.ts';
import { usePlaces } from '../support/folders.ts';

const places = usePlaces();

/** Remembers the statements that a connection prepares. */
function listen(connection: Connection): Set<string> {
  const texts = new Set<string>();
  const prepare = connection.prepare;
  connection.prepare = (sql) => {
    if (/^\s*(SELECT|INSERT|UPDATE|DELETE)/.test(sql)) texts.add(sql);
    return prepare(sql);
  };
  return texts;
}

/** Calls every method that has statements of its own. */
async function useAll(store: Store): Promise<void> {
  const { user } = await store.users.register('somebody', { now: 1 });
  const id = user.uuid;
  await store.users.register('somebody', { now: 2, uuid: id });
  await store.users.byUuid(id);
  await store.users.list({ limit: 10 });
  await store.tokens.add({ hash: 'x', user_id: id, created_ts: 1, expires_ts: null });
  await store.tokens.byHash('x');
  await store.tokens.list(id);
  await store.profiles.merge(id, { a: 1 });
  await put(store, id, [fix(1), fix(2), fix(3), entry(battery, 4)]);
  await put(store, id, [fix(1)]);
  const rows = await waiting(store, id);
  const [failing, ...moved] = rows;
  const failed = [{ ...refOf(failing!), reason: 'r', message: 'm' }];
  await store.usercache.settle(id, { moved: moved.slice(0, 1).map(refOf), failed }, 1);
  await put(store, id, [fix(1), fix(0.5)]);
  await store.usercache.summary(id);
  await store.errors.summary(id);
  const errors = await store.errors.list(id, { limit: 10, key: location, reason: 'r' });
  await store.errors.takeBack(
    id,
    errors.map((error) => ({ id: error.id, entry: error.entry as never })),
  );
  await store.documents.get(id, 'a');
  await store.documents.list(id);
  await store.documents.keys(id);
  await leased(store, id, async (lease) => {
    for (const write_ts of [1, 2]) {
      const change = { put: [{ key: 'a', write_ts, data: 1 }], remove: ['b'] };
      await store.documents.apply(id, change, lease, { state: { documents_due: false } });
    }
    await store.timeseries.apply(id, { put: [fix(1), fix(2)], remove: [{ key: location, write_ts: 9 }] }, lease);
    await store.timeseries.apply(id, { put: [fix(1, { a: 1 })], remove: [] }, lease);
    await store.leases.renew(lease, 10);
    const link = { kind: 'trip', chain_ts: 1, start_ts: 1, end_ts: 1, day: '2016-05-17' } as never;
    await store.trips.replace(id, { from: 0, to: 10 }, [link], {}, lease);
    await store.trips.replace(id, { from: 0, to: 10 }, [], {}, lease);
  });
  await put(store, id, [fix(1), fix(0.5)]);
  for (const place of [store.usercache, store.timeseries]) {
    for (const time of ['write_ts', 'ts'] as const) {
      for (const descending of [false, true]) await place.find(id, { time, descending, limit: 10 });
    }
  }
  await store.timeseries.get(id, { key: location, write_ts: 1 });
  await store.timeseries.summary(id);
  await store.timeseries.zonesAround(id, 1);
  await store.timeseries.zonelessSpan(id, { from: 0, to: 10 });
  await store.trips.chain(id, { limit: 10 });
  await store.trips.lastSettledBefore(id, 10);
  await store.trips.byDay(id, { from: '2016-05-17', to: '2016-05-18' });
  await store.trips.next(id, 0);
  await store.trips.previous(id, 9);
  await store.trips.spans(id, { from: 0, to: 10 });
  await store.trips.outlines(id, [1]);
  await store.trips.summary(id);
  await store.pipeline.withWork([id, await newUser(store)], 4e9, 'a');
  await store.counts(id);
  await store.erase(id);
  await store.ping();
}

function planOf(connection: Connection, sql: string): string[] {
  return connection
    .prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .all<{ detail: string }>()
    .map((row) => row.detail);
}

it('no statement scans a table, and only statements with few rows sort', async () => {
  const opened = await openFolder(join(await places.folder(), 'store'), {});
  const files = opened.flatMap((shard) => [shard.usercache, shard.timeseries]);
  const texts = files.map((file) => listen(file.connection));
  const store = storeOf('x', opened, null, () => 1);
  places.later(() => store.close());
  await useAll(store);
  const plans = files.flatMap((file, i) => [...texts[i]!].map((sql) => ({ sql, plan: planOf(file.connection, sql) })));
  expect(plans.length).toBeGreaterThan(60);

  const scans = plans.filter(({ plan }) => plan.some((detail) => /^SCAN(?! asked)/.test(detail)));
  // An erasure looks through the names of all keys of a file: hundreds.
  expect(new Set(scans.map(({ sql }) => sql))).toEqual(new Set(['SELECT id, name FROM keys']));
  const sorts = plans
    .filter(({ plan }) => plan.some((detail) => detail.includes('TEMP B-TREE')))
    .map(({ sql }) => /FROM (\w+).*?(GROUP BY \w+|ORDER BY \w+ DESC|ORDER BY \w+)/s.exec(sql)!.slice(1).join(' '));
  expect(sorts.sort()).toEqual([
    'errors GROUP BY key',
    'trips ORDER BY chain_ts', // the trips of some days
  ]);
});

it('entries of one key are found in one range of one index', async () => {
  const opened = await openFolder(join(await places.folder(), 'store'), {});
  const files = opened.flatMap((shard) => [shard.usercache, shard.timeseries]);
  const texts = files.map((file) => listen(file.connection));
  const store = storeOf('x', opened, null, () => 1);
  places.later(() => store.close());
  await useAll(store);
  const finds = files.flatMap((file, i) =>
    [...texts[i]!].filter((sql) => / AS (time|low), /.test(sql)).map((sql) => planOf(file.connection, sql).join('; ')),
  );
  expect([...new Set(finds)].sort()).toEqual([
    'SEARCH chunks USING INDEX chunks_ts (user=? AND key=? AND first_ts>? AND first_ts<?)',
    'SEARCH chunks USING INDEX chunks_written (user=? AND key=? AND first>? AND first<?)',
  ]);
});

it('a put finds what waits beside its entries by their times, whatever else waits', async () => {
  const opened = await openFolder(join(await places.folder(), 'store'), {});
  const files = opened.map((shard) => shard.usercache);
  const texts = files.map((file) => listen(file.connection));
  const store = storeOf('x', opened, null, () => 1);
  places.later(() => store.close());
  await useAll(store);
  const besides = [...texts[0]!].filter((sql) => /FROM batches.* first <= /.test(sql));
  expect(besides.map((sql) => planOf(files[0]!.connection, sql))).toEqual([
    ['SEARCH batches USING INDEX batches_user (user=? AND last>?)'],
  ]);
});
