// Connections between the program and MongoDB cut at random: nothing acknowledged is lost, nothing is there twice,
// nobody is stuck.
import { expect, it } from 'vitest';
import { type Entry, identityText } from '../../src/model/entry.ts';
import type { Random } from '../../src/simulate/random.ts';
import type { MongoOptions } from '../../src/store/mongodb/connect.ts';
import { openMongoEngine } from '../../src/store/mongodb/engine.ts';
import { openStore } from '../../src/store/open.ts';
import { storeOver } from '../../src/store/rules/store.ts';
import type { Store } from '../../src/store/store.ts';
import { allEntries, inFolder, pause, times, withSeed } from '../faults/kit.ts';
import { type RunningServer, run, startServer } from '../faults/program.ts';
import { describeOnServers, startedHere } from '../store/servers.ts';
import { leaseOn, newUser } from '../support/store.ts';
import { type CuttingProxy, startProxy } from './proxy.ts';

const rounds = times('MOBILITY_TEST_ROUNDS', 24);
const batchSize = 40;
const name = 'ada@example.org';
const mostTries = 20;

async function openMongoStore(address: string, options: MongoOptions): Promise<Store> {
  return storeOver(await openMongoEngine(address, options));
}

/** A push of the phone: new locations, some of the round before again, and what goes with every push. */
function batchOf(round: number): Entry[] {
  const metadata = { platform: 'android', time_zone: 'Europe/Berlin', type: 'sensor-data' };
  const first = Math.max(0, round * batchSize - 5);
  const locations = Array.from({ length: (round + 1) * batchSize - first }, (_, i): Entry => {
    const ts = 1_710_000_000 + (first + i) * 5;
    return {
      metadata: { ...metadata, key: 'background/location', write_ts: ts },
      data: { ts, latitude: 48.52, longitude: 9.05, accuracy: 12, i: first + i },
    };
  });
  const consent = { metadata: { ...metadata, key: 'config/consent', write_ts: 1_709_999_999 }, data: { round } };
  return [...locations, consent];
}

/** Cuts now and then, before or after a piece has passed. */
function randomCuts(random: Random): () => 'pass' | 'cut' | 'pass and cut' {
  return () => {
    if (!random.chance(0.04)) return 'pass';
    return random.chance(0.5) ? 'cut' : 'pass and cut';
  };
}

interface Tally {
  inserted: number;
  refused: number;
}

/** The phone sends the batch until it is acknowledged. */
async function putUntilAcknowledged(server: RunningServer, batch: readonly Entry[], tally: Tally): Promise<void> {
  for (let tries = 1; tries <= mostTries; tries++) {
    const { status, text } = await server.post('/usercache/put', { user: name, phone_to_server: batch });
    const answer = JSON.parse(text);
    if (status === 200) {
      expect(answer.inserted + answer.updated).toBe(batch.length);
      expect(answer.rejected).toBe(0);
      tally.inserted += answer.inserted;
      return;
    }
    expect([500, 503], text).toContain(status);
    tally.refused += 1;
  }
  throw new Error(`a batch was refused ${mostTries} times`);
}

/** What the store holds of the user, waiting or moved: identities and what tells one content from another. */
async function contentOf(store: Store, userId: string): Promise<Map<string, unknown>> {
  const { entries } = await store.usercache.find(userId, { time: 'write_ts', limit: 100_000 });
  const found = new Map<string, unknown>();
  for (const { metadata, data } of [...(await allEntries(store, userId)), ...entries]) {
    found.set(identityText(metadata), data.i ?? data.round);
  }
  return found;
}

function expected(): Map<string, unknown> {
  const all = Array.from({ length: rounds }, (_, round) => batchOf(round)).flat();
  return new Map(all.map(({ metadata, data }) => [identityText(metadata), data.i ?? data.round]));
}

async function putThroughCuts(
  server: RunningServer,
  proxy: CuttingProxy,
  address: string,
  env: Record<string, string>,
  random: Random,
): Promise<Tally> {
  const tally: Tally = { inserted: 0, refused: 0 };
  for (let round = 0; round < rounds; round++) {
    proxy.decide(randomCuts(random));
    // Now and then the pipeline works while the phone pushes, over connections that are cut as well.
    const pipeline = round % 10 === 5 ? run(['pipeline', '--user', name, '--store', address], { env }) : null;
    // A phone that gives up waiting sends the batch again while the first is still on its way.
    const sendings = random.chance(0.2) ? 2 : 1;
    await Promise.all(Array.from({ length: sendings }, () => putUntilAcknowledged(server, batchOf(round), tally)));
    const end = await pipeline;
    if (end !== null && end.code !== 0)
      expect(end.stderr).toMatch(/^mobility: .*(expected an answer from|works on this user)/m);
  }
  proxy.decide(null);
  return tally;
}

describeOnServers(
  'connections to MongoDB that are cut at random',
  (server, mode) => {
    it(
      'puts with retries: acknowledged entries are stored once, with their last content',
      { timeout: 120_000 + rounds * 4_000 },
      () =>
        withSeed((random) =>
          inFolder(async (folder) => {
            const address = server().newAddress();
            const store = await openStore(address);
            const proxy = await startProxy(address);
            try {
              const { user } = await store.users.register(name, { now: 1 });
              const env = { MOBILITY_LOG_DIR: folder, MOBILITY_LEASE_SECONDS: '2' };
              const serving = await startServer(proxy.through(address), { env });
              const tally = await putThroughCuts(serving, proxy, proxy.through(address), env, random);
              const end = await serving.stop();
              expect(end, end.stderr).toMatchObject({ code: 0 });
              console.log(`${mode}: ${proxy.cuts} connections cut in ${rounds} rounds, ${tally.refused} puts refused`);
              expect(proxy.cuts).toBeGreaterThan(rounds / 5);

              expect(await contentOf(store, user.uuid)).toEqual(expected());
              // An entry is new once; where the answer was lost, the next one says that it was known.
              expect(tally.inserted).toBeLessThanOrEqual(expected().size);
              await pause(2);
              const moved = await run(['pipeline', '--user', name, '--store', address], { env });
              expect(moved, moved.stderr).toMatchObject({ code: 0 });
              expect(await contentOf(store, user.uuid)).toEqual(expected());
              const counts = await store.counts(user.uuid);
              expect(counts).toMatchObject({ usercache: 0, errors: 0, timeseries: expected().size });
            } finally {
              await proxy.close();
              await store.close();
            }
          }),
        ),
    );
  },
  { only: startedHere, mayLeave: true }, // a proxy stands before one host
);

describeOnServers(
  'a process that vanishes in the middle of a transaction',
  (server) => {
    it('keeps its user no longer than its lease', { timeout: 120_000 }, async () => {
      const address = server().newAddress();
      const store = await openStore(address);
      const proxy = await startProxy(address);
      try {
        let hung = 0;
        for (let pieces = 1; pieces <= 12; pieces++) {
          const user = await newUser(store);
          const vanishing = await openMongoStore(proxy.through(address), { retrySeconds: 5 });
          const lease = await leaseOn(vanishing, user, 'vanishing', 0.5);
          const change = (data: number) => ({ put: [{ key: 'any', write_ts: 1, data }], remove: [] });
          let left = pieces;
          proxy.decide((direction) => (direction === 'to server' && left-- <= 0 ? 'silence' : 'pass'));
          const applied = vanishing.documents.apply(user, change(1), lease);
          const outcome = await Promise.race([
            applied.then(
              () => 'done',
              () => 'failed',
            ),
            pause(0.7).then(() => 'hangs'),
          ]);
          if (outcome === 'hangs') hung += 1;
          while ((await store.leases.get(user)) !== null) await pause(0.1);

          const began = performance.now();
          await store.documents.apply(user, change(2), await leaseOn(store, user, 'another'));
          expect((performance.now() - began) / 1000).toBeLessThan(5);
          expect((await store.documents.list(user)).map(({ data }) => data)).toEqual([2]);
          proxy.decide(null);
          proxy.cutAll();
          await applied.catch(() => {});
          await vanishing.close();
        }
        expect(hung).toBeGreaterThan(2);
      } finally {
        await proxy.close();
        await store.close();
      }
    });
  },
  { only: startedHere, mayLeave: true },
);

describeOnServers(
  'commits whose answers are lost all at once',
  (server) => {
    it('take effect once, and report what they did', { timeout: 120_000 }, async () => {
      const address = server().newAddress();
      const store = await openStore(address);
      const proxy = await startProxy(address);
      const through = await openMongoStore(proxy.through(address), { retrySeconds: 60 });
      const change = { put: [{ key: 'any', write_ts: 1, data: {} }], remove: [] };
      try {
        for (let rounds = 0; rounds < 3; rounds++) {
          const leases = await Promise.all(
            Array.from({ length: 8 }, async () => leaseOn(store, await newUser(store), 'a run', 300)),
          );
          let commits = 0;
          proxy.decide((direction, piece) => {
            const isCommit = direction === 'to server' && piece.includes('commitTransaction');
            if (isCommit && ++commits <= 12 && commits % 3 === 0) setTimeout(() => proxy.cutAll(), 2);
            return 'pass';
          });
          const applied = await Promise.all(
            leases.map((lease) => through.documents.apply(lease.user_id, change, lease, { release: true })),
          );
          expect(applied).toEqual(leases.map(() => ({ results: ['inserted'], removed: 0 })));
        }
      } finally {
        await through.close();
        await proxy.close();
        await store.close();
      }
    });
  },
  { only: startedHere, mayLeave: true },
);

describeOnServers(
  'a server that is gone',
  (server) => {
    it('holds up no process that ends', { timeout: 60_000 }, async () => {
      const address = server().newAddress();
      const store = await openStore(address);
      const proxy = await startProxy(address);
      try {
        const leaving = await openMongoStore(proxy.through(address), { retrySeconds: 3 });
        const user = await newUser(store);
        const lease = await leaseOn(store, user);
        let gone = false;
        proxy.decide((_, piece) => {
          gone ||= piece.includes('commitTransaction');
          return gone ? 'cut' : 'pass';
        });
        const applied = leaving.documents.apply(user, { put: [], remove: [] }, lease);
        await expect(applied).rejects.toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
        const began = performance.now();
        await leaving.close();
        expect((performance.now() - began) / 1000).toBeLessThan(6);
      } finally {
        await proxy.close();
        await store.close();
      }
    });
  },
  { only: startedHere, mayLeave: true },
);
