// The pipeline killed at random moments and run again: the same diary, byte for byte, and nobody waits longer than the
// lease.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Random } from '../../src/simulate/random.ts';
import {
  copyOf,
  everythingOf,
  fillStore,
  inFolder,
  patience,
  pause,
  pushesOf,
  times,
  withSeed,
  withStore,
} from './kit.ts';
import { run, start } from './program.ts';

const kills = times('MOBILITY_TEST_KILLS', 15);
const killsInARow = 5;
const leaseSeconds = 1;
const how = { env: { MOBILITY_LEASE_SECONDS: String(leaseSeconds) } };

/** A store in which four days of two phones wait, and what they come to undisturbed. */
interface Prepared {
  folder: string;
  store: string;
  uuids: Record<string, string>;
  diaries: Record<string, string>;
  /** s that the undisturbed run took */
  seconds: number;
}

let prepared: Prepared;
let finish: () => void;
let finished: Promise<unknown>;

beforeAll(async () => {
  await new Promise<void>((ready, failed) => {
    finished = inFolder(async (folder) => {
      prepared = await prepare(folder);
      ready();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    });
    finished.catch(failed);
  });
}, patience);
afterAll(async () => {
  finish();
  await finished;
});

async function prepare(folder: string): Promise<Prepared> {
  const store = join(folder, 'waiting');
  const uuids = await fillStore(store, {
    'ada@example.org': pushesOf('ada', 'android', 4),
    'ben@example.org': pushesOf('ben', 'ios', 4),
  });
  const undisturbed = await copyOf(store, join(folder, 'undisturbed'));
  const all = await run(['pipeline', '--all', '--store', undisturbed], how);
  expect(all, all.stderr).toMatchObject({ code: 0 });
  const diaries = await diariesOf(undisturbed, uuids);
  expect(Object.values(diaries).join()).toContain('diary/trips-2024-03-14');
  return { folder, store, uuids, diaries, seconds: all.seconds };
}

function diariesOf(folder: string, uuids: Readonly<Record<string, string>>): Promise<Record<string, string>> {
  return withStore(folder, async (store) => {
    const diaries: Record<string, string> = {};
    for (const [name, uuid] of Object.entries(uuids)) diaries[name] = await everythingOf(store, uuid);
    return diaries;
  });
}

/** Kills some runs on a copy of the store one after the other, then lets one run through. */
async function disturb(name: string, random: Random): Promise<void> {
  const { folder, store, uuids, diaries, seconds } = prepared;
  const copy = await copyOf(store, join(folder, name));
  for (let i = 0; i < killsInARow; i++) {
    const pipeline = await start(['pipeline', '--all', '--store', copy], how);
    await pause(random.between(0.1, seconds));
    await pipeline.kill();
    await withStore(copy, async (opened) => {
      for (const uuid of Object.values(uuids)) {
        const lease = await opened.leases.get(uuid);
        expect(lease?.expires_ts ?? 0).toBeLessThanOrEqual(Date.now() / 1000 + leaseSeconds);
      }
    });
  }
  const last = await run(['pipeline', '--all', '--json', '--store', copy], how);
  expect(last, last.stderr).toMatchObject({ code: 0 });
  expect(JSON.parse(last.stdout)).toMatchObject({ busy: 0, failed: 0 });
  expect(last.seconds).toBeLessThan(leaseSeconds + 20 * seconds + 30); // the machine may be busier than before
  expect(await diariesOf(copy, uuids)).toEqual(diaries);
}

describe('a pipeline killed at random moments', () => {
  it(
    'gives the same diary, byte for byte, and waits no longer than the lease',
    { timeout: patience + kills * 10_000 },
    () =>
      withSeed(async (random) => {
        const lanes = [0, 1].map(async (lane) => {
          for (let i = lane; i < kills / killsInARow; i += 2) await disturb(`disturbed-${i}`, random);
        });
        await Promise.all(lanes);
      }),
  );
});

describe('two pipelines at once on one user', () => {
  it('one works, and the other names it', { timeout: patience }, async () => {
    const { folder, store, uuids, diaries } = prepared;
    const copy = await copyOf(store, join(folder, 'two'));
    const one = ['pipeline', '--user', 'ada@example.org', '--json', '--store', copy];
    const ends = await Promise.all([run(one), run(one)]);
    const statuses = ends.map(({ stdout }) => JSON.parse(stdout).status as string).sort();
    expect([
      ['busy', 'done'],
      ['done', 'nothing_new'], // the second came when the first had finished
    ]).toContainEqual(statuses);
    for (const { code, stdout, stderr } of ends) {
      const busy = JSON.parse(stdout).status === 'busy';
      expect(code).toBe(busy ? 1 : 0);
      if (busy) expect(stderr).toMatch(/MOBILITY_LEASE_HELD.*pipeline \d+ on .* works on this user/);
    }
    const after = await diariesOf(copy, uuids);
    expect(after['ada@example.org']).toBe(diaries['ada@example.org']);
  });

  it('a user whom another run holds is skipped, and the holder is named', { timeout: patience }, async () => {
    const { folder, store, uuids, diaries } = prepared;
    const copy = await copyOf(store, join(folder, 'held'));
    await withStore(copy, async (opened) => {
      const taken = await opened.leases.acquire(uuids['ada@example.org']!, 'somebody else', 600);
      if (!('lease' in taken)) throw new Error(`expected a free user, found ${taken.heldBy.owner}`);
      const one = await run(['pipeline', '--user', 'ada@example.org', '--store', copy], how);
      expect(one.code).toBe(1);
      expect(one.stderr).toMatch(/MOBILITY_LEASE_HELD.*somebody else works on this user/);

      // A lease that nobody renews belongs to a run that died: the others wait for its end, and no longer.
      await opened.leases.renew(taken.lease, 3);
      const all = await run(['pipeline', '--all', '--json', '--store', copy], how);
      expect(all, all.stderr).toMatchObject({ code: 0 });
      expect(JSON.parse(all.stdout)).toMatchObject({ done: 2, busy: 0, failed: 0 });
    });
    expect(await diariesOf(copy, uuids)).toEqual(diaries);
  });
});
