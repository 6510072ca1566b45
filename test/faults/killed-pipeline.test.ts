// The pipeline killed at random moments and run again: the same diary, byte for byte, and no run waits longer than the
// lease.
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Random } from '../../src/simulate/random.ts';
import { tempFolder } from '../support/clean-up.ts';
import { copyOf, everythingOf, fillStore, pause, pushesOf, times, withSeed, withStore } from './kit.ts';
import { start, succeed } from './program.ts';

const kills = times('MOBILITY_TEST_KILLS', 15);
const killsInARow = 5;
const leaseSeconds = 1;
const how = { env: { MOBILITY_LEASE_SECONDS: String(leaseSeconds) } };

/** A store in which four days of two phones wait, and the diaries of an undisturbed run. */
interface Prepared {
  folder: string;
  store: string;
  uuids: Record<string, string>;
  diaries: Record<string, string>;
  /** s that the undisturbed run took */
  seconds: number;
}

let prepared: Prepared;
beforeAll(async () => {
  prepared = await prepare(tempFolder());
});

async function prepare(folder: string): Promise<Prepared> {
  const store = join(folder, 'waiting');
  const uuids = await fillStore(store, {
    'ada@example.org': pushesOf('ada', 'android', 4),
    'ben@example.org': pushesOf('ben', 'ios', 4),
  });
  const undisturbed = await copyOf(store, join(folder, 'undisturbed'));
  const all = await succeed(['pipeline', '--all', '--store', undisturbed], how);
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
  const last = await succeed(['pipeline', '--all', '--json', '--store', copy], how);
  expect(JSON.parse(last.stdout)).toMatchObject({ busy: 0, failed: 0 });
  expect(last.seconds).toBeLessThan(leaseSeconds + 20 * seconds + 30); // the machine may be busier than before
  expect(await diariesOf(copy, uuids)).toEqual(diaries);
}

describe('a pipeline killed at random moments', () => {
  it('gives the same diary, byte for byte, and blocks the next run no longer than its lease', () =>
    withSeed(async (random) => {
      const lanes = [0, 1].map(async (lane) => {
        for (let i = lane; i < kills / killsInARow; i += 2) await disturb(`disturbed-${i}`, random);
      });
      await Promise.all(lanes);
    }));
});
