// One past entry pushed again with other content, at any time: the trip chain equals that of a complete analysis.

import { expect, it } from 'vitest';
import type { Segmenter } from '../../src/analysis/segmenter.ts';
import type { Entry } from '../../src/model/entry.ts';
import { chainOf, pipeline, putAndRun } from '../support/diary.ts';
import { hourlySegmenter } from '../support/hourly-segmenter.ts';
import { t0 } from '../support/phone.ts';
import { android, pushedFix, pushedMotions, pushedMove, pushedTransition } from '../support/pushes.ts';
import { newUser, useStore } from '../support/store.ts';

const store = useStore();

const hour = 3600;
const begin = Math.ceil(t0 / hour) * hour - t0; // a full hour of UTC, at which the hourly segmenter begins a trip

/**
 * Ten minutes of movement in the first hour, rest in which the phone drifts away from where it came to, and movement
 * right after the hour: its first step begins at the last location of the hour before. Hours later a trip begins.
 */
const history: Entry[] = [
  ...pushedMove(android, { from: begin, to: begin + 600, speed: 5, every: 200 }),
  ...pushedMove(android, { from: begin + 1500, to: begin + 3500, east: 3000, speed: 0.2, every: 1000 }),
  ...pushedMove(android, { from: begin + hour + 60, to: begin + hour + 660, east: 3600, speed: 5, every: 200 }),
  ...pushedMove(android, { from: begin + hour + 1500, to: begin + hour + 3500, east: 6600, speed: 0.2, every: 1000 }),
  ...pushedMove(android, { from: begin + 4 * hour, to: begin + 4 * hour + 600, east: 7000, speed: 5, every: 200 }),
  pushedFix(android, begin + 8 * hour, 10_000),
];

/** Restarts that the phone reports only later, during the first two hours; one at the moment of the arrival. */
const late: Entry[] = [500, 600, 900, 3100, 3700, 5000].map((s) => pushedTransition(android, begin + s, 'BOOTED'));

const chainText = async (user: string): Promise<string> => JSON.stringify(await chainOf(store, user), null, 1);

/** A user whose history was analysed by the segmenter. */
async function userWith(entries: readonly Entry[], segmenter = hourlySegmenter): Promise<string> {
  const user = await newUser(store);
  await putAndRun(store, user, entries, { segmenter });
  return user;
}

/** The chain after this push, and after an analysis of everything. */
async function chains(user: string, entry: Entry, segmenter = hourlySegmenter) {
  await putAndRun(store, user, [entry], { segmenter });
  const after = await chainText(user);
  await pipeline(store, user, { segmenter, reanalyseFrom: -Number.MAX_VALUE });
  return { after, anew: await chainText(user) };
}

it('a changed location at any time changes everything that depends on it', async () => {
  const user = await userWith(history);
  const before = await chainOf(store, user);
  expect(before).toHaveLength(3);
  // The second trip begins where the first hour was left: at its last location, and at its state.
  expect(before[1]!.start_ts).toBe(before[0]!.carry.resume_ts);
  expect(before[0]!.carry.raw_place!.enter_ts).toBeLessThan(before[0]!.carry.resume_ts);
  let differing = 0;
  for (const [i, { metadata, data }] of history.entries()) {
    const was = await chainText(user);
    const { after, anew } = await chains(user, { metadata, data: { ...data, altitude: 100 + i } });
    expect(after, `location ${i}`).toBe(anew);
    if (after !== was) differing += 1;
  }
  expect(differing).toBeGreaterThan(10);
});

it('a transition that arrives late changes what follows a stay that began before it', async () => {
  let differing = 0;
  for (const transition of late) {
    const user = await userWith(history);
    const was = await chainText(user);
    const { after, anew } = await chains(user, transition);
    expect(after, `at ${transition.metadata.write_ts - t0 - begin} s`).toBe(anew);
    if (after !== was) differing += 1;
  }
  expect(differing).toBeGreaterThan(2);
});

it('the first filtered location changes the days that had other locations only', async () => {
  const key = 'background/location';
  const user = await userWith(history.map(({ metadata, data }) => ({ metadata: { ...metadata, key }, data })));
  expect(await chainOf(store, user)).toHaveLength(3);
  const { after, anew } = await chains(user, pushedFix(android, begin + 12 * hour, 10_000));
  expect(after).toBe(anew);
  expect(await chainOf(store, user)).toEqual([]);
});

/** Hours whose trips also follow from the motion readings of the hour before, as `needsFrom` states. */
const lookingBack: Segmenter = {
  version: 'looking back 1',
  segment: (stretch, resume, stay) => {
    const found = hourlySegmenter.segment(stretch, resume, stay);
    const trips = found.trips.map((trip) => {
      const needsFrom = Math.floor(trip.last.ts / hour) * hour;
      const before = stretch.motions.filter(({ ts }) => ts >= needsFrom - hour && ts < needsFrom).length;
      return { ...trip, needsFrom, source: `${before} readings before` };
    });
    return { ...found, trips };
  },
};

it('a late reading also changes the trip after the one of its time, if that trip depends on it', async () => {
  const user = await userWith(history, lookingBack);
  const [first, second] = await chainOf(store, user);
  const [reading] = pushedMotions(android, begin + 50, begin + 50, 'walking');
  const { after, anew } = await chains(user, reading!, lookingBack);
  expect(after).toBe(anew);
  const [same, changed] = await chainOf(store, user);
  expect([same, changed!.trip!.source]).toEqual([first, '1 readings before']);
  expect(second!.trip!.source).toBe('0 readings before');
});
