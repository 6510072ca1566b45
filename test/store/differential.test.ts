// The embedded store and MongoDB, driven with the same random sequences of operations: every answer must be the same.
import { deepStrictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, it, vi } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import { isMobilityError } from '../../src/model/errors.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
import { dyingAt, interposedStore } from '../faults/interposed-store.ts';
import { releaseLease } from '../faults/kit.ts';
import { derived, pipeline, put } from '../support/diary.ts';
import { type Delivery, deliveriesOf, life, runs } from '../support/lives.ts';
import { newUser } from '../support/store.ts';
import type { Opened } from './contract.ts';
import { anySequence, newSide, type Operation, type Side } from './differential/operations.ts';
import { describeOnServers, openOn } from './servers.ts';

const thorough = process.env.MOBILITY_REQUIRE_SERVERS === '1';
const numRuns = Number(process.env.MOBILITY_DIFFERENTIAL_RUNS ?? (thorough ? 100 : 25));

/** To come back to a failure: `SEED` and `PATH` as it printed them, `SHRINK=1` to look for a shorter sequence. */
function chosen(): fc.Parameters<[Operation[], boolean]> {
  const { MOBILITY_DIFFERENTIAL_SEED: seed, MOBILITY_DIFFERENTIAL_PATH: path } = process.env;
  return {
    endOnFailure: process.env.MOBILITY_DIFFERENTIAL_SHRINK !== '1',
    ...(seed === undefined ? {} : { seed: Number(seed) }),
    ...(path === undefined ? {} : { path }),
  };
}

vi.setConfig({ testTimeout: 3_600_000, hookTimeout: 120_000 });

async function answer(side: Side, operation: Operation): Promise<unknown> {
  try {
    return await operation.run(side);
  } catch (error) {
    if (isMobilityError(error)) return { refused: error.code };
    if (error instanceof TypeError) return { refused: 'TypeError' };
    throw error;
  }
}

/**
 * The same store, where what a run of the pipeline uses is answered by the view of a run: one for each user, from when
 * their lease was taken last. What a view lets wait is done before anything else happens.
 */
function asRuns(store: Store): Store {
  const views = new Map<string, Store>();
  const viewOf = (userId: string): Store => {
    if (!views.has(userId)) views.set(userId, store.forRun!(userId));
    return views.get(userId)!;
  };
  type Call = (userId: string, ...rest: unknown[]) => unknown;
  type Methods = Record<string, Call>;
  const part = <Name extends 'timeseries' | 'trips' | 'documents' | 'pipeline'>(name: Name) => {
    const method = (called: string): Call => {
      return async (userId, ...rest) => {
        const result = await (viewOf(userId)[name] as unknown as Methods)[called]!(userId, ...rest);
        await viewOf(userId).pipeline.get(userId);
        return result;
      };
    };
    return Object.fromEntries(
      Object.keys(store[name]).map((called) => [called, method(called)]),
    ) as never as Store[Name];
  };
  return {
    ...store,
    timeseries: part('timeseries'),
    trips: part('trips'),
    documents: part('documents'),
    pipeline: { ...part('pipeline'), withWork: store.pipeline.withWork },
    leases: {
      ...store.leases,
      acquire: (userId, ...rest) => {
        views.delete(userId);
        return store.leases.acquire(userId, ...rest);
      },
    },
    erase: (userId) => {
      views.delete(userId);
      return store.erase(userId);
    },
  };
}

/** Does the sequence on both stores and compares each answer. */
async function compare(one: Store, other: Store, operations: readonly Operation[]): Promise<void> {
  const users = [randomUUID(), randomUUID()].sort();
  const sides = [newSide(one, users), newSide(other, users)] as const;
  for (const side of sides) {
    for (const userId of users) {
      await side.store.users.admit(userId);
      const result = await side.store.leases.acquire(userId, 'a', 600);
      if ('lease' in result) side.leases.push(result.lease);
    }
  }
  for (const [i, operation] of operations.entries()) {
    const expected = await answer(sides[0], operation);
    const found = await answer(sides[1], operation);
    deepStrictEqual({ operation: i, found }, { operation: i, found: expected });
  }
}

describeOnServers('embedded store and MongoDB', (server) => {
  let folder: string;
  let embedded: Store;
  let opened: Opened;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mobility-differential-'));
    embedded = await openSqliteStore({ folder });
    opened = await openOn(server());
  });
  afterAll(async () => {
    await embedded?.close();
    await opened?.dispose();
    await rm(folder, { recursive: true, force: true });
  });

  it(`give the same answers in ${numRuns} random sequences of operations`, async () => {
    const property = fc.asyncProperty(anySequence, fc.boolean(), (operations, inRuns) =>
      compare(embedded, inRuns ? asRuns(opened.store) : opened.store, operations),
    );
    await fc.assert(property, { numRuns, ...chosen() });
  });

  it('derive the same bytes from invented lives, however these are delivered', async () => {
    const deliveries = life.chain((entries) => deliveriesOf(entries));
    const after = async (store: Store, uuid: string, { pushes }: Delivery): Promise<string[]> => {
      const found: string[] = [];
      await newUser(store, uuid);
      for (const { entries, run, stretchSize } of [...pushes, { entries: [], run: true, stretchSize: 5000 }]) {
        await put(store, uuid, entries);
        if (!run) continue;
        await pipeline(store, uuid, { stretchSize });
        found.push(JSON.stringify(await derived(store, uuid)));
      }
      return found;
    };
    await fc.assert(
      fc.asyncProperty(deliveries, fc.uuid({ version: 4 }), async (delivery, uuid) => {
        const expected = await after(embedded, uuid, delivery);
        deepStrictEqual(await after(opened.store, uuid, delivery), expected);
        await Promise.all([embedded.erase(uuid), opened.store.erase(uuid)]);
      }),
      runs(thorough ? 4 : 3),
    );
  });

  it('derive the same bytes when runs die anywhere and phones push into them', async () => {
    const disturbed = fc.record({ pushAt: fc.nat(30), diesAt: fc.option(fc.nat(8)) });
    const lives = life.chain((entries) =>
      fc.tuple(fc.constant(entries), deliveriesOf(entries), fc.array(disturbed, { minLength: 4, maxLength: 4 })),
    );
    await fc.assert(
      fc.asyncProperty(lives, fc.uuid({ version: 4 }), async ([entries, { pushes }, disturbances], uuid) => {
        for (const store of [embedded, opened.store]) await newUser(store, uuid);
        await put(embedded, uuid, entries);
        await pipeline(embedded, uuid);
        const left = pushes.map((one) => one.entries);
        for (const { pushAt, diesAt } of disturbances) {
          await put(opened.store, uuid, left.shift() ?? []);
          let calls = 0;
          const dying = dyingAt(diesAt ?? Number.POSITIVE_INFINITY);
          const store = interposedStore(opened.store, async (call) => {
            dying(call);
            calls += 1;
            if (calls === pushAt) await put(opened.store, uuid, left.shift() ?? []);
          });
          await pipeline(store, uuid).catch(() => 'it died');
          await releaseLease(opened.store, uuid);
        }
        for (const some of left) await put(opened.store, uuid, some);
        await pipeline(opened.store, uuid);
        deepStrictEqual(await opened.store.usercache.keys(uuid), []);
        const [found, expected] = [await derived(opened.store, uuid), await derived(embedded, uuid)];
        deepStrictEqual(JSON.stringify(found), JSON.stringify(expected));
        await embedded.erase(uuid);
        // An erasure in the middle of another run leaves nothing, whatever the run has read before.
        const [first] = disturbances;
        await opened.store.erase(uuid);
        await newUser(opened.store, uuid);
        await put(opened.store, uuid, entries);
        let calls = 0;
        const erasedMeanwhile = interposedStore(opened.store, async () => {
          calls += 1;
          if (calls === first!.pushAt) await opened.store.erase(uuid);
        });
        await runPipeline(erasedMeanwhile, uuid, { log: silentLog, now: () => 4e9 });
        if (calls < first!.pushAt || first!.pushAt === 0) await opened.store.erase(uuid);
        const counts = await opened.store.counts(uuid);
        deepStrictEqual(
          Object.values(counts).filter((count) => count > 0),
          [],
        );
      }),
      runs(thorough ? 4 : 2),
    );
  });
});
