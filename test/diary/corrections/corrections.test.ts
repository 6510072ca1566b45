// Corrections of a day hold for any other entries before or after them, and have no effect once they are undone.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { everyCorrectedLink } from '../../../src/diary/corrections/corrected-trips.ts';
import type { Entry } from '../../../src/model/entry.ts';
import { newUuid } from '../../../src/model/ids.ts';
import { affectsOf } from '../../../src/model/keys.ts';
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
        expect(await allOf(everyCorrectedLink(store, uuid, { limit: 2 }))).toEqual(found.chain);
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
