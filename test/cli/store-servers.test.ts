// Command lines on a MongoDB store: created on request, refused if missing, copied from and to, checked.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeOnServers, withClient, withDatabaseOn } from '../store/servers.ts';
import { freshProgram, run } from './kit.ts';

describeOnServers('a MongoDB store', (server) => {
  it('is refused by commands that only read until store init, which can be repeated, has created it', () =>
    withDatabaseOn(server(), async (address) => {
      const env = { MOBILITY_STORE: address };
      const { code, stderr } = await run(['status'], { env });
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^mobility: MOBILITY_STORE_ADDRESS: .*store init/)]);
      for (let round = 0; round < 2; round++) {
        const init = await run(['store', 'init'], { env });
        expect(init).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^mongodb.*: ready\n$/) });
      }
      expect((await run(['status'], { env })).code).toBe(0);
    }));

  it('is not backed up by copying files: the error names the tools', () =>
    withDatabaseOn(server(), async (address) => {
      const { code, stderr } = await run(['backup', 'never-made'], { env: { MOBILITY_STORE: address } });
      expect(code).toBe(1);
      expect(stderr).toMatch(/MOBILITY_UNSUPPORTED: .*mongodump --uri.*mobility migrate --to/);
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

      const check = () => run(['store', 'check', '--json'], { env: { MOBILITY_STORE: address } });
      expect((await check()).code).toBe(0);
      await withClient(address, async (client) => {
        const chunks = client.db().collection('chunks');
        await chunks.updateOne({}, { $set: { entries: Buffer.alloc(40, 7) } });
      });
      const damaged = await check();
      expect([damaged.code, damaged.json()]).toMatchObject([3, { findings: [{ table: 'chunks' }] }]);
    }));
});
