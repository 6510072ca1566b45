// The pipeline killed at random moments and run again: the same bytes, and no run waits longer than the lease.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../support/clean-up.ts';
import { copyOf, everythingOf, fillStore, pause, pushesOf, times, withSeed, withStore } from './kit.ts';
import { start, succeed } from './program.ts';

const kills = times('MOBILITY_TEST_KILLS', 15);
const killsInARow = 5;
const leaseSeconds = 1;
const how = { env: { MOBILITY_LEASE_SECONDS: String(leaseSeconds) } };

it('a pipeline killed at random moments gives the same diary, and blocks the next run no longer than its lease', () =>
  withSeed(async (random) => {
    const folder = tempFolder();
    const waiting = join(folder, 'waiting');
    const people = { 'ada@example.org': pushesOf('ada', 'android', 4), 'ben@example.org': pushesOf('ben', 'ios', 4) };
    const uuids = Object.values(await fillStore(waiting, people));
    const diariesOf = (place: string): Promise<string[]> =>
      withStore(place, (store) => Promise.all(uuids.map((uuid) => everythingOf(store, uuid))));
    const undisturbed = await copyOf(waiting, join(folder, 'undisturbed'));
    const { seconds } = await succeed(['pipeline', '--all', '--store', undisturbed], how);
    const diaries = await diariesOf(undisturbed);
    expect(diaries.join()).toContain('diary/trips-2024-03-14');

    /** Kills some runs on a copy of the store one after the other, then lets one run through. */
    const disturb = async (name: string): Promise<void> => {
      const copy = await copyOf(waiting, join(folder, name));
      for (let i = 0; i < killsInARow; i++) {
        const pipeline = await start(['pipeline', '--all', '--store', copy], how);
        await pause(random.between(0.1, seconds));
        await pipeline.kill();
        await withStore(copy, async ({ leases }) => {
          for (const uuid of uuids) {
            const { expires_ts } = (await leases.get(uuid)) ?? { expires_ts: 0 };
            expect(expires_ts).toBeLessThanOrEqual(Date.now() / 1000 + leaseSeconds);
          }
        });
      }
      const last = await succeed(['pipeline', '--all', '--json', '--store', copy], how);
      expect(JSON.parse(last.stdout)).toMatchObject({ busy: 0, failed: 0 });
      expect(last.seconds).toBeLessThan(leaseSeconds + 20 * seconds + 30); // the machine may be busier than before
      expect(await diariesOf(copy)).toEqual(diaries);
    };
    const lanes = [0, 1].map(async (lane) => {
      for (let i = lane; i < kills / killsInARow; i += 2) await disturb(`disturbed-${i}`);
    });
    await Promise.all(lanes);
  }));
