// Chunks of entries on MongoDB: what they hold whatever comes in whatever order, how documents of earlier layouts
// become chunks, and how damage is reported.
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { type Document, type MongoClient, ObjectId } from 'mongodb';
import { expect, it, vi } from 'vitest';
import type { Entry } from '../../src/model/entry.ts';
import { openMongoStore } from '../../src/store/mongodb/store.ts';
import type { Store } from '../../src/store/store.ts';
import { apply, battery, entry, findAll, fix, leaseOn, location, newUser, put, rejects, same } from './contract/kit.ts';
import { describeOnServers, startedHere, withClient, withStore } from './servers.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

const day = 86_400;

/** The chunks of a user by key and stretch. */
function chunksOf(client: MongoClient, user: string): Promise<Document[]> {
  return client.db().collection('chunks').find({ user_id: user }).sort({ key: 1, from: 1 }).toArray();
}

/** A document of an entry as layouts 1 and 2 kept it. */
function oldRow(user_id: string, { metadata, data }: Entry, received_ts?: number): Document {
  const { key, write_ts, time_zone } = metadata;
  const zone = typeof time_zone === 'string' ? { zoned: true, zone: time_zone } : { zoned: false };
  const revision = new ObjectId();
  const ts = typeof data.ts === 'number' ? { ts: data.ts } : {};
  const row = { user_id, key, write_ts, ...ts, ...zone, hash: 'x', revision, metadata, data };
  return { ...row, ...(received_ts !== undefined && { received_ts }) };
}

/** Puts these documents into the store and notes of its layout what is given. */
async function makeLayout(address: string, rows: readonly Document[], note: Document): Promise<void> {
  await withClient(address, async (client) => {
    await client
      .db()
      .collection('timeseries')
      .insertMany([...rows]);
    const meta = client.db().collection('meta');
    await meta.updateOne({ _id: 'format' as never }, { $set: note });
  });
}

/** Makes the store look as one of layout 2 that holds these documents. */
const makeOld = (address: string, rows: readonly Document[]): Promise<void> =>
  makeLayout(address, rows, { version: 2 });

/** Makes the store look as one that was too large to be converted when it was opened. */
const makeHalfway = (address: string, rows: readonly Document[]): Promise<void> =>
  makeLayout(address, rows, { rows: true });

const berlin = { time_zone: 'Europe/Berlin' };

async function everything(store: Store, user: string): Promise<Entry[]> {
  return findAll(store.timeseries, user, { time: 'write_ts', limit: 700 });
}

describeOnServers('chunks of MongoDB', (server) => {
  it('a run reads from memory what the database holds, whatever it applies in between', async () => {
    const keys = [location, 'background/filtered_location', 'statemachine/transition', 'manual/incident', battery];
    const time = fc.integer({ min: 0, max: 100 }).map((n) => n * 43_200);
    const step = fc.record({
      put: fc.array(fc.record({ key: fc.constantFrom(...keys), ts: time, late: time }), { maxLength: 30 }),
      ask: fc.array(
        fc.record({
          keys: fc.subarray(keys, { minLength: 1 }),
          from: fc.option(time, { nil: undefined }),
          to: fc.option(time, { nil: undefined }),
          limit: fc.constantFrom(3, 100, 1000),
        }),
        { minLength: 1, maxLength: 4 },
      ),
    });
    const runs = fc.array(step, { minLength: 1, maxLength: 3 });
    await withStore(server(), async (store) => {
      await fc.assert(
        fc.asyncProperty(runs, async (steps) => {
          const user = await newUser(store);
          const own = store.forRun!(user).timeseries;
          const lease = await leaseOn(store, user);
          for (const { put: added, ask } of steps) {
            const entries = added.map(({ key, ts, late }) => entry(key, ts + late, { ts }));
            await own.apply(user, { put: entries, remove: [] }, lease);
            for (const query of ask) {
              const asked = { time: 'ts', ...query } as const;
              same(await findAll(own, user, asked), await findAll(store.timeseries, user, asked));
            }
          }
        }),
        { numRuns: 15 },
      );
    });
  });

  it('a run answers the same for a user with more keys than it keeps chunks of', async () => {
    await withStore(server(), async (store) => {
      const user = await newUser(store);
      const lease = await leaseOn(store, user);
      const zone = (n: number) => (n % 3 === 0 ? { time_zone: 'Asia/Kolkata' } : {});
      for (const keys of [10, 60, 80]) {
        const run = store.forRun!(user);
        expect(await run.timeseries.zonesAround(user, 5)).toEqual(await store.timeseries.zonesAround(user, 5));
        const put = Array.from({ length: keys }, (_, n) => entry(`a/${n}`, n, { ts: n }, zone(n)));
        const more = [entry(location, keys, { ts: keys }), entry(location, keys + 1, { ts: 7 }, zone(0))];
        await run.timeseries.apply(user, { put: [...put, ...more], remove: [] }, lease);
        for (const view of [run, store.forRun!(user)]) {
          const answers = ({ timeseries }: Store) => [
            timeseries.zonesAround(user, keys / 2),
            timeseries.zonelessSpan(user, { from: -1, to: 2 * keys }),
            timeseries.get(user, { key: 'a/9', write_ts: 9 }),
            timeseries.get(user, { key: 'a/9', write_ts: 10 }),
            timeseries.ahead(user, { at: 0, limit: 3 }),
            timeseries.find(user, { keys: [location], time: 'ts', limit: 100 }),
          ];
          same(await Promise.all(answers(view)), await Promise.all(answers(store)));
        }
      }
    });
  });

  it('for any entries in any order, chunks share all times of a key among them and contain each identity once', async () => {
    const times = fc.oneof(
      fc.integer({ min: 0, max: 40 }).map((n) => n * 3600),
      fc.integer({ min: 0, max: 400 }).map((n) => n * day),
      fc.constantFrom(-1e9, 0.1, 1e12),
    );
    const one = fc.record({ write_ts: times, ts: times, key: fc.constantFrom(location, battery), size: fc.nat(3) });
    const change = fc.record({
      put: fc.array(one, { maxLength: 30 }),
      remove: fc.array(fc.record({ write_ts: times, key: fc.constantFrom(location, battery) }), { maxLength: 8 }),
    });
    await withStore(server(), (store, opened) =>
      withClient(opened.address, (client) =>
        fc.assert(
          fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
            const user = await newUser(store);
            const expected = new Map<string, Entry>();
            for (const { put: rows, remove } of changes) {
              for (const { key, write_ts } of remove) expected.delete(`${key} ${write_ts}`);
              // Texts of 100,000 characters make a chunk full after two of them.
              const entries = rows.map(({ write_ts, ts, key, size }) =>
                entry(key, write_ts, { ts, text: 'x'.repeat(size === 3 ? 100_000 : size) }),
              );
              for (const own of entries) expected.set(`${own.metadata.key} ${own.metadata.write_ts}`, own);
              await apply(store, user, { put: entries, remove });
            }
            const textOf = (own: Entry): string => JSON.stringify(own);
            for (const time of ['ts', 'write_ts'] as const) {
              for (const descending of [false, true]) {
                const found = await findAll(store.timeseries, user, { time, descending, limit: 7 });
                same(found.map(textOf).sort(), [...expected.values()].map(textOf).sort());
              }
            }
            const chunks = await chunksOf(client, user);
            for (const [i, chunk] of chunks.entries()) {
              const before = chunks[i - 1]?.key === chunk.key ? chunks[i - 1]!.until : Number.NEGATIVE_INFINITY;
              expect(chunk.from).toBe(before);
              if (chunks[i + 1]?.key !== chunk.key) expect(chunk.until).toBe(Number.POSITIVE_INFINITY);
              if (chunk.count === 0) continue;
              expect(chunk.first).toBeGreaterThanOrEqual(chunk.from);
              expect(chunk.last).toBeLessThan(chunk.until);
            }
            for (const key of [location, battery]) {
              const there = [...expected.values()].some(({ metadata }) => metadata.key === key);
              if (!there) expect(chunks.filter((chunk) => chunk.key === key)).toEqual([]);
            }
          }),
          { numRuns: 8 },
        ),
      ),
    );
  });

  it('a store of the second layout is converted when it is opened: entries, receipts, zones and identities stay', async () => {
    await withStore(server(), async (store, opened) => {
      const user = await newUser(store);
      const entries = [fix(1, {}, berlin), fix(2, { odd: { a: -0 } }), entry('manual/survey', 3, { ts: 3 })];
      const late = entry(battery, 1e9, { ts: 5 });
      const rows = entries.map((own) => oldRow(user, own, 77));
      const { data, ...noData } = oldRow(user, entry('a.b', 4, { 'q.1': 'yes' }), 77);
      rows.push({ ...noData, data_json: JSON.stringify(data) }, oldRow(user, late));
      await makeOld(opened.address, rows);
      const again = await opened.reopen();
      expect(await again.counts(user)).toMatchObject({ timeseries: 5 });
      const page = await again.timeseries.find(user, { time: 'write_ts', limit: 10 });
      same(page.entries, [...entries, entry('a.b', 4, { 'q.1': 'yes' }), late]);
      expect(page.received_ts.slice(0, 4)).toEqual([77, 77, 77, 77]);
      expect(page.received_ts[4]).toBeGreaterThan(1.6e9); // when the document was written
      expect(await again.timeseries.zonesAround(user, 5)).toEqual({
        before: { write_ts: 1, zone: 'Europe/Berlin' },
        after: null,
      });
      expect(await put(again, user, [fix(2), fix(9)])).toEqual(['updated', 'inserted']);
      await again.close();
      await withClient(opened.address, async (client) => {
        expect(await client.db().collection('timeseries').countDocuments()).toBe(0);
        const format = await client
          .db()
          .collection('meta')
          .findOne({ _id: 'format' as never });
        expect(format).toMatchObject({ version: 3 });
        expect(format).not.toHaveProperty('rows');
      });
    });
  });

  it('a large store is converted user by user as they are met, once for each; an erasure leaves nothing of either form', async () => {
    await withStore(server(), async (store, opened) => {
      const [met, other, erased] = [await newUser(store), await newUser(store), await newUser(store)];
      const rows = [met, other, erased].flatMap((user) => [fix(1), fix(2)].map((own) => oldRow(user, own)));
      await makeHalfway(opened.address, rows);
      const again = await opened.reopen();
      expect(await again.counts(other)).toMatchObject({ timeseries: 2 });
      expect(await again.timeseries.older(met)).toBe(2);
      expect(await again.timeseries.convert(met)).toBe(2);
      expect(await again.timeseries.older(met)).toBe(0);
      same(await everything(again, met), [fix(1), fix(2)]);
      expect(await apply(again, other, { put: [fix(2, { changed: true }), fix(3)] })).toMatchObject({
        inserted: 1,
        updated: 1,
      });
      expect(await again.erase(erased)).toMatchObject({ timeseries: 2 });
      await again.close();
      await withClient(opened.address, async (client) => {
        expect(await client.db().collection('timeseries').countDocuments()).toBe(0);
        expect(await chunksOf(client, erased)).toEqual([]);
        expect(await chunksOf(client, met)).toHaveLength(1);
      });
    });
  });

  it('a changed byte is reported with the chunk and its cure, and nothing of it is returned or written over', async () => {
    await withStore(server(), async (store, opened) => {
      const user = await newUser(store);
      await apply(store, user, { put: [fix(1), fix(2)] });
      await withClient(opened.address, async (client) => {
        const [chunk] = await chunksOf(client, user);
        const bytes = Buffer.from(chunk!.entries.value());
        bytes[bytes.length - 3]! ^= 4;
        await client
          .db()
          .collection('chunks')
          .updateOne({ _id: chunk!._id }, { $set: { entries: bytes } });
        const reading = store.timeseries.find(user, { time: 'ts', limit: 10 });
        await rejects(reading, 'MOBILITY_STORE_DAMAGED');
        await expect(reading).rejects.toThrow(new RegExp(`chunks, document ${chunk!._id}: .*restore a backup`));
        await rejects(apply(store, user, { put: [fix(3)] }), 'MOBILITY_STORE_DAMAGED');
        expect((await chunksOf(client, user))[0]!.revision).toEqual(chunk!.revision);
      });
    });
  });

  it('an entry that is too large for one document lies in parts, which come and go with it', async () => {
    await withStore(server(), async (store, opened) => {
      const user = await newUser(store);
      const large = entry('manual/survey', 1, { ts: 1, text: randomBytes(13 * 2 ** 20).toString('base64') });
      await withClient(opened.address, async (client) => {
        const count = (): Promise<number> => client.db().collection('parts').countDocuments({ user_id: user });
        await apply(store, user, { put: [large, fix(1)] });
        expect(await count()).toBe(2);
        expect(await store.timeseries.get(user, large.metadata)).toEqual(large);
        await apply(store, user, { put: [entry('manual/survey', 2, { ts: 2 })] });
        same(await everything(store, user), [fix(1), large, entry('manual/survey', 2, { ts: 2 })]);
        await apply(store, user, { remove: [large.metadata] });
        expect(await count()).toBe(0);
      });
    });
  });
});

describeOnServers(
  'conversion of MongoDB, interrupted',
  (server) => {
    it('a server that is killed in the middle of a conversion leaves each entry in one place, and the next call goes on', async () => {
      await withStore(server(), async (store, opened) => {
        const user = await newUser(store);
        const entries = Array.from({ length: 2_200 }, (_, i) => fix(i * 60));
        await makeHalfway(
          opened.address,
          entries.map((own) => oldRow(user, own, 9)),
        );
        // Killed when the second transaction reads: one thing is done, the rest is not. (The first look is that of the
        // opening.)
        let reads = 0;
        const halfway = new Promise<void>((resolve, reject) => {
          const onCommand = ({ find }: Document): void => {
            if (find === 'timeseries' && ++reads === 3) resolve();
          };
          const convert = async (): Promise<void> => {
            const one = await openMongoStore(opened.address, { retrySeconds: 0.5, onCommand });
            await everything(one, user).finally(() => one.close());
          };
          convert().then(
            () => reject(new Error('expected a conversion that was interrupted, found one that ended')),
            reject,
          );
        });
        await halfway;
        await server().control!.kill();
        await server().control!.restart();
        const left = await withClient(opened.address, (client) =>
          client.db().collection('timeseries').countDocuments({ user_id: user }),
        );
        expect(left).toBeGreaterThan(0);
        const again = await openMongoStore(opened.address);
        expect(await again.counts(user)).toMatchObject({ timeseries: entries.length });
        same(await everything(again, user), entries);
        expect(await again.counts(user)).toMatchObject({ timeseries: entries.length });
        await again.close();
      });
    });

    it('many processes that convert one user at once convert each entry once', async () => {
      await withStore(server(), async (store, opened) => {
        const user = await newUser(store);
        const entries = Array.from({ length: 1_200 }, (_, i) => fix(i * 60));
        await makeHalfway(
          opened.address,
          entries.map((own) => oldRow(user, own, 9)),
        );
        const stores = await Promise.all([1, 2, 3].map(() => openMongoStore(opened.address, { retrySeconds: 60 })));
        const found = await Promise.all(stores.map((one) => everything(one, user)));
        for (const list of found) same(list, entries);
        expect(await store.counts(user)).toMatchObject({ timeseries: entries.length });
        for (const one of stores) await one.close();
      });
    });
  },
  { only: startedHere, durable: true },
);
