// P4: the diary depends on the set of entries and the user's UUID only, not on order, batches or runs.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/log/log.ts';
import { newUuid } from '../../../src/model/ids.ts';
import { affectsOf } from '../../../src/model/keys.ts';
import { simulateDays } from '../../../src/simulate/simulate-day.ts';
import { rebuild } from '../../../src/upkeep/rebuild-user.ts';
import { chainProblems } from '../../support/chain.ts';
import { type Derived, deliver, derived, expectSame, inOnePush, pipeline, put } from '../../support/diary.ts';
import { anyLife, type Delivery, deliveriesOf, runs } from '../../support/lives.ts';
import { newUser, useStore } from '../../support/store.ts';

const store = useStore();

/** What follows from a delivery to a new user with this UUID. */
async function outcome(uuid: string, delivery: Delivery): Promise<Derived> {
  const found = await deliver(store, uuid, delivery, () => derived(store, uuid));
  expect(chainProblems(found.chain)).toEqual([]);
  return found;
}

describe('a random history', () => {
  const lives = anyLife.chain((entries) => fc.tuple(fc.constant(entries), deliveriesOf(entries)));

  it('gives the same diary for any delivery', async () => {
    await fc.assert(
      fc.asyncProperty(lives, fc.constant(newUuid()), async ([entries, delivery], uuid) => {
        expectSame(await outcome(uuid, delivery), await outcome(uuid, inOnePush(entries)));
      }),
      runs(25),
    );
  });

  it('is rebuilt without a change', async () => {
    await fc.assert(
      fc.asyncProperty(lives, fc.integer({ min: -1, max: 200_000 }), async ([entries, { pushes }], seconds) => {
        fc.pre(entries.some(({ metadata }) => affectsOf(metadata.key) === 'trips')); // else a rebuild is their first analysis
        const uuid = await newUser(store);
        for (const { entries: batch, run } of pushes) {
          await put(store, uuid, batch);
          if (run) await pipeline(store, uuid);
        }
        await pipeline(store, uuid);
        const before = await derived(store, uuid);
        expect(chainProblems(before.chain)).toEqual([]);
        const from = (entries[0]?.metadata.write_ts ?? 0) + seconds;
        const options = { log: silentLog, now: () => 2_000_000_000, stretchSize: 40, ...(seconds >= 0 && { from }) };
        const report = await rebuild(store, uuid, options);
        expect(report.changes).toEqual([]);
        expectSame(await derived(store, uuid), before);
        await store.erase(uuid);
      }),
      runs(10),
    );
  });
});

it.each(['android', 'ios'] as const)(
  'three simulated days of an %s phone give the same diary for any delivery',
  async (platform) => {
    const days = [...simulateDays({ platform, day: '2024-03-29', seed: 'ada' }, 3)]; // over the change to summer time
    const entries = days.flat();
    const uuid = newUuid();
    const expected = await outcome(uuid, inOnePush(entries));
    expect(expected.documents.length).toBe(3);
    const orders: Delivery[] = [
      { pushes: days.toReversed().map((day) => ({ entries: day, run: true, stretchSize: 5000 })) },
      { pushes: days.map((day) => ({ entries: [...day, ...day], run: true, stretchSize: 50 })) },
    ];
    for (const delivery of orders) expectSame(await outcome(uuid, delivery), expected);
    await fc.assert(
      fc.asyncProperty(deliveriesOf(entries), async (delivery) => expectSame(await outcome(uuid, delivery), expected)),
      runs(2),
    );
  },
);
