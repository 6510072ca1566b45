// Pipeline workers in separate processes on one MongoDB, killed repeatedly: all users are processed, with the diary
// of an undisturbed run on the embedded store.
import { expect, it } from 'vitest';
import { silentLog } from '../../../src/log/log.ts';
import { runAll } from '../../../src/pipeline/run-all.ts';
import type { Random } from '../../../src/simulate/random.ts';
import type { Store } from '../../../src/store/store.ts';
import { describeOnServers, newDatabase } from '../../store/servers.ts';
import { buildProgram } from '../../support/build.ts';
import { tempFolder } from '../../support/clean-up.ts';
import { newStore, openStoreIn } from '../../support/store.ts';
import { everythingOf, pause, pushesOf, times, withSeed } from '../kit.ts';
import { type Exit, type Running, run, start } from '../program.ts';

const people = times('MOBILITY_TEST_PEOPLE', 12);
const processes = 3;

/** Registers people, and puts a thinned-out day of each: whole days would take long. */
async function fill(store: Store): Promise<string[]> {
  const uuids = Array.from({ length: people }, (_, i) => `${i.toString(16).repeat(8)}-0000-4000-8000-000000000000`);
  for (const [i, uuid] of uuids.entries()) {
    await store.users.register(`person ${i}`, { uuid, now: 1 });
    const [day] = pushesOf(`person ${i}`, i % 2 === 0 ? 'android' : 'ios', 1);
    await store.usercache.put(uuid, { entries: day!.filter((_, at) => at % 8 === 0), unusable: [] }, 1);
  }
  return uuids;
}

const diariesOf = (store: Store, uuids: readonly string[]): Promise<string[]> =>
  Promise.all(uuids.map((uuid) => everythingOf(store, uuid)));

/** Keeps workers running, and kills one of them every few seconds, until no user has new entries. */
async function workAndKill(store: Store, uuids: readonly string[], random: Random, env: Record<string, string>) {
  const { seconds: starting } = await run(['config']);
  const ended: Exit[] = [];
  const workers: (Running | undefined)[] = [];
  let done = false;
  const keep = async (i: number): Promise<void> => {
    while (!done) {
      workers[i] = await start(['pipeline', '--all', '--json'], { env });
      ended.push(await workers[i].exit);
    }
  };
  const kept = Array.from({ length: processes }, (_, i) => keep(i));
  try {
    for (let left = uuids.length; left > 0; left = (await store.pipeline.withWork(uuids, Infinity)).size) {
      // On a busy machine a worker that has just begun should do something before it is killed.
      await pause(1 + 0.5 * starting);
      await workers[Math.floor(random.next() * processes)]?.kill();
    }
    done = true;
    await Promise.all(kept);
  } finally {
    done = true;
    await Promise.all(workers.map((worker) => worker?.kill()));
  }
  return ended;
}

describeOnServers(
  'three workers, one of them killed every few seconds',
  (server) => {
    it('process every user and give the diary of an undisturbed run', () =>
      withSeed(async (random) => {
        const address = newDatabase(server());
        const folder = tempFolder();
        await buildProgram();
        const store = await openStoreIn(address);
        const uuids = await fill(store);
        const env = { MOBILITY_STORE: address, MOBILITY_LEASE_SECONDS: '2', MOBILITY_LOG_DIR: folder };
        const ended = await workAndKill(store, uuids, random, env);
        expect(ended.filter(({ signal, code }) => signal === null && code !== 0)).toEqual([]);
        expect(ended.filter(({ signal }) => signal === 'SIGKILL').length).toBeGreaterThan(0);
        const alone = await newStore();
        await fill(alone);
        expect(await runAll(alone, { log: silentLog, now: () => 4_000_000_000 })).toMatchObject({ failed: 0 });
        expect(await diariesOf(store, uuids)).toEqual(await diariesOf(alone, uuids));
      }));
  },
  { mayLeave: true },
);
