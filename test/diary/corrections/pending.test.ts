// A correction and its undo count at the next look, whichever reader looks: the run of the pipeline changes nothing.
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { correctedTrips } from '../../../src/diary/corrections/corrected-trips.ts';
import { readDays } from '../../../src/diary/read-days.ts';
import { derivedKeys } from '../../../src/emission/derived-keys.ts';
import { derivedEntries } from '../../../src/emission/read-derived.ts';
import { rowsOf } from '../../../src/export/table-rows.ts';
import { readSections } from '../../../src/figures/read-sections.ts';
import { newUuid } from '../../../src/model/ids.ts';
import { affectsOf } from '../../../src/model/keys.ts';
import { simulateDays } from '../../../src/simulate/simulate-day.ts';
import { allOf } from '../../support/all-of.ts';
import { correction, correctionsOf, undoing } from '../../support/corrections.ts';
import { chainOf, pipeline, put } from '../../support/diary.ts';
import { anyLife, runs } from '../../support/lives.ts';
import { newUser, useStore } from '../../support/store.ts';

const store = useStore();
const now = 4_000_000_000;

/** What people, programs and researchers see of a user, without the documents for phones. */
async function look(uuid: string) {
  const user = (await store.users.byUuid(uuid))!;
  const chain = await chainOf(store, uuid);
  const days = [...new Set(chain.map(({ day }) => day))].sort();
  const from = chain.reduce((least, { start_ts }) => Math.min(least, start_ts), now);
  const trips = correctedTrips(store);
  const source = { store, person: user, now, days: {} };
  return {
    chain,
    standings: await trips.corrections(uuid),
    summary: await trips.summary(uuid),
    days: await Promise.all(days.slice(0, 5).map((day) => readDays(store, user, { from: day, to: day }, now))),
    sections: await readSections(trips, uuid, { from, to: from + 30 * 86_400 }),
    rows: await allOf(rowsOf(['trips', 'places', 'locations'], source as never)),
    derived: await allOf(derivedEntries(store, uuid, derivedKeys, { time: 'start_ts', from: -now, to: now })),
  };
}

it('only the pipeline, the upkeep of the store and cases for maintainers read the stored trip chain without corrections', async () => {
  const root = new URL('../../../src/', import.meta.url).pathname;
  const files = (await readdir(root, { recursive: true })).filter((name) => name.endsWith('.ts'));
  // Places that a run keeps are no trips.
  const readers = files.filter((name) => /\bstore\.trips\b(?!\.places\()/.test(readFileSync(join(root, name), 'utf8')));
  const rooms = new Set(readers.map((name) => name.replace(/\/[^/]*$/, '')));
  expect([...rooms].sort()).toEqual(['diary/corrections', 'evaluate', 'pipeline', 'upkeep']);
  expect(readers.filter((name) => name.startsWith('evaluate'))).toEqual(['evaluate/find-case.ts']);
});

it('corrections weeks apart are applied without reading the trips between them', async () => {
  const uuid = await newUser(store);
  const person = { platform: 'android', day: '2024-01-10', seed: 'far', zone: 'Europe/Berlin' } as const;
  for (const entries of simulateDays(person, 24)) await put(store, uuid, entries);
  await pipeline(store, uuid);
  const trips = (await chainOf(store, uuid)).filter(({ kind }) => kind === 'trip');
  const stated = [trips[1]!, trips.at(-2)!].map(({ start_ts, end_ts }, i) =>
    correction(now - 9 + i, { kind: 'mode', ts: (start_ts + end_ts) / 2, mode: 'ferry' }),
  );
  await put(store, uuid, stated);
  const read = vi.spyOn(store.trips, 'chain');
  const times = trips.map(({ chain_ts }) => chain_ts);
  const { briefsAt, summary, corrections } = correctedTrips(store);
  expect(await briefsAt(uuid, times)).toHaveLength(times.length);
  expect(await summary(uuid)).toMatchObject({ count: times.length });
  expect(await corrections(uuid)).toMatchObject([{ effect: 'applied' }, { effect: 'applied' }]);
  const pages = await Promise.all(read.mock.results.map(({ value }) => value));
  read.mockRestore();
  expect(Math.max(...pages.map((page) => page.length))).toBeLessThan(times.length / 2);
});

const lives = anyLife.chain((entries) =>
  fc.record({ entries: fc.constant(entries), corrections: correctionsOf(entries) }),
);

it('corrections and their undo have the same effect before and after a run of the pipeline', async () => {
  await fc.assert(
    fc.asyncProperty(lives, fc.constant(newUuid()), async ({ entries, corrections: all }, uuid) => {
      fc.pre(entries.some(({ metadata }) => affectsOf(metadata.key) === 'trips'));
      const excluding = all.filter(({ data }) => data.kind === 'set_aside').map(({ metadata }) => metadata.write_ts);
      const corrections = all.filter(
        ({ data, metadata }) => !excluding.includes(metadata.write_ts) && !excluding.includes(data.of as number),
      );
      await newUser(store, uuid);
      try {
        await put(store, uuid, entries);
        await pipeline(store, uuid);
        const before = await look(uuid);
        await put(store, uuid, corrections);
        const pending = await look(uuid);
        expect(pending.standings).toHaveLength(corrections.length);
        await pipeline(store, uuid);
        expect(await look(uuid)).toEqual(pending);
        await put(store, uuid, undoing(corrections));
        const undone = await look(uuid);
        expect({ ...undone, standings: [] }).toEqual({ ...before, standings: [] });
        await pipeline(store, uuid);
        expect(await look(uuid)).toEqual(undone);
      } finally {
        await store.erase(uuid);
      }
    }),
    runs(15),
  );
});
