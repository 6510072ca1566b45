// Command lines on a MongoDB store: created on request, refused when missing, copied from and to.
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { openStore } from '../../src/store/open.ts';
import { describeOnServers, withClient, withDatabaseOn } from '../store/servers.ts';
import { freshProgram, run } from './kit.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 }); // the test server is no fast one

const collectionsAt = (address: string): Promise<string[]> =>
  withClient(address, async (client) => (await client.db().listCollections().toArray()).map(({ name }) => name).sort());

describeOnServers('a MongoDB store', (server) => {
  it('is made by store init, which may be repeated', () =>
    withDatabaseOn(server(), async (address) => {
      const env = { MOBILITY_STORE: address };
      for (let round = 0; round < 2; round++) {
        const { code, stdout, stderr } = await run(['store', 'init'], { env });
        expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(/^mongodb.*: ready\n$/)]);
      }
      expect(await collectionsAt(address)).toEqual(expect.arrayContaining(['accounts', 'batches', 'chunks', 'people']));
      expect((await run(['status'], { env })).code).toBe(0);
    }));

  it('is not backed up by copying files; the error names the tools', () =>
    withDatabaseOn(server(), async (address) => {
      const { code, stderr } = await run(['backup', 'never-made'], { env: { MOBILITY_STORE: address } });
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/MOBILITY_UNSUPPORTED: .*mongodump --uri.*mobility migrate --to/),
      ]);
    }));

  it('that is not there is refused by commands that only read', () =>
    withDatabaseOn(server(), async (address) => {
      const { code, stderr } = await run(['status'], { env: { MOBILITY_STORE: address } });
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^mobility: MOBILITY_STORE_ADDRESS: .*store init/)]);
      expect(await collectionsAt(address)).toEqual([]);
    }));

  it('takes over an embedded store, and gives everything back to another', () =>
    withDatabaseOn(server(), async (address) => {
      const program = await freshProgram();
      await program.run(['simulate', '--users', '1', '--from', '2024-03-12']);
      await program.run(['pipeline', '--all']);
      const there = await program.run(['migrate', '--to', address]);
      expect([there.code, there.stdout]).toEqual([0, expect.stringContaining('both sides are equal')]);
      const back = join(program.folder, 'back');
      const home = await run(['migrate', '--from', address, '--to', back, '--json']);
      expect([home.code, home.json()]).toMatchObject([0, { copied: 1, equal: true }]);
      const diary = ['diary', '--user', 'sim-demo-1@example.org', '--day', '2024-03-12', '--store'];
      const days = await Promise.all([program.address, address, back].map((store) => program.run([...diary, store])));
      expect(days[0]!.stdout).toContain('trip');
      expect(new Set(days.map(({ stdout }) => stdout)).size).toBe(1);
    }));

  it('with a damaged chunk or rows of nobody fails the check, which names the user', () =>
    withDatabaseOn(server(), async (address) => {
      const on = { env: { MOBILITY_STORE: address } };
      expect((await run(['users', 'add', 'ada'], on)).code).toBe(0);
      const store = await openStore(address);
      const user = (await store.users.byEmail('ada'))!.uuid;
      const entry = { metadata: { key: 'manual/note', write_ts: 1 }, data: { text: 'x' } };
      await store.usercache.put(user, { entries: [entry] as never, unusable: [] }, 2);
      await runPipeline(store, user, { log: silentLog, now: () => 3 });
      await store.close();
      expect((await run(['store', 'check'], on)).code).toBe(0);
      await withClient(address, async (client) => {
        const chunks = client.db().collection('chunks');
        expect((await chunks.updateMany({}, { $set: { entries: Buffer.alloc(40, 7) } })).modifiedCount).toBe(1);
      });
      const findings = async () => {
        const { code, json } = await run(['store', 'check', '--json'], on);
        expect(code).toBe(3);
        return json<{ findings: object[] }>().findings;
      };
      expect(await findings()).toMatchObject([{ user_id: user, cure: expect.stringContaining('backup') }]);
      await withClient(address, (client) => client.db().collection('people').deleteMany({}));
      const unregistered = { user_id: user, table: 'accounts', problem: expect.stringContaining('not registered') };
      expect(await findings()).toEqual(expect.arrayContaining([expect.objectContaining(unregistered)]));
    }));
});
