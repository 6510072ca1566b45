// Days as users live them, pushed as phones push them: what comes out as trips, sections and documents.
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import type { TripRecord } from '../../../src/model/trip.ts';
import { chainProblems } from '../../support/chain.ts';
import { chainAfter, derived, putAndRun } from '../../support/diary.ts';
import { t0 } from '../../support/phone.ts';
import { android, type Phone, pushedMotions, pushedMove, pushedRide } from '../../support/pushes.ts';
import { newUser, useStore } from '../../support/store.ts';

const store = useStore();
const hour = 3600;

/** The chain of a new user who pushed these entries. */
async function lived(...entries: Entry[]): Promise<TripRecord[]> {
  const chain = await chainAfter(store, await newUser(store), entries);
  expect(chainProblems(chain)).toEqual([]);
  return chain;
}

/** The documents of a new user who pushed these entries: their days, and how many trips each has. */
async function documentsOf(...entries: Entry[]): Promise<[day: string, trips: number][]> {
  const user = await newUser(store);
  await putAndRun(store, user, entries);
  const { documents } = await derived(store, user);
  return documents.map(({ key, data }) => [key.replace('diary/trips-', ''), (data as unknown[]).length]);
}

it('motion readings of a bicycle on a bus give no section by bicycle', async () => {
  const bus = [
    ...pushedMove(android, { from: 0, to: 1800, speed: 8 }),
    ...pushedMove(android, { from: 1830, to: 2400, east: 14_400 }),
    ...[0, 450, 900, 1350].flatMap((from) => [
      ...pushedMotions(android, from, from + 390, 'automotive'),
      ...pushedMotions(android, from + 405, from + 420, 'cycling', 15),
    ]),
  ];
  const { sections } = (await lived(...bus))[0]!.trip!;
  expect(sections.map(({ sensed_mode }) => sensed_mode)).not.toContain('PredictedModeTypes.BICYCLING');
  expect(sections.toSorted((a, b) => b.distance - a.distance)[0]!.sensed_mode).toMatch(/CAR|BUS|TRAIN/);
});

describe('the document', () => {
  const [tokyo, honolulu] = ['Asia/Tokyo', 'Pacific/Honolulu'].map((zone): Phone => ({ platform: 'android', zone }));
  const night = Date.parse('2023-10-28T22:00:00Z') / 1000 - t0; // midnight in Berlin

  it('of a flight that lands on the day before it took off is of the day on which it took off', async () => {
    // It takes off half past midnight on the 15th in Tokyo, and lands on the 14th.
    const begin = 8.2 * hour;
    const off = begin + 2 * hour;
    const flight = [
      ...pushedRide(tokyo!, begin, 0),
      ...pushedMove(tokyo!, { from: off, to: off + 600, east: 6000, speed: 60 }),
      ...pushedMotions(tokyo!, off, off + 7 * hour, 'automotive', 300),
      ...pushedMove(honolulu!, { from: off + 7 * hour, to: off + 7 * hour + 600, east: 6_000_000, speed: 60 }),
      ...pushedMove(honolulu!, { from: off + 7 * hour + 630, to: off + 7 * hour + 1500, east: 6_036_000 }),
    ];
    expect(await documentsOf(...flight)).toEqual([['2023-11-15', 2]]);
  });

  it('of each day has its trips once, around a night of 25 hours', async () => {
    const rides = [
      ...pushedRide(android, night - 1800, 0), // 23:30 on the 28th
      ...pushedRide(android, night + 2.7 * hour, 6000), // 02:42 summer time
      ...pushedRide(android, night + 3.7 * hour, 12_000), // 02:42 again, winter time
      ...pushedRide(android, night + 24.8 * hour, 18_000), // 23:48 on the 29th
    ];
    expect(await documentsOf(...rides)).toEqual([
      ['2023-10-28', 1],
      ['2023-10-29', 3],
    ]);
  });
});

it.each([
  [95, 'dropped'],
  [110, 'trip'],
])('a walk of %d m is a link of the kind "%s"', async (metres, kind) => {
  const walk = [
    ...pushedMove(android, { from: 0, to: 120, speed: metres / 120 }),
    ...pushedMove(android, { from: 150, to: 900, east: metres }),
    ...pushedMotions(android, 0, 120, 'walking'),
  ];
  expect((await lived(...walk)).map((link) => link.kind)).toEqual([kind]);
});
