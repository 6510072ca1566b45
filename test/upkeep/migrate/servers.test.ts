// Moving between the embedded store and MongoDB, both ways, by the program and killed in the middle of it.
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openStore } from '../../../src/store/open.ts';
import { everyUser } from '../../../src/store/pages.ts';
import type { Store } from '../../../src/store/store.ts';
import { everythingOf, inFolder, pause, times, withSeed } from '../../faults/kit.ts';
import { type Exit, type How, run, start } from '../../faults/program.ts';
import { describeOnServers, withDatabaseOn } from '../../store/servers.ts';
import { expectEqualAfterMove, sides } from './any-sides.ts';
import { contentOfAll, fillUser } from './kit.ts';

const kills = times('MOBILITY_TEST_MOVE_KILLS', 3);
const numRuns = Math.ceil(times('MOBILITY_TEST_MOVES', 40) / 4);
const how: How = { env: { MOBILITY_LEASE_SECONDS: '1' } };

async function withAddress<T>(address: string, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(address);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const contentAt = (address: string): Promise<Record<string, string>> => withAddress(address, contentOfAll);

/** Moves by the program, which is killed at random moments first. Returns how the last run ended. */
async function moveWithKills(from: string, to: string, users: number): Promise<Exit> {
  return withSeed(async (random) => {
    const { seconds: starting } = await run(['config']);
    let interrupted = 0;
    for (let i = 0; i < kills; i++) {
      const migration = await start(['migrate', '--from', from, '--to', to], how);
      await pause(starting + (i === 0 ? 0 : random.between(0, 2 * starting)));
      const { signal } = await migration.kill();
      const done = await withAddress(to, async (store) => (await store.users.list({ limit: users })).length);
      if (signal === 'SIGKILL' && done < users) interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(0);
    return run(['migrate', '--from', from, '--to', to, '--json'], how);
  });
}

/** Runs the pipeline, which works on what the move took along, and again, when it must find nothing. */
async function runPipelineTwice(address: string): Promise<void> {
  const first = await run(['pipeline', '--all', '--json', '--store', address], how);
  expect(first, first.stderr).toMatchObject({ code: 0 });
  const again = await run(['pipeline', '--all', '--json', '--store', address], how);
  expect(JSON.parse(again.stdout)).toMatchObject({ done: 0, failed: 0 });
}

/** What does not depend on when the pipeline ran. */
function diariesAt(address: string): Promise<string[]> {
  return withAddress(address, async (store) => {
    const diaries: string[] = [];
    for await (const { uuid } of everyUser(store)) diaries.push(await everythingOf(store, uuid));
    return diaries;
  });
}

async function thereAndBack(away: string, folder: string): Promise<void> {
  const [home, back] = [join(folder, 'home'), join(folder, 'back')];
  await withAddress(home, async (store) => {
    for (const name of ['ada', 'ben']) await fillUser(store, name, 1, 400);
  });
  const expected = await contentAt(home);
  const there = await moveWithKills(home, away, 2);
  expect(there, there.stdout + there.stderr).toMatchObject({ code: 0 });
  expect(JSON.parse(there.stdout)).toMatchObject({ users: 2, equal: true, reports: [] });
  expect(await contentAt(away)).toEqual(expected);

  const andBack = await moveWithKills(away, back, 2);
  expect(andBack, andBack.stdout + andBack.stderr).toMatchObject({ code: 0 });
  expect(await contentAt(back)).toEqual(expected);
  expect(await contentAt(home)).toEqual(expected);

  for (const address of [home, away, back]) await runPipelineTwice(address);
  const diaries = await diariesAt(home);
  expect(diaries.join()).toContain('diary/trips-2024-03-11');
  expect(await diariesAt(away)).toEqual(diaries);
  expect(await diariesAt(back)).toEqual(diaries);
}

describeOnServers(
  'a move between the embedded store and MongoDB',
  (server) => {
    it(
      'comes to the same there and back, killed in the middle, and the pipeline goes on from there',
      { timeout: 300_000 + kills * 20_000 },
      () => withDatabaseOn(server(), (address) => inFolder((folder) => thereAndBack(address, folder))),
    );

    it('makes a user equal to the source, whatever the target had', { timeout: 60_000 + numRuns * 5_000 }, () =>
      withDatabaseOn(server(), (address) =>
        inFolder(async (folder) => {
          const [one, other] = await Promise.all([openStore(folder), openStore(address)]);
          try {
            await fc.assert(
              fc.asyncProperty(sides, fc.boolean(), (both, there) =>
                there ? expectEqualAfterMove(one, other, both) : expectEqualAfterMove(other, one, both),
              ),
              { numRuns },
            );
          } finally {
            await Promise.all([one.close(), other.close()]);
          }
        }),
      ),
    );
  },
  { mayLeave: true },
);
