// Looks after each test whether its server still does transactions, and whether one was left open: a server that stops
// would let every test after that one wait for its time limit.
import { setTimeout as pause } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { afterAll, afterEach, beforeEach } from 'vitest';
import type { Control, TestServer } from './servers.ts';

const probeLimit = 40_000; // ms
const settleLimit = 60_000; // ms

/** Watches a server that the tests started. `mayLeave`: tests kill processes in transactions. */
export function watch(server: () => TestServer | undefined, { mayLeave }: { mayLeave: boolean }): void {
  let client: MongoClient | undefined;
  let stuck: string | null = null;

  beforeEach(() => {
    if (stuck !== null) throw new Error(`not run: the test server did no more transactions after "${stuck}"`);
  });
  afterEach(async ({ task }) => {
    const { control, address } = server() ?? { control: null };
    if (control === null || stuck !== null) return;
    client ??= new MongoClient(address!(), { serverSelectionTimeoutMS: 1_000 });
    const works = await Promise.race([probe(client, control), pause(probeLimit, 'stuck' as const, { ref: false })]);
    if (works === 'stuck') {
      stuck = task.name;
      await control.kill();
      throw new Error('expected a test server that does transactions after this test, found none within 40 s');
    }
    if (works === 'answers' && !mayLeave) await expectNoneOpen(client);
  });
  afterAll(() => client?.close());
}

/** Tries a transaction, unless a test has stopped the server. */
async function probe(client: MongoClient, { isRunning }: Control): Promise<'answers' | 'is not there'> {
  while (isRunning()) {
    try {
      await client.withSession((session) =>
        session.withTransaction(() => client.db().collection('any').findOne({}, { session })),
      );
      return 'answers';
    } catch {
      await pause(100); // it may have been started again just now
    }
  }
  return 'is not there';
}

/** What the store does not wait for, such as the end of a transaction over a lost connection, may take a moment. */
async function expectNoneOpen(client: MongoClient): Promise<void> {
  for (const deadline = Date.now() + settleLimit; ; await pause(20)) {
    const { transactions } = await client.db('admin').command({ serverStatus: 1 });
    if (transactions.currentOpen === 0) return;
    if (Date.now() < deadline) continue;
    await client.db('admin').command({ killAllSessions: [] });
    throw new Error(`expected no open transaction after this test, found ${transactions.currentOpen}`);
  }
}
