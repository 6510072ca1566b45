// A phone that pushes between any two calls of the runs that process its user: the diary depends on its entries only.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { silentLog } from '../../src/log/log.ts';
import { type Entry, identityText } from '../../src/model/entry.ts';
import { newUuid } from '../../src/model/ids.ts';
import { runPipeline } from '../../src/pipeline/run-pipeline.ts';
import { seededRandom } from '../../src/simulate/random.ts';
import { share } from '../support/sample.ts';
import { newUser, useStore } from '../support/store.ts';
import { dyingAt, interposedStore } from './interposed-store.ts';
import { everythingOf, pushesOf, releaseLease } from './kit.ts';

const store = useStore();

const options = { log: silentLog, now: () => 1_710_400_000 };
const [day] = pushesOf('ada', 'android', 1);
const noon = day!.find((entry) => entry.metadata.key === 'background/filtered_location')!.data.ts as number;

/** One of three incidents, in a new version; the last two kinds do not convert. */
function incident(which: number, version: number): Entry {
  const ts = noon + 60 * which;
  const stress = version % 4 === 2 ? 101 : version;
  const coordinates = version % 4 === 3 ? [9.05] : [9.05 + version / 1000, 48.5];
  return {
    metadata: { key: 'manual/incident', write_ts: ts + 1, platform: 'android', time_zone: 'Europe/Berlin' },
    data: { ts, stress, loc: { type: 'Point', coordinates } },
  };
}

const push = (userId: string, entries: readonly Entry[]) =>
  store.usercache.put(userId, { entries, unusable: [] }, options.now());

const pushArbitrary = fc.record({
  before: fc.nat({ max: 45 }),
  what: fc.oneof(
    fc.record({ incident: fc.nat({ max: 2 }), version: fc.nat({ max: 11 }) }),
    fc.record({ share: fc.integer({ min: 5, max: 40 }) }), // % of the day's entries, some of them pushed before
  ),
});
const scriptArbitrary = fc.record({
  seed: fc.nat(),
  /** The whole day waits before the first run, and what comes meanwhile are incidents, or the same again. */
  dayFirst: fc.boolean(),
  runs: fc.array(
    fc.record({
      pushes: fc.array(pushArbitrary, { maxLength: 5 }),
      diesAt: fc.option(fc.nat({ max: 8 }), { freq: 2 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});

it('the diary depends on the entries only, not on pushes between calls', async () => {
  await fc.assert(
    fc.asyncProperty(scriptArbitrary, async ({ seed, dayFirst, runs }) => {
      const userId = newUuid();
      await newUser(store, userId);
      const random = seededRandom(seed);
      const last = new Map(day!.map((entry) => [identityText(entry.metadata), entry]));
      const incidents = new Map<string, Entry>();
      if (dayFirst) await push(userId, day!);
      for (const { pushes, diesAt } of runs) {
        let calls = 0;
        const dying = dyingAt(diesAt ?? Number.POSITIVE_INFINITY);
        const disturbed = interposedStore(store, async (call) => {
          dying(call);
          const now = calls++;
          for (const { before, what } of pushes) {
            if (before !== now) continue;
            if ('share' in what)
              await push(
                userId,
                day!.filter(() => random.chance(what.share / 100)),
              );
            else {
              const entry = incident(what.incident, what.version);
              incidents.set(identityText(entry.metadata), entry);
              await push(userId, [entry]);
            }
          }
        });
        await runPipeline(disturbed, userId, options);
        await releaseLease(store, userId);
      }
      if (!dayFirst) await push(userId, [...last.values()]);
      await runPipeline(store, userId, options);
      const found = await everythingOf(store, userId);

      await store.erase(userId);
      await newUser(store, userId);
      await push(userId, [...last.values(), ...incidents.values()]);
      await runPipeline(store, userId, options);
      expect(found).toBe(await everythingOf(store, userId));
    }),
    { numRuns: Number(process.env.MOBILITY_TEST_INTERLEAVINGS ?? share(15)), endOnFailure: false },
  );
});
