// The embedded store and MongoDB, driven with the same random sequences of operations: every answer must be the same.
import { deepStrictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, it, vi } from 'vitest';
import { isMobilityError } from '../../src/model/errors.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import type { Store } from '../../src/store/store.ts';
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
 * their lease was taken last.
 */
function asRuns(store: Store): Store {
  const views = new Map<string, Store>();
  const viewOf = (userId: string): Store => {
    if (!views.has(userId)) views.set(userId, store.forRun!(userId));
    return views.get(userId)!;
  };
  type Call = (userId: string, ...rest: unknown[]) => unknown;
  const part = <Name extends 'timeseries' | 'trips' | 'documents'>(name: Name): Store[Name] => {
    const method = (called: string): Call => {
      return (userId, ...rest) => (viewOf(userId)[name] as unknown as Record<string, Call>)[called]!(userId, ...rest);
    };
    return Object.fromEntries(Object.keys(store[name]).map((called) => [called, method(called)])) as never;
  };
  return {
    ...store,
    timeseries: part('timeseries'),
    trips: part('trips'),
    documents: part('documents'),
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
      runs(thorough ? 6 : 4),
    );
  });
});
