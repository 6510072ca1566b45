// An e-mission database comes in the same from a server, a dump and JSON, and makes the trips of the phones' pushes.
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { everybodyAt, freshProgram, type Program } from '../cli/kit.ts';
import { describeOnServers, newDatabase, withClient } from '../store/servers.ts';
import { type MadeUp, madeUpDatabase, writeDump, writeJson } from './emission-database.ts';

const madeUp: MadeUp = madeUpDatabase();
let dumped: Program;
beforeAll(async () => {
  dumped = await freshProgram();
  await writeDump(madeUp, join(dumped.folder, 'dump', 'Stage_database'));
});

describe('import of an e-mission database', () => {
  it('keeps names and UUIDs, and counts entries that are stored, duplicate and skipped', async () => {
    const { code, json, stderr } = await dumped.run(['import', join(dumped.folder, 'dump'), '--json']);
    expect([code, stderr]).toEqual([0, 'next: mobility pipeline --all\n']);
    const pushed = madeUp.people.reduce((sum, one) => sum + one.pushed.length, 0);
    expect(json()).toMatchObject({
      read: pushed + 2 * (10 + 3),
      stored: pushed + 2,
      known: 0,
      doubled: 20,
      set_aside: 0,
      left_behind: 4,
      users: madeUp.people.map(({ user_email, uuid }) => ({ user_email, user_id: uuid, registered: true })),
    });
    await dumped.withStore(async (store) => {
      for (const { uuid, user_email, platform, pushed } of madeUp.people) {
        expect(await store.users.byUuid(uuid)).toMatchObject({ user_email });
        expect(await store.profiles.get(uuid)).toEqual({ curr_platform: platform, mpg_array: [32] });
        // The made-up server received everything when the last entry was written, by the times in its object ids.
        const { received_ts } = await store.usercache.find(uuid, { time: 'write_ts', limit: 1 });
        expect(received_ts).toEqual([Math.floor(pushed.at(-1)!.metadata.write_ts)]);
      }
    });
  });

  it('makes the trips that the same pushes make', async () => {
    await dumped.run(['pipeline', '--all']);
    const direct = await freshProgram();
    await direct.withStore(async (store) => {
      for (const { user_email, uuid, pushed } of madeUp.people) {
        await store.users.register(user_email, { uuid, now: 1 });
        await store.usercache.put(uuid, { entries: pushed, unusable: [] }, 1);
      }
    });
    await direct.run(['pipeline', '--all']);
    for (const { user_email } of madeUp.people) {
      const trips = (program: Program) => program.run(['export', '--user', user_email, '--trips']);
      const expected = await trips(direct);
      expect(expected.stderr).toMatch(/^[1-9]\d* trips/);
      expect((await trips(dumped)).stdout).toBe(expected.stdout);
    }
  });

  it('changes nothing when it is imported twice', async () => {
    const before = await everybodyAt(dumped.address);
    const { code, json } = await dumped.run(['import', join(dumped.folder, 'dump'), '--json']);
    expect([code, json()]).toMatchObject([0, { stored: 0 }]);
    await dumped.run(['pipeline', '--all']);
    expect(await everybodyAt(dumped.address)).toEqual(before);
  });

  it('imports one person on request, and reports a name that does not occur', async () => {
    const { folder, json, withStore, refuse } = await freshProgram();
    await writeDump(madeUp, folder);
    const { users } = await json('import', folder, '--user', 'ira@example.org');
    expect(users).toMatchObject([{ user_email: 'ira@example.org' }]);
    const unknown = /MOBILITY_USER_UNKNOWN: expected data of "eve/;
    await refuse(['import', folder, '--user', 'eve@example.org'], unknown);
    expect(await withStore((store) => store.users.list({ limit: 10 }))).toHaveLength(1);
  });

  it('does not change a user whose name belongs to another UUID in the source', async () => {
    const { folder, withStore, refuse } = await freshProgram();
    await writeDump(madeUp, folder);
    const other = await withStore((store) => store.users.register('ada@example.org', { now: 1 }));
    const { stderr } = await refuse(['import', folder], `MOBILITY_SOURCE`, { code: 1 });
    expect(stderr).toContain(other.user.uuid);
    expect(await withStore((store) => store.counts(other.user.uuid))).toMatchObject({ usercache: 0 });
  });
});

it('a dump and its JSON give the same store', async () => {
  const [fromDump, fromJson] = [await freshProgram(), await freshProgram()];
  await writeDump(madeUp, join(fromDump.folder, 'in'));
  await writeJson(madeUp, join(fromJson.folder, 'in'));
  const reports = [];
  for (const program of [fromDump, fromJson]) {
    const { read, stored, doubled } = (await program.run(['import', join(program.folder, 'in'), '--json'])).json();
    reports.push({ read, stored, doubled });
  }
  expect(reports[1]).toEqual(reports[0]);
  expect(await everybodyAt(fromJson.address)).toEqual(await everybodyAt(fromDump.address));
});

describeOnServers(
  'import from a running server',
  (server) => {
    it('gives the store that its dump gives', async () => {
      const [live, fromDump] = [await freshProgram(), await freshProgram()];
      await writeDump(madeUp, join(fromDump.folder, 'in'));
      await fromDump.run(['import', join(fromDump.folder, 'in')]);
      const address = newDatabase(server());
      await withClient(address, async (client) => {
        for (const [name, documents] of Object.entries(madeUp.collections))
          await client.db().collection(name).insertMany(documents);
      });
      const { code, json } = await live.run(['import', address, '--json']);
      expect([code, json()]).toMatchObject([0, { known: 0, doubled: 20, left_behind: 4 }]);
      expect(await everybodyAt(live.address)).toEqual(await everybodyAt(fromDump.address));
    });
  },
  { only: (mode) => mode !== 'standalone' },
);
