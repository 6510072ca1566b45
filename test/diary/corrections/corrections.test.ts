// Corrections of a day hold for any other entries before or after them, and have no effect once they are undone.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { correctedTrips, everyCorrectedLink } from '../../../src/diary/corrections/corrected-trips.ts';
import { concernedTime } from '../../../src/diary/corrections/read-corrections.ts';
import type { Entry } from '../../../src/model/entry.ts';
import { newUuid } from '../../../src/model/ids.ts';
import { affectsOf } from '../../../src/model/keys.ts';
import type { TripRecord } from '../../../src/model/trip.ts';

import { rebuild } from '../../../src/upkeep/rebuild-user.ts';
import { allOf } from '../../support/all-of.ts';
import { chainProblems } from '../../support/chain.ts';
import { correctionsOf, undoing, withTokens } from '../../support/corrections.ts';
import {
  chainOf,
  type Derived,
  deliver,
  derived,
  expectSame,
  inOnePush,
  memoryLog,
  pipeline,
  put,
} from '../../support/diary.ts';
import { anyLife, deliveriesOf, runs } from '../../support/lives.ts';
import { useStore } from '../../support/store.ts';

const store = useStore();

const outcome = (uuid: string, entries: Entry[]): Promise<Derived> =>
  deliver(store, uuid, inOnePush(entries), () => derived(store, uuid));

/** Every reader of trips shows the same ones, for any part of the trip chain that it reads. */
async function expectReadersToAgree(uuid: string, chain: readonly TripRecord[]): Promise<void> {
  const trips = correctedTrips(store);
  const shown = chain.filter(({ trip }) => trip !== null);
  const times = shown.map(({ chain_ts }) => chain_ts);
  const edges = [Number.NEGATIVE_INFINITY, ...times, Number.POSITIVE_INFINITY];
  for (const [i, link] of shown.entries()) {
    expect(await trips.next(uuid, edges[i]!)).toEqual(link);
    expect(await trips.previous(uuid, edges[i + 2]!)).toEqual(link);
    expect(await trips.briefsAt(uuid, [link.chain_ts])).toMatchObject([{ trip: { start_loc: link.trip!.start_loc } }]);
  }
  for (const day of new Set(shown.map((link) => link.day))) {
    const ofDay = shown.filter((link) => link.day === day);
    expect(await trips.byDay(uuid, { from: day, to: day })).toEqual(ofDay);
    expect(await trips.starts(uuid, { from: day, to: day })).toEqual(ofDay.map(({ chain_ts }) => ({ chain_ts, day })));
  }
  const everything = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
  expect((await trips.spans(uuid, everything)).map(({ chain_ts }) => chain_ts)).toEqual(times);
  const { count, start_ts, end_ts } = await trips.summary(uuid);
  expect([count, start_ts, end_ts]).toEqual([times.length, shown[0]?.start_ts ?? null, shown.at(-1)?.end_ts ?? null]);
  expect(await allOf(everyCorrectedLink(store, uuid, { limit: 2 }))).toEqual(chain);
}

const lives = anyLife.map(withTokens).chain((entries) =>
  correctionsOf(entries).chain((corrections) =>
    fc.record({
      entries: fc.constant(entries),
      corrections: fc.constant(corrections),
      delivery: deliveriesOf([...entries, ...corrections]),
    }),
  ),
);

it('corrections hold in any order of arrival and after a rebuild, and their undo restores the diary', async () => {
  await fc.assert(
    fc.asyncProperty(lives, fc.constant(newUuid()), async ({ entries, corrections, delivery }, uuid) => {
      fc.pre(entries.some(({ metadata }) => affectsOf(metadata.key) === 'trips')); // else undoing leaves an analysis of nothing
      const before = await outcome(uuid, entries);
      const expected = await outcome(uuid, [...entries, ...corrections]);
      // What a link depends on is the analysis's alone.
      expect(chainProblems(expected.chain.map((link) => ({ ...link, settled_ts: null })))).toEqual([]);
      await deliver(store, uuid, delivery, async () => {
        const found = await derived(store, uuid);
        expectSame(found, expected);
        const standings = await correctedTrips(store).corrections(uuid);
        expect(standings.map(({ correction }) => correction.write_ts)).toEqual(
          corrections.map(({ metadata }) => metadata.write_ts).sort((a, b) => a - b),
        );
        for (const { correction, effect } of standings) {
          if (correction.kind === 'undo') continue;
          const ofTime = await correctedTrips(store).corrections(uuid, concernedTime(correction));
          expect(ofTime).toContainEqual(expect.objectContaining({ correction, effect }));
        }
        await expectReadersToAgree(uuid, found.chain);
        const options = { log: memoryLog(), now: () => 2_000_000_000, stretchSize: 40 };
        expect((await rebuild(store, uuid, options)).changes).toEqual([]);
        expectSame(await derived(store, uuid), expected);
        await put(store, uuid, undoing(corrections));
        await pipeline(store, uuid);
        expectSame(await derived(store, uuid), before, ['chain', 'documents', 'state']);
        expect(await store.trips.chain(uuid, { limit: 1_000_000 })).toEqual(await chainOf(store, uuid));
      });
    }),
    runs(12),
  );
});
