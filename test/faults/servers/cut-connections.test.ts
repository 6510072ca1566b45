// Connections between the program and MongoDB cut at random: nothing acknowledged is lost, nothing is there twice.
import { expect, it } from 'vitest';
import { openMongoEngine } from '../../../src/store/mongodb/mongodb-engine.ts';
import { storeOver } from '../../../src/store/rules/build-store.ts';
import { accept, fixes, never } from '../../store/contract/kit.ts';
import { describeOnServers, newStoreOn, startedHere } from '../../store/servers.ts';
import { atEnd } from '../../support/clean-up.ts';
import { allEntries } from '../../support/diary.ts';
import { leaseOn, newUser } from '../../support/store.ts';
import { times, withSeed } from '../kit.ts';
import { startProxy } from './proxy.ts';

const rounds = times('MOBILITY_TEST_ROUNDS', 40);
const batchSize = 40;

/** Repeats until the store acknowledges. */
async function acknowledged<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      expect(error).toMatchObject({ code: 'MOBILITY_STORE_UNAVAILABLE' });
    }
  }
}

describeOnServers(
  'connections to MongoDB that are cut',
  (server) => {
    it('at random: puts and moves that are repeated until acknowledged take effect once', () =>
      withSeed(async (random) => {
        const { store: direct, address } = await newStoreOn(server());
        const proxy = await startProxy(address);
        atEnd(() => proxy.close());
        const through = storeOver(await openMongoEngine(proxy.through(address), { retrySeconds: 30 }));
        atEnd(() => through.close());
        const user = await newUser(direct);
        let lease = await leaseOn(direct, user);
        let inserted = 0;
        atEnd(() => proxy.decide(null));
        proxy.decide(() => {
          if (!random.chance(0.02)) return 'pass';
          return random.chance(0.5) ? 'cut' : 'pass and cut';
        });
        for (let round = 0; round < rounds; round++) {
          // Some entries of the round before come again.
          const entries = fixes(Math.max(0, round * batchSize - 5), (round + 1) * batchSize);
          const { results } = await acknowledged(() => through.usercache.put(user, { entries, unusable: [] }, 1_000));
          inserted += results.filter((result) => result === 'inserted').length;
          if (round % 5 !== 4) continue;
          lease = await acknowledged(() => leaseOn(through, user));
          await acknowledged(() => through.usercache.move(user, { at: never, limit: 9_999 }, lease, accept));
        }
        proxy.decide(null);
        expect(proxy.cuts()).toBeGreaterThan(rounds / 5);
        await direct.usercache.move(user, { at: never, limit: 9_999 }, lease, accept);
        const all = fixes(0, rounds * batchSize);
        expect(await allEntries(direct.timeseries, user)).toEqual(all);
        expect(await direct.counts(user)).toMatchObject({ usercache: 0, errors: 0, timeseries: all.length });
        // An entry is new once; if the answer was lost, the next answer is `updated`.
        expect(inserted).toBeLessThanOrEqual(all.length);
      }));
  },
  { only: startedHere, mayLeave: true }, // a proxy forwards to one host
);
