// Command lines on a MongoDB store: created on request, refused if missing, copied from and to, checked.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { onEngine } from '../../../src/store/open.ts';
import { accounts, allTables, arrivals } from '../../../src/store/rows/tables.ts';
import { released } from '../../../src/store/rules/accounts.ts';
import type { AnyTable } from '../../../src/upkeep/every-row.ts';
import { refuse, run, show, simulatedProgram } from '../../cli/kit.ts';
import { describeOnServers, newDatabase, withClient } from '../../store/servers.ts';

/** Every row of a store with its checksum, by table. The lease is not copied, and only copies note when people came. */
const rowsAt = (address: string): Promise<Record<string, object[]>> =>
  onEngine(address, { make: false }, async (engine) => {
    const tables = (allTables as unknown as readonly AnyTable[]).filter(({ name }) => name !== arrivals.name);
    const found = tables.map(async (table) => {
      const columns = [...Object.keys(table.columns), 'sum'];
      const rows = await engine.read((reader) => reader.find(table, { where: {}, order: table.key }, columns));
      const isAccounts = table.name === accounts.name;
      return [table.name, isAccounts ? rows.map(({ sum: _, ...row }) => released(row as never)) : rows];
    });
    return Object.fromEntries(await Promise.all(found));
  });

describeOnServers('a MongoDB store', (server) => {
  it('is refused by `backup`, and by commands that only read until `store init` creates it, which can be repeated', async () => {
    const address = newDatabase(server());
    const env = { MOBILITY_STORE: address };
    const tools = /MOBILITY_UNSUPPORTED: .*mongodump --uri.*mobility migrate --to/;
    await refuse('backup never-made', tools, { code: 1, env });
    for (let i = 0; i < 2; i++) await refuse('status', /^mobility: MOBILITY_STORE_ADDRESS: .*store init/, { env });
    for (let round = 0; round < 2; round++)
      expect((await show(['store', 'init'], /^mongodb.*: ready\n$/, { env })).stderr).toBe('');
    expect((await run(['status'], { env })).code).toBe(0);
  });

  it('is refused by `store init` on a server that lacks a command, with the name of the command', async () => {
    const failing = (mode: string, data: object) =>
      withClient(server().address('admin'), (client) =>
        client.db('admin').command({ configureFailPoint: 'failCommand', mode, data }),
      );
    for (const command of ['findAndModify', 'aggregate', 'dbStats']) {
      const address = newDatabase(server());
      const init = () => run(['store', 'init'], { env: { MOBILITY_STORE: address } });
      await failing('alwaysOn', { failCommands: [command], errorCode: 59 }); // CommandNotFound
      const { code, stderr } = await init().finally(() => failing('off', {}));
      expect([code, stderr]).toEqual([1, expect.stringMatching(`MOBILITY_UNSUPPORTED: .* refuses ${command}: `)]);
      expect((await init()).code).toBe(0);
    }
  });

  it('receives all rows of an embedded store by migration, and they can be migrated to another embedded store', async () => {
    const address = newDatabase(server());
    const program = await simulatedProgram('--users 1 --from 2024-03-12');
    await program.withStore(async (store) => {
      const [user] = await store.users.list({ limit: 1 });
      await store.profiles.merge(user!.uuid, { '$set.a': -0, text: 'é\u0000\ud800' });
      const waiting = { metadata: { key: 'manual/survey', write_ts: 1_710_000_000.25 }, data: { text: '\u0000' } };
      const unusable = [{ entry: 'x', reason: 'not_an_object', message: 'found a text' }];
      await store.usercache.put(user!.uuid, { entries: [waiting as never], unusable }, 1);
    });
    await program.show(['migrate', '--to', address], 'both sides are equal');
    const back = join(program.folder, 'back');
    const home = await run(['migrate', '--from', address, '--to', back, '--json']);
    expect([home.code, home.json()]).toMatchObject([0, { copied: 1, equal: true }]);
    const [source, ...copies] = await Promise.all([program.address, address, back].map(rowsAt));
    expect(Object.values(source!).filter((rows) => rows.length > 0).length).toBeGreaterThan(7);
    for (const copy of copies) expect(copy).toEqual(source);

    const check = () => run(['store', 'check', '--json'], { env: { MOBILITY_STORE: address } });
    expect((await check()).code).toBe(0);
    await withClient(address, async (client) => {
      const chunks = client.db().collection('chunks');
      await chunks.updateOne({}, { $set: { entries: Buffer.alloc(40, 7) } });
    });
    const damaged = await check();
    const row = expect.stringMatching(/^user ".*", first [\d.]+, key "/);
    const finding = { user_id: (source!.people![0] as { uuid: string }).uuid, table: 'chunks', row };
    expect([damaged.code, damaged.json()]).toMatchObject([3, { findings: [finding] }]);
  });
});
