// Pipeline workers in separate processes on one MongoDB, killed again and again: everybody is done, with the diary of an
// undisturbed run on the embedded store.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import type { Entry } from '../../src/model/entry.ts';
import { idOf } from '../../src/model/ids.ts';
import { runAll } from '../../src/pipeline/run-all.ts';
import type { Random } from '../../src/simulate/random.ts';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { everythingOf, inFolder, pause, pushesOf, times, withSeed, withStore } from '../faults/kit.ts';
import { type Exit, type Running, run, start } from '../faults/program.ts';
import { describeOnServers, withDatabaseOn } from '../store/servers.ts';
import { buildProgram } from '../support/build.ts';

const people = times('MOBILITY_TEST_PEOPLE', 16);
const processes = 3;
const leaseSeconds = 2;
const mostSeconds = 300 + people * 8; // on a machine that others share

/** A UUID that follows from the number of the user, spread over the register. */
function uuidOf(i: number): string {
  const hex = idOf('worker test', i).padEnd(32, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4000-8000-${hex.slice(12, 24)}`;
}

/** A whole day, thinned out: the days of many users should not take all day. */
function dayOf(i: number): Entry[] {
  const [day] = pushesOf(`person ${i}`, i % 2 === 0 ? 'android' : 'ios', 1);
  return day!.filter((_, at) => at % 8 === 0);
}

async function fill(store: Store, count: number): Promise<string[]> {
  const uuids = Array.from({ length: count }, (_, i) => uuidOf(i));
  for (const [i, uuid] of uuids.entries()) {
    await store.users.register(`person ${i}`, { uuid, now: 1 });
    await store.usercache.put(uuid, { entries: dayOf(i), unusable: [] }, 1);
  }
  return uuids;
}

async function diariesOf(store: Store, uuids: readonly string[]): Promise<Map<string, string>> {
  const diaries = new Map<string, string>();
  for (const uuid of uuids) diaries.set(uuid, await everythingOf(store, uuid));
  return diaries;
}

let alone: Promise<Map<string, string>> | undefined;

/** What one undisturbed run on the embedded store comes to: everybody's diary, found once for all servers. */
function undisturbed(): Promise<Map<string, string>> {
  alone ??= inFolder((folder) =>
    withStore(folder, async (store) => {
      const uuids = await fill(store, people);
      expect(await runAll(store, { log: silentLog, now: () => 4_000_000_000 })).toMatchObject({ failed: 0 });
      return diariesOf(store, uuids);
    }),
  );
  return alone;
}

/**
 * Keeps workers running, and kills one of them every few seconds, until nobody has anything new. Returns how they
 * ended.
 */
async function workAndKill(
  address: string,
  store: Store,
  uuids: readonly string[],
  random: Random,
  logs: string,
): Promise<Exit[]> {
  const { seconds: starting } = await run(['config']);
  const env = { MOBILITY_STORE: address, MOBILITY_LEASE_SECONDS: String(leaseSeconds), MOBILITY_LOG_DIR: logs };
  const ended: Exit[] = [];
  const workers: (Running | null)[] = Array.from({ length: processes }, () => null);
  let done = false;
  const keep = async (i: number): Promise<void> => {
    while (!done) {
      const worker = await start(['pipeline', '--all', '--json'], { env });
      workers[i] = worker;
      ended.push(await worker.exit);
    }
  };
  const kept = workers.map((_, i) => keep(i));
  try {
    const deadline = performance.now() + mostSeconds * 1000;
    for (let left = [...uuids]; left.length > 0; left = [...(await store.pipeline.withWork(left, Infinity))]) {
      expect(performance.now(), `${left.length} users are not done after ${mostSeconds} s`).toBeLessThan(deadline);
      // On a busy machine a worker that has just begun should come to do something too.
      await pause(random.between(1, 3) * (1 + 0.5 * starting));
      await random.pick(workers)?.kill();
    }
    done = true;
    await Promise.all(kept);
  } finally {
    done = true;
    await Promise.all(workers.map((worker) => worker?.kill()));
  }
  return ended;
}

/** Fails if a worker that was not killed failed, or if none was killed. */
function expectOthersWell(ended: readonly Exit[]): void {
  const others = ended.filter(({ signal, code }) => signal === null && code !== 0);
  expect(others, JSON.stringify(others)).toEqual([]);
  const killed = ended.filter(({ signal }) => signal === 'SIGKILL').length;
  expect(killed).toBeGreaterThan(0);
  console.log(`${people} users, ${killed} of ${ended.length} workers killed`);
}

describeOnServers(
  'three workers, one of them killed every few seconds',
  (server) => {
    it('process every user, and give the diary of an undisturbed run', { timeout: (mostSeconds + 300) * 1000 }, () =>
      withSeed((random) =>
        withDatabaseOn(server(), (address) =>
          inFolder(async (folder) => {
            await buildProgram();
            const store = await openStore(address);
            try {
              const uuids = await fill(store, people);
              const ended = await workAndKill(address, store, uuids, random, join(folder, 'logs'));
              expectOthersWell(ended);
              const expected = await undisturbed();
              expect(await diariesOf(store, uuids)).toEqual(new Map(uuids.map((uuid) => [uuid, expected.get(uuid)])));
            } finally {
              await store.close();
            }
          }),
        ),
      ),
    );
  },
  { mayLeave: true },
);
