// Two servers on one MongoDB: what a caller sends to both counts towards one limit, and nothing of it stays after an
// erasure.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../../src/store/open.ts';
import type { Store } from '../../src/store/store.ts';
import { inFolder } from '../faults/kit.ts';
import { type RunningServer, run, startServer } from '../faults/program.ts';
import { androidLocation } from '../server/kit.ts';
import { describeOnServers, openOn, withClient, withDatabaseOn } from '../store/servers.ts';

const limit = 40; // calls a day, in the first test
const mebibyte = 1024 * 1024;

interface Two {
  address: string;
  servers: [RunningServer, RunningServer];
  store: Store;
  logs: string;
}

describeOnServers('limits of callers over several servers', (server) => {
  const withTwo = (env: Record<string, string>, work: (two: Two) => Promise<void>): Promise<void> =>
    withDatabaseOn(server(), (address) =>
      inFolder(async (folder) => {
        const store = await openStore(address);
        for (const name of ['ada', 'eve']) await store.users.register(name, { now: 1 });
        const startOne = (name: string, workers: string) =>
          startServer(address, { env: { ...env, MOBILITY_LOG_DIR: join(folder, name), MOBILITY_WORKERS: workers } });
        const servers: Two['servers'] = [await startOne('one', '1'), await startOne('two', '2')];
        try {
          await work({ address, servers, store, logs: join(folder, 'status') });
        } finally {
          await Promise.all(servers.map((one) => one.stop()));
          await store.close();
        }
      }),
    );
  const put = (to: RunningServer, user: string, ts: number, data = {}) =>
    to.post('/usercache/put', { user, phone_to_server: [androidLocation(ts, data)] });

  it('calls and bytes to all of them count together, and status names who met a limit', {
    timeout: 300_000,
  }, async () => {
    const env = { MOBILITY_CALLS_PER_DAY: String(limit), MOBILITY_CALLS_PER_MINUTE: '0', MOBILITY_MIB_PER_DAY: '3' };
    await withTwo(env, async ({ address, servers, logs }) => {
      const [one, two] = servers;
      const get = (to: RunningServer) => to.post('/pipeline/get_complete_ts', { user: 'ada' });
      // Half of the calls to each: no process has seen as many as are allowed.
      const calls = Array.from({ length: limit / 2 }, () => servers.map(get)).flat();
      for (const { status } of await Promise.all(calls)) expect(status).toBe(200);
      let more = 0;
      const refused = async (): Promise<string> => {
        more += 1;
        const { status, text } = await get(one);
        return status === 200 ? 'accepted' : JSON.parse(text).limit;
      };
      await expect.poll(refused, { timeout: 60_000, interval: 1000 }).toBe('calls_per_day');
      // Before this server has seen as many by itself as are allowed.
      expect(more).toBeLessThan(limit / 2);

      for (const to of servers) {
        const big = { note: 'x'.repeat(1.2 * mebibyte) };
        expect((await put(to, 'eve', 1, big)).status).toBe(200);
        expect((await put(to, 'eve', 2)).status).toBe(200);
      }
      const last = async (): Promise<string> => {
        const { status, text } = await put(two, 'eve', 3, { note: 'x'.repeat(0.7 * mebibyte) });
        return status === 200 ? 'accepted' : JSON.parse(text).limit;
      };
      await expect.poll(last, { timeout: 60_000, interval: 500 }).toBe('bytes_per_day');

      const told = async () => {
        const status = await run(['status', '--store', address, '--json'], { env: { MOBILITY_LOG_DIR: logs } });
        return JSON.parse(status.stdout).limits_met.map((met: { user_email: string; limit: string }) => [
          met.user_email,
          met.limit,
        ]);
      };
      await expect
        .poll(async () => (await told()).sort(), { timeout: 60_000 })
        .toEqual([
          ['ada', 'calls_per_day'],
          ['eve', 'bytes_per_day'],
        ]);
    });
  });

  it('counts of a user go with the user, also those that a server tells after the erasure', async () => {
    const opened = await openOn(server());
    try {
      const { store, address } = opened;
      const { user } = await store.users.register('ada', { now: 1 });
      const other = await store.users.register('eve', { now: 1 });
      const told = new Map([
        [user.uuid, { calls: 2, bytes: 10 }],
        [other.user.uuid, { calls: 1, bytes: 1 }],
      ]);
      await store.use!.add(told, 86_400 * 9 + 100);
      const again = await store.use!.add(told, 86_400 * 9 + 170);
      expect(again.get(user.uuid)).toEqual({
        minute: { window: 1440 * 9 + 2, calls: 2, bytes: 10 },
        day: { window: 9, calls: 4, bytes: 20 },
      });
      await store.erase(user.uuid);
      await store.use!.add(told, 86_400 * 9 + 171);
      const kept = await withClient(address, (client) => client.db().collection('use').find({}).toArray());
      expect(kept.map(({ _id, day }) => [String(_id), day.calls])).toEqual([[other.user.uuid, 3]]);
    } finally {
      await opened.dispose();
    }
  });

  it('while the store cannot be told, a server counts on by itself and tells it later', async () => {
    const opened = await openOn(server());
    try {
      const { CallerCounts } = await import('../../src/server/caller-limits.ts');
      const { shareUse } = await import('../../src/server/share-use.ts');
      const { user } = await opened.store.users.register('ada', { now: 1 });
      const now = () => 86_400 * 9 + 100;
      const limits = { callsPerDay: 3, callsPerMinute: 0, bytesPerMinute: 0, bytesPerDay: 0 };
      const make = () => new CallerCounts({ ...limits, waitingEntries: 0, unknownKeys: 0 }, now);
      const [here, there] = [make(), make()];
      let isDown = true;
      let failed = 0;
      const use = {
        add: async (...args: Parameters<NonNullable<Store['use']>['add']>) => {
          if (!isDown) return opened.store.use!.add(...args);
          failed += 1;
          throw new Error('out of reach');
        },
      };
      const stops = [
        shareUse(here, { use, now, every: 20 }),
        shareUse(there, { use: opened.store.use, now, every: 20 }),
      ];
      try {
        for (let i = 0; i < 3; i += 1) here.call(user.uuid);
        expect(() => here.call(user.uuid)).toThrow('at most 3 calls a day');
        await expect.poll(() => failed).toBeGreaterThan(0);
        isDown = false;
        there.call(user.uuid);
        const isRefused = async (): Promise<boolean> => {
          const told = await opened.store.use!.add(new Map([[user.uuid, { calls: 0, bytes: 0 }]]), now());
          return told.get(user.uuid)!.day.calls >= 4;
        };
        await expect.poll(isRefused, { timeout: 20_000 }).toBe(true);
        there.bytes(user.uuid, 1); // something to tell
        const met = (): boolean => {
          try {
            there.call(user.uuid);
            return false;
          } catch {
            return true;
          }
        };
        await expect.poll(met, { timeout: 20_000 }).toBe(true);
      } finally {
        for (const stop of stops) stop();
      }
    } finally {
      await opened.dispose();
    }
  });
});
