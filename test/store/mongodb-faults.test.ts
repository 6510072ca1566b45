// Faults between the store and MongoDB: connections lost, servers that step down, stop or are killed, unknown outcomes,
// full disks. What was acknowledged is there, once; what was not may be sent again.
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import type { Document } from 'mongodb';
import { describe, expect, it, vi } from 'vitest';
import type { TripRecord } from '../../src/model/trip.ts';
import { openMongoStore } from '../../src/store/mongodb/store.ts';
import type { Lease, Store, WaitingEntry } from '../../src/store/store.ts';
import { putDocument } from '../support/store.ts';
import { failedOf, findAll, fix, leaseOn, newUser, put, refOf, rejects, same, waiting } from './contract/kit.ts';
import { describeOnServers, startedHere, type TestServer, withClient, withStore } from './servers.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** How statements fail. With labels as the servers of MongoDB give them. */
const faults: Record<string, Document> = {
  'the connection is lost': { closeConnection: true },
  'the primary stepped down': { errorCode: 10107, errorLabels: ['RetryableWriteError', 'TransientTransactionError'] },
  'the server shuts down': { errorCode: 11600, errorLabels: ['RetryableWriteError', 'TransientTransactionError'] },
  'the server shuts down and says no more': { errorCode: 11600 },
  'it was done and the answer is that it may be lost': {
    writeConcernError: { code: 91, errmsg: 'shutdown in progress', errorLabels: ['RetryableWriteError'] },
  },
};

async function failCommands(server: TestServer, mode: unknown, failCommands: string[], fault: Document): Promise<void> {
  const data = { failCommands, ...fault };
  await withClient(server.address('admin'), (client) =>
    client.db('admin').command({ configureFailPoint: 'failCommand', mode, data }),
  );
}

const healed = (server: TestServer): Promise<unknown> =>
  withClient(server.address('admin'), (client) =>
    client.db('admin').command({ configureFailPoint: 'failCommand', mode: 'off' }),
  );

const link = (chain_ts: number): TripRecord =>
  ({
    id: `${chain_ts}`,
    kind: 'trip',
    chain_ts,
    start_ts: chain_ts,
    end_ts: chain_ts + 1,
    day: '2016-05-17',
    settled_ts: 1,
  }) as never;

/** A change of a user's rows: how it is prepared, done, and seen to be done exactly once. */
interface Change {
  prepare(store: Store, user: string): Promise<void>;
  /** Gives what it answers. */
  act(store: Store, user: string, lease: Lease): Promise<unknown>;
  /** What `act` answers when nothing fails. */
  answer: unknown;
  /** Fails unless `act` took effect once. */
  done(store: Store, user: string): Promise<void>;
}

const entries = [fix(1), fix(2), fix(3)];

const changes: Record<string, Change> = {
  put: {
    prepare: async (store, user) => void (await put(store, user, [fix(1, { old: true })])),
    act: (store, user) =>
      store.usercache.put(user, { entries, unusable: [{ entry: 7, reason: 'r', message: 'm' }] }, 5),
    answer: ['updated', 'inserted', 'inserted'],
    done: async (store, user) => {
      same(
        (await waiting(store, user)).map((row) => row.entry),
        entries,
      );
      expect(await store.counts(user)).toMatchObject({ usercache: 3, errors: 1 });
    },
  },
  settle: {
    prepare: async (store, user) => void (await put(store, user, entries)),
    act: async (store, user) => {
      const rows = await waiting(store, user);
      const fails = (row: WaitingEntry): boolean => row.entry.metadata.write_ts === 3;
      const moved = rows.filter((row) => !fails(row)).map(refOf);
      return store.usercache.settle(user, { moved, failed: rows.filter(fails).map((row) => failedOf(row)) }, 5);
    },
    answer: 3,
    done: async (store, user) => {
      expect(await store.counts(user)).toMatchObject({ usercache: 0, errors: 1 });
      expect(await store.errors.list(user, { limit: 9 })).toMatchObject([{ entry: fix(3), first_ts: 5 }]);
    },
  },
  takeBack: {
    prepare: async (store, user) => {
      await put(store, user, entries);
      const rows = await waiting(store, user);
      await store.usercache.settle(user, { moved: [], failed: rows.map((row) => failedOf(row)) }, 1);
    },
    act: async (store, user) => {
      const errors = await store.errors.list(user, { limit: 9 });
      return store.errors.takeBack(
        user,
        errors.map(({ id, entry }) => ({ id, entry: entry as never })),
      );
    },
    answer: 3,
    done: async (store, user) => {
      expect(await store.counts(user)).toMatchObject({ usercache: 3, errors: 0 });
    },
  },
  apply: {
    prepare: async () => {},
    act: (store, user, lease) => store.timeseries.apply(user, { put: entries, remove: [] }, lease),
    answer: {
      inserted: 3,
      updated: 0,
      unchanged: 0,
      removed: 0,
      marked: { changed: { from: 1, to: 3 }, documents: false },
    },
    done: async (store, user) => {
      same(await findAll(store.timeseries, user, { time: 'ts', limit: 2 }), entries);
      expect(await store.pipeline.get(user)).toMatchObject({ changed: { from: 1, to: 3 } });
    },
  },
  replace: {
    prepare: async () => {},
    act: (store, user, lease) =>
      store.trips.replace(user, { from: 0, to: 9 }, [link(1), link(2)], { changed: null, complete_until: 7 }, lease),
    answer: { added: 2, removed: 0, changed: 0, unchanged: 0 },
    done: async (store, user) => {
      same(await store.trips.chain(user, { limit: 9 }), [link(1), link(2)]);
      expect(await store.pipeline.get(user)).toMatchObject({ changed: null, complete_until: 7 });
    },
  },
};

const statements = ['insert', 'update', 'delete', 'find', 'commitTransaction'];

describeOnServers(
  'MongoDB with faults',
  (server) => {
    describe.each(Object.entries(changes))('%s', (_, { prepare, act, answer, done }) => {
      it.each(Object.entries(faults))('takes effect once when %s, at whichever statement', async (_, fault) => {
        await withStore(server(), async (store) => {
          for (const statement of statements) {
            // Within a transaction only its commit has such an answer.
            if (fault.writeConcernError && statement !== 'commitTransaction') continue;
            for (const times of fault.closeConnection ? [1, 2] : [1]) {
              const user = await newUser(store);
              const lease = await leaseOn(store, user);
              await prepare(store, user);
              await failCommands(server(), { times }, [statement], fault);
              const answered = await act(store, user, lease);
              await healed(server());
              expect(answered, `${statement} ${times}`).toEqual(answer);
              await done(store, user);
            }
          }
        });
      });

      it('is refused as unavailable while it fails, half of nothing is seen, and done again it heals', async () => {
        await withStore(
          server(),
          async (store) => {
            for (const statement of statements) {
              const user = await newUser(store);
              const lease = await leaseOn(store, user);
              await prepare(store, user);
              const before = { counts: await store.counts(user), state: await store.pipeline.get(user) };
              await failCommands(server(), 'alwaysOn', [statement], { errorCode: 11600 });
              const outcome = await act(store, user, lease).then(
                () => 'acknowledged',
                (error) => error.code,
              );
              await healed(server());
              expect(outcome, statement).toMatch(/^acknowledged$|^MOBILITY_STORE_UNAVAILABLE$/);
              const after = { counts: await store.counts(user), state: await store.pipeline.get(user) };
              if (outcome !== 'acknowledged') expect(after, statement).toEqual(before);
              if (outcome !== 'acknowledged') await act(store, user, lease);
              await done(store, user);
            }
          },
          { retrySeconds: 0.5 },
        );
      });
    });

    it('a full disk is reported as such, and nothing is stored in part', async () => {
      await withStore(server(), async (store) => {
        const user = await newUser(store);
        await failCommands(server(), 'alwaysOn', ['insert', 'update'], { errorCode: 14031 });
        await rejects(put(store, user, entries), 'MOBILITY_STORE_FULL');
        await rejects(putDocument(store, user, { key: 'a/b', write_ts: 1, data: 1 }), 'MOBILITY_STORE_FULL');
        await rejects(store.ping(), 'MOBILITY_STORE_FULL');
        await healed(server());
        expect(await store.counts(user)).toMatchObject({ usercache: 0, documents: 0 });
        await store.ping();
      });
    });

    it('a server that is silent is waited for no longer than the time limit and one statement', async () => {
      await withStore(
        server(),
        async (store) => {
          const user = await newUser(store);
          await failCommands(server(), 'alwaysOn', ['insert'], {
            blockConnection: true,
            blockTimeMS: 500,
            errorCode: 91,
          });
          const begin = Date.now();
          await rejects(put(store, user, entries), 'MOBILITY_STORE_UNAVAILABLE');
          expect(Date.now() - begin).toBeLessThan(15_000);
          await healed(server());
        },
        { retrySeconds: 1 },
      );
    });

    it('a server that is killed under writers loses nothing acknowledged and keeps nothing twice', async () => {
      const control = server().control!;
      await withStore(server(), async (store) => {
        const users = await Promise.all(Array.from({ length: 4 }, () => newUser(store)));
        const acknowledged = new Map<string, Set<number>>(users.map((user) => [user, new Set()]));
        let stop = false;
        const writing = users.map(async (user, w) => {
          for (let round = 0; !stop; round += 1) {
            const batch = Array.from({ length: 5 }, (_, i) => fix(w * 1e6 + round * 5 + i));
            try {
              await put(store, user, batch);
              for (const one of batch) acknowledged.get(user)!.add(one.metadata.write_ts);
            } catch (error) {
              expect(error).toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
            }
          }
        });
        for (let round = 0; round < 4; round += 1) {
          await new Promise((resolve) => setTimeout(resolve, 300 + 100 * round));
          await control.kill();
          await control.restart();
        }
        stop = true;
        await Promise.all(writing);
        for (const user of users) {
          const found = (await waiting(store, user)).map((row) => row.entry.metadata.write_ts);
          expect(new Set(found).size).toBe(found.length);
          const there = new Set(found);
          expect([...acknowledged.get(user)!].filter((ts) => !there.has(ts))).toEqual([]);
          expect(there.size).toBeGreaterThan(0);
        }
      });
    });

    it('connections cut at random through 50 rounds of puts with retries: nothing lost, nothing twice', async () => {
      await withProxy(server(), async (address, cut) => {
        const store = await openMongoStore(address, { retrySeconds: 3 });
        const user = await newUser(store);
        const sent = [];
        for (let round = 0; round < 50; round += 1) {
          const batch = Array.from({ length: 4 }, (_, i) => fix(round * 4 + i));
          sent.push(...batch);
          cut(round % 5 === 4 ? null : 1 + ((round * 37) % 23));
          for (let acknowledged = false; !acknowledged; ) {
            acknowledged = await put(store, user, batch).then(
              () => true,
              (error) => {
                expect(error).toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
                return false;
              },
            );
          }
        }
        cut(null);
        same(
          (await waiting(store, user)).map((row) => row.entry),
          sent,
        );
        await store.close();
      });
    });
  },
  { only: startedHere, durable: true },
);

/** A proxy before the server. `cut` ends all connections that are open or come after so many ms; null: none. */
async function withProxy(
  server: TestServer,
  work: (address: string, cut: (afterMs: number | null) => void) => Promise<void>,
): Promise<void> {
  const target = Number(/:(\d+)/.exec(server.address('x'))![1]);
  const open = new Set<Socket>();
  let timer: NodeJS.Timeout | undefined;
  const proxy: Server = createServer((client) => {
    const upstream = createConnection(target, '127.0.0.1');
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const cut = (afterMs: number | null): void => {
    clearTimeout(timer);
    if (afterMs === null) return;
    timer = setTimeout(() => {
      for (const socket of open) socket.destroy();
    }, afterMs);
  };
  const database = /\/([^/?]+)(\?|$)/.exec(server.newAddress())![1];
  const { port } = proxy.address() as { port: number };
  try {
    await work(`mongodb://127.0.0.1:${port}/${database}?directConnection=true`, cut);
  } finally {
    cut(null);
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => proxy.close(resolve));
  }
}
