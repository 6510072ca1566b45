// The contract of a segmenter: another one can take the place of the shipped one, and the pipeline keeps its promises.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { shippedSegmenter } from '../../src/analysis/segment.ts';
import { shippedVersion } from '../../src/analysis/segmenter.ts';
import { runAll } from '../../src/pipeline/run-all.ts';
import { chainProblems } from '../support/chain.ts';
import { chainOf, memoryLog, pipeline, put } from '../support/diary.ts';
import { hourlySegmenter as segmenter } from '../support/hourly-segmenter.ts';
import { anyLife, runs } from '../support/lives.ts';
import { memoryTimeseries } from '../support/memory-timeseries.ts';
import { android, pushedMove, pushedRide } from '../support/pushes.ts';
import { newUser, useStore } from '../support/store.ts';
import { chainIn, chainOfWhole } from '../support/stretches.ts';

const store = useStore();

it('a segmenter that keeps the contract gives one chain in stretches of any size', async () => {
  await fc.assert(
    fc.asyncProperty(anyLife, fc.integer({ min: 2, max: 90 }), async (entries, size) => {
      const from = memoryTimeseries(entries);
      const expected = await chainOfWhole(from, segmenter);
      expect(chainProblems(expected)).toEqual([]);
      expect(JSON.stringify(await chainIn(from, [size], segmenter))).toBe(JSON.stringify(expected));
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
