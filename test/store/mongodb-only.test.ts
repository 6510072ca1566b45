// What only MongoDB has: its layout, the statements that are sent, parts of large payloads, the history of leases.
import type { Document, MongoClient } from 'mongodb';
import { expect, it, vi } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import type { TripRecord } from '../../src/model/trip.ts';
import { formatVersion, indexes } from '../../src/store/mongodb/indexes.ts';
import { initMongoStore, openMongoStore } from '../../src/store/mongodb/store.ts';
import type { Lease, Store } from '../../src/store/store.ts';
import { putDocument, removeDocument } from '../support/store.ts';
import {
  apply,
  entry,
  fix,
  leased,
  leaseOn,
  newId,
  newUser,
  put,
  putFailed,
  rejects,
  waiting,
} from './contract/kit.ts';
import { describeOnServers, withClient, withStore } from './servers.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const everything = { from: -Infinity, to: Infinity };

function link(chain_ts: number): TripRecord {
  const times = { chain_ts, start_ts: chain_ts, end_ts: chain_ts + 5, settled_ts: chain_ts + 6 };
  return { id: `${chain_ts}`, kind: 'trip', day: '2016-05-17', trip: null, ...times } as unknown as TripRecord;
}

/** Calls every method that reads or writes rows of a user. */
async function workOut(store: Store): Promise<void> {
  const { user } = await store.users.register(`${newId()}@example.org`, { now: 1 });
  const id = user.uuid;
  await store.tokens.add({ hash: newId(), user_id: id, created_ts: 1, expires_ts: null });
  await store.tokens.list(id);
  await store.profiles.merge(id, { a: 1 });
  await store.profiles.merge(id, { b: 1 });
  await store.profiles.get(id);
  await putFailed(store, id, [fix(1), fix(2)]);
  await store.usercache.put(id, { entries: [fix(2), fix(3)], unusable: [{ entry: 1, reason: 'r', message: 'm' }] }, 1);
  const [row] = await store.usercache.read(id, { limit: 10, after: { key: 'a', write_ts: 1 } });
  await store.usercache.settle(id, { moved: [{ ...row!.entry.metadata, revision: row!.revision }], failed: [] }, 1);
  await store.usercache.find(id, { time: 'ts', limit: 10 });
  await store.usercache.summary(id);
  const [error] = await store.errors.list(id, {
    key: 'background/location',
    reason: 'bad_value',
    after: '0',
    limit: 10,
  });
  await store.errors.summary(id);
  await store.errors.takeBack(id, [{ id: error!.id, entry: error!.entry as unknown as Entry }]);
  for (const write_ts of [1, 2]) await putDocument(store, id, { key: 'diary/trips-2016-05-17', write_ts, data: {} });
  await store.documents.get(id, 'diary/trips-2016-05-17');
  await store.documents.list(id);
  await store.documents.keys(id);
  await removeDocument(store, id, 'diary/trips-2016-05-17');
  await apply(store, id, { put: [fix(1), fix(2, {}, { time_zone: 'Europe/Berlin' }), entry('a/b', 3, { ts: 5 })] });
  await apply(store, id, { put: [fix(1, { changed: true })], remove: [{ key: 'a/b', write_ts: 3 }] });
  for (const time of ['ts', 'write_ts'] as const) {
    const { next } = await store.timeseries.find(id, { time, limit: 1 });
    await store.timeseries.find(id, { time, limit: 1, after: next!, keys: ['background/location'] });
    await store.timeseries.find(id, { time, from: 0, to: 9, limit: 5, descending: true });
    await store.timeseries.find(id, { time, limit: 5, keys: Array.from({ length: 50 }, (_, i) => `a/${i}`) });
  }
  await store.timeseries.get(id, { key: 'background/location', write_ts: 1 });
  await store.timeseries.summary(id);
  await store.timeseries.zonesAround(id, 2);
  await store.timeseries.zonelessSpan(id, { from: 0, to: 10 });
  await leased(store, id, (lease) => store.trips.replace(id, everything, [link(1), link(2)], {}, lease));
  await leased(store, id, (lease) => store.trips.replace(id, everything, [link(2)], {}, lease));
  await store.trips.chain(id, { from: 0, to: 5, limit: 3 });
  await store.trips.lastSettledBefore(id, 9);
  await store.trips.byDay(id, { from: '2016-05-01', to: '2016-05-20' });
  await store.trips.next(id, 1);
  await store.trips.summary(id);
  const lease = await leaseOn(store, id);
  await store.pipeline.merge(id, { documents_due: true }, await store.leases.renew(lease, 60));
  await store.pipeline.withWork([id], 4e9);
  await store.leases.release(lease);
  await store.leases.get(id);
  await put(store, id, [fix(5), fix(6), entry('a/b', 7)]);
  await leased(store, id, (held) => workAsRun(store.forRun!(id), id, held));
  await store.counts(id);
  await store.erase(id);
}

/** Does what a run of the pipeline does. */
async function workAsRun(run: Store, id: string, lease: Lease): Promise<void> {
  const rows = await run.usercache.read(id, { limit: 10 });
  await run.timeseries.apply(id, { put: rows.map((row) => row.entry), remove: [] }, lease);
  const moved = rows.map((row) => ({ ...row.entry.metadata, revision: row.revision }));
  await run.usercache.settle(id, { moved, failed: [] }, 1);
  await run.timeseries.find(id, { keys: ['background/location'], time: 'ts', from: 0, limit: 500 });
  await run.trips.lastSettledBefore(id, 9);
  await run.trips.replace(id, everything, [link(2), link(3)], { changed: null }, lease);
  await run.documents.keys(id);
  await run.documents.apply(id, { put: [], remove: [] }, lease, { state: { documents_due: false } });
  expect(await run.usercache.summary(id)).toMatchObject({ count: 0 });
}

interface Statement {
  collection: string;
  filter: Document;
  sort?: Document;
  hint?: string;
}

/** The filters that a command finds rows by. */
function statementsOf(command: Document): Statement[] {
  const { find, aggregate, distinct, findAndModify, update, delete: deletion } = command;
  if (find) return [{ collection: find, filter: command.filter, sort: command.sort, hint: command.hint }];
  if (aggregate) return [{ collection: aggregate, filter: command.pipeline[0].$match }];
  if (distinct) return [{ collection: distinct, filter: command.query }];
  if (findAndModify) return [{ collection: findAndModify, filter: command.query }];
  if (update) return command.updates.map(({ q }: Document) => ({ collection: update, filter: q }));
  if (deletion) return command.deletes.map(({ q }: Document) => ({ collection: deletion, filter: q }));
  return [];
}

/**
 * True when all fields of the filter are in one index. With one more MongoDB still follows the index, as the user is in
 * front; the test server does not.
 */
function isCovered(collection: string, filter: Document): boolean {
  const fields = Object.keys(filter);
  return indexes[collection]!.some(({ key }) => fields.every((field) => field in key));
}

async function indexNamesIn(client: MongoClient): Promise<Record<string, string[]>> {
  const names: Record<string, string[]> = {};
  for (const collection of Object.keys(indexes)) {
    const found = await client.db().collection(collection).indexes();
    names[collection] = found.map(({ name }) => name!).filter((name) => name !== '_id_');
  }
  return names;
}

describeOnServers('MongoDB only', (server) => {
  it('init makes every index and may be repeated; opening makes them where the database is empty', async () => {
    for (const make of [initMongoStore, async (address: string) => (await openMongoStore(address)).close()]) {
      const address = server().newAddress();
      await make(address);
      const layout = await initMongoStore(address);
      expect(layout).toMatchObject({ version: formatVersion, warnings: [] });
      await withClient(address, async (client) => {
        const found = await indexNamesIn(client);
        for (const [collection, names] of Object.entries(layout.indexes)) {
          expect([...names].sort()).toEqual(found[collection]!.sort());
        }
        await client.db().dropDatabase();
      });
    }
  });

  it('stores opened at once on an empty database all open', async () => {
    const address = server().newAddress();
    const stores = await Promise.all(Array.from({ length: 4 }, () => openMongoStore(address)));
    const user = await newUser(stores[0]!);
    await Promise.all(stores.map((store, i) => put(store, user, [fix(i)])));
    expect(await waiting(stores[0]!, user)).toHaveLength(4);
    for (const store of stores) await store.close();
    await withClient(address, (client) => client.db().dropDatabase());
  });

  it('a database without a store can be refused, and is left empty', async () => {
    const address = server().newAddress();
    await rejects(openMongoStore(address, { make: false }), 'MOBILITY_STORE_ADDRESS');
    await withClient(address, async (client) => {
      expect(await client.db().listCollections().toArray()).toEqual([]);
      await initMongoStore(address);
      await (await openMongoStore(address, { make: false })).close();
      await client.db().dropDatabase();
    });
  });

  it('a store of a newer version is refused', async () => {
    const address = server().newAddress();
    await initMongoStore(address);
    await withClient(address, async (client) => {
      const meta = client.db().collection('meta');
      await meta.updateOne({ _id: 'format' as never }, { $inc: { version: 1 } });
      await rejects(openMongoStore(address), 'MOBILITY_STORE_VERSION');
      await rejects(initMongoStore(address), 'MOBILITY_STORE_VERSION');
      await client.db().dropDatabase();
    });
  });

  it('a database with users of another program is refused and not changed', async () => {
    const address = server().newAddress();
    await withClient(address, async (client) => {
      await client.db().collection('users').insertOne({ somebody: 'else' });
      await rejects(openMongoStore(address), 'MOBILITY_STORE_VERSION');
      expect((await client.db().listCollections().toArray()).map(({ name }) => name)).toEqual(['users']);
      await client.db().dropDatabase();
    });
  });

  it('every statement names its user and follows an index that begins with the user', async () => {
    const commands: Document[] = [];
    const onCommand = (command: Document): void => {
      if (!command.createIndexes) commands.push(command);
    };
    await withStore(
      server(),
      async (store, opened) => {
        commands.length = 0;
        await workOut(store);
        const statements = commands.flatMap(statementsOf).filter(({ collection }) => collection !== 'meta');
        expect(statements.length).toBeGreaterThan(100);
        expect(commands.filter((command) => command.createIndexes)).toEqual([]);
        const shown = new Set<string>();
        await withClient(opened.address, async (client) => {
          for (const { collection, filter, sort, hint } of statements) {
            if (collection === 'use') expect(typeof filter._id).toBe('string'); // the user
            if (collection === 'users' || collection === 'use' || (collection === 'tokens' && filter._id !== undefined))
              continue;
            expect(typeof filter.user_id, JSON.stringify({ collection, filter })).toBe('string');
            const shape = JSON.stringify([collection, Object.keys(filter), sort, hint]);
            if (shown.has(shape) || !isCovered(collection, filter)) continue;
            shown.add(shape);
            const cursor = client
              .db()
              .collection(collection)
              .find(filter, hint === undefined ? {} : { hint });
            const plan = JSON.stringify((await (sort ? cursor.sort(sort) : cursor).explain()).queryPlanner.winningPlan);
            expect(plan, shape).toContain('IXSCAN');
            expect(plan, shape).not.toContain('COLLSCAN');
          }
        });
        expect(shown.size).toBeGreaterThan(20);
      },
      { onCommand },
    );
  });

  it('related writes are one transaction, acknowledged by a majority', async () => {
    const commands: Document[] = [];
    await withStore(server(), async (store) => workOut(store), {
      onCommand: (command: Document) => void commands.push(command),
    });
    expect(commands.filter((command) => command.commitTransaction).length).toBeGreaterThan(10);
    const writes = commands.filter((command) => command.insert || command.update || command.delete);
    for (const command of writes) {
      if (command.autocommit === false) expect(command.writeConcern).toBeUndefined();
      else expect(command.writeConcern).toMatchObject({ w: 'majority', j: true });
    }
    for (const { writeConcern } of commands.filter((command) => command.commitTransaction)) {
      expect(writeConcern).toMatchObject({ w: 'majority', j: true });
    }
  });

  it('an address cannot weaken the options that the promises depend on', async () => {
    const commands: Document[] = [];
    const address = server().newAddress();
    const weak = `${address}${address.includes('?') ? '&' : '?'}w=0&readPreference=secondaryPreferred&retryWrites=false`;
    const store = await openMongoStore(weak, { onCommand: (command) => void commands.push(command) });
    await workOut(store);
    await store.close();
    for (const command of commands.filter(
      ({ insert, update, autocommit }) => (insert || update) && autocommit !== false,
    )) {
      expect(command.writeConcern).toMatchObject({ w: 'majority', j: true });
    }
    for (const { $readPreference } of commands.filter(({ find }) => find)) {
      expect($readPreference?.mode ?? 'primary').not.toMatch(/^secondary/);
    }
    await withClient(address, (client) => client.db().dropDatabase());
  });

  it('waiting entries are documents that other tools can query; content that BSON cannot hold is stored as text', async () => {
    await withStore(server(), async (store, opened) => {
      const user = await newUser(store);
      const survey = entry('manual/survey', 2, { answers: { 'q.1': 'yes' } });
      await put(store, user, [fix(1, { speed: 1.5 }), survey]);
      await withClient(opened.address, async (client) => {
        const rows = client.db().collection('usercache');
        const found = await rows.findOne({ user_id: user, 'metadata.key': 'background/location', 'data.speed': 1.5 });
        expect(found).toMatchObject({ key: 'background/location', write_ts: 1, ts: 1, data: { latitude: 48.5 } });
        const row = await client.db().collection('usercache').findOne({ user_id: user, key: 'manual/survey' });
        expect(row).toMatchObject({ metadata: { key: 'manual/survey' } });
        expect(row).not.toHaveProperty('data');
        expect(JSON.parse(row!.data_json)).toEqual(survey.data);
      });
    });
  });

  it('many keys in one batch: only the named entries are replaced, moved and removed', async () => {
    await withStore(server(), async (store) => {
      const user = await newUser(store);
      const all = Array.from({ length: 40 }, (_, k) => [1, 2, 3].map((ts) => entry(`key/${k}`, ts, { ts }))).flat();
      const diagonal = all.filter((_, i) => i % 4 === 0);
      const others = all.filter((_, i) => i % 4 !== 0);
      const textOf = ({ metadata }: Entry): string => `${metadata.key} ${metadata.write_ts}`;
      expect(new Set(await put(store, user, diagonal))).toEqual(new Set(['inserted']));
      const results = await put(store, user, all);
      expect(results).toEqual(all.map((_, i) => (i % 4 === 0 ? 'updated' : 'inserted')));
      const rows = (await waiting(store, user)).filter(({ entry }) =>
        diagonal.some((one) => textOf(one) === textOf(entry)),
      );
      const moved = rows.map(({ entry, revision }) => ({ ...entry.metadata, revision }));
      expect(await store.usercache.settle(user, { moved, failed: [] }, 1)).toBe(diagonal.length);
      const left = (await waiting(store, user)).map(({ entry }) => textOf(entry));
      expect(left.sort()).toEqual(others.map(textOf).sort());
      await apply(store, user, { put: all });
      const remove = diagonal.map(({ metadata: { key, write_ts } }) => ({ key, write_ts }));
      expect(await apply(store, user, { remove })).toMatchObject({ removed: diagonal.length });
      const { entries } = await store.timeseries.find(user, { time: 'ts', limit: 1000 });
      expect(entries.map(textOf).sort()).toEqual(others.map(textOf).sort());
    });
  });

  it('parts of large payloads come and go with their rows', async () => {
    await withStore(server(), async (store, opened) => {
      const user = await newUser(store);
      const large = (n: number): Entry => entry('manual/survey', 1, { n, text: 'x'.repeat(8_000_000) });
      await withClient(opened.address, async (client) => {
        const parts = client.db().collection('parts');
        const count = (): Promise<number> => parts.countDocuments({ user_id: user });
        await put(store, user, [large(1)]);
        const one = await count();
        expect(one).toBeGreaterThan(0);
        await put(store, user, [large(2)]);
        expect(await count()).toBe(one);
        const [row] = await waiting(store, user);
        expect(row!.entry).toEqual(large(2));

        await apply(store, user, { put: [large(2)] });
        expect(await count()).toBe(one); // compressed, it fits a chunk
        await store.usercache.settle(
          user,
          { moved: [{ ...row!.entry.metadata, revision: row!.revision }], failed: [] },
          1,
        );
        expect(await count()).toBe(0);
        await put(store, user, [large(3)]);
        await store.erase(user);
        expect(await count()).toBe(0);
      });
    });
  });

  it('a row with missing parts is reported as damage', async () => {
    await withStore(server(), async (store, opened) => {
      const user = await newUser(store);
      await put(store, user, [entry('manual/survey', 1, { text: 'x'.repeat(8_000_000) })]);
      await withClient(opened.address, (client) => client.db().collection('parts').deleteOne({ user_id: user }));
      await rejects(store.usercache.read(user, { limit: 1 }), 'MOBILITY_STORE_DAMAGED');
    });
  });

  it('a lease that ends later than it can, taken under a clock that was ahead, is over', async () => {
    await withStore(server(), async (store, opened) => {
      const user = await newUser(store);
      const dead = await leaseOn(store, user, 'dead');
      const year = 366 * 86_400_000;
      await withClient(opened.address, (client) =>
        client
          .db()
          .collection('leases')
          .updateOne({ user_id: user }, { $inc: { expires_ms: year } }),
      );
      expect(await store.leases.get(user)).toBeNull();
      expect((await leaseOn(store, user, 'next')).fence).toBeGreaterThan(dead.fence);
    });
  });

  it('a store of the first layout admits whoever is registered when it is opened', async () => {
    await withStore(server(), async (store, opened) => {
      const user = await newUser(store);
      await withClient(opened.address, async (client) => {
        await client.db().dropCollection('members');
        await client
          .db()
          .collection('meta')
          .updateOne({ _id: 'format' as never }, { $set: { version: 1 } });
      });
      await rejects(put(store, user, [fix(1)]), 'MOBILITY_USER_UNKNOWN');
      const again = await opened.reopen();
      expect(await put(again, user, [fix(1)])).toEqual(['inserted']);
      await again.close();
    });
  });

  it('ended leases are kept with the user: owner, start and end', async () => {
    await withStore(server(), async (store, opened) => {
      const user = await newUser(store);
      const first = await leaseOn(store, user, '$first');
      await store.leases.release(first);
      const short = await store.leases.acquire(user, 'short', 0.05);
      await new Promise((resolve) => setTimeout(resolve, 200));
      const third = await leaseOn(store, user, 'third');
      for (let i = 0; i < 30; i++) await leaseOn(store, user, 'third');
      await withClient(opened.address, async (client) => {
        const row = await client.db().collection('leases').findOne({ user_id: user });
        expect(row!.owner).toBe('third');
        expect(row!.history).toHaveLength(20);
      });
      const [other, lease] = [await newUser(store), 'lease' in short ? short.lease : null];
      await store.leases.release(await leaseOn(store, other, 'a'));
      await store.leases.release(await leaseOn(store, other, 'b'));
      await leaseOn(store, other, 'c');
      await withClient(opened.address, async (client) => {
        const { history } = (await client.db().collection('leases').findOne({ user_id: other }))!;
        expect(history.map((past: Document) => past.owner)).toEqual(['a', 'b']);
        for (const past of history) expect(past.released_ms).toBeGreaterThanOrEqual(past.taken_ms);
        expect(history[1].taken_ms).toBeGreaterThanOrEqual(history[0].released_ms);
      });
      expect(third.fence).toBeGreaterThan(lease!.fence);
    });
  });

  it('fences go on growing after the user was erased', async () => {
    await withStore(server(), async (store) => {
      const user = await newUser(store);
      const before = await leaseOn(store, user);
      await store.erase(user);
      await rejects(store.leases.renew(before, 60), 'MOBILITY_LEASE_LOST');
      await store.users.admit(user);
      expect((await leaseOn(store, user)).fence).toBeGreaterThan(before.fence);
    });
  });
});
