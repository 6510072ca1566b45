// The contract of a segmenter: another one can take the place of the shipped one, and the pipeline keeps its promises.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { analyse } from '../../src/analysis/analyse.ts';
import { shippedSegmenter } from '../../src/analysis/segment.ts';
import { shippedVersion } from '../../src/analysis/segmenter.ts';
import { keys } from '../../src/model/keys.ts';
import type { Carry, TripRecord } from '../../src/model/trip.ts';
import { readStretch, type StretchStore } from '../../src/pipeline/read-stretch.ts';
import { runAll } from '../../src/pipeline/run-all.ts';
import { chainProblems } from '../support/chain.ts';
import { chainOf, memoryLog, pipeline, put } from '../support/diary.ts';
import { hourlySegmenter as segmenter } from '../support/hourly-segmenter.ts';
import { anyLife, runs } from '../support/lives.ts';
import { memoryTimeseries } from '../support/memory-timeseries.ts';
import { android, pushedMove, pushedRide } from '../support/pushes.ts';
import { newUser, useStore } from '../support/store.ts';

const store = useStore();

/** The chain that the segmenter finds, read with so many locations at a time. */
async function chainIn(from: StretchStore, size: number): Promise<TripRecord[]> {
  const records: TripRecord[] = [];
  let carry: Carry | null = null;
  for (let longer = 1; ; ) {
    const stretch = await readStretch(from, 'u', keys.filteredLocation, carry, size * longer);
    const found = analyse({ userId: 'u', ...stretch, carry }, segmenter);
    records.push(...found.records);
    if (stretch.loadedUntil === Number.POSITIVE_INFINITY) return records;
    const stuck: boolean = found.records.length === 0 && found.nextState?.resume_ts === carry?.resume_ts;
    longer = stuck ? longer * 2 : 1;
    carry = found.nextState;
  }
}

it('a segmenter that keeps the contract gives one chain in stretches of any size', async () => {
  await fc.assert(
    fc.asyncProperty(anyLife, fc.integer({ min: 2, max: 90 }), async (entries, size) => {
      const from = memoryTimeseries(entries);
      const expected = await chainIn(from, 1_000_000);
      expect(chainProblems(expected)).toEqual([]);
      expect(JSON.stringify(await chainIn(from, size))).toBe(JSON.stringify(expected));
    }),
    runs(30),
  );
});

it('a run uses the given segmenter, and analyses all users again after a change of it', async () => {
  const user = await newUser(store);
  await put(store, user, [
    ...pushedMove(android, { from: 600, to: 5400, speed: 5 }),
    ...pushedRide(android, 20_000, 30_000),
  ]);
  const sources = async () => [...new Set((await chainOf(store, user)).flatMap(({ trip }) => trip?.source ?? []))];
  expect((await pipeline(store, user, { segmenter })).status).toBe('done');
  expect(await sources()).toEqual(['Hourly']);
  expect((await pipeline(store, user, { segmenter })).status).toBe('nothing_new');
  const all = await runAll(store, { log: memoryLog(), now: () => 4_000_000_000 });
  expect(all).toMatchObject({ users: 1, done: 1 });
  expect(await sources()).toEqual(['StateSequence']);
});

it('the version that commands show without loading the models is that of the shipped segmenter', () =>
  expect(shippedVersion).toBe(shippedSegmenter.version));
