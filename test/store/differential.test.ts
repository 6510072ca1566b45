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
import type { Opened } from './contract.ts';
import { anySequence, newSide, type Operation, type Side } from './differential/operations.ts';
import { describeOnServers, openOn } from './servers.ts';

const thorough = process.env.MOBILITY_REQUIRE_SERVERS === '1';
const numRuns = Number(process.env.MOBILITY_DIFFERENTIAL_RUNS ?? (thorough ? 100 : 25));

/** To come back to a failure: `SEED` and `PATH` as it printed them, `SHRINK=1` to look for a shorter sequence. */
function chosen(): fc.Parameters<[Operation[]]> {
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
    const property = fc.asyncProperty(anySequence, (operations) => compare(embedded, opened.store, operations));
    await fc.assert(property, { numRuns, ...chosen() });
  });
});
