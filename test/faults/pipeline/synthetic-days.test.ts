// Days as users live them, pushed as phones push them: what comes out as trips, sections and documents.
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import type { Trip, TripRecord } from '../../../src/model/trip.ts';
import { simulateDay } from '../../../src/simulate/simulate-day.ts';
import { chainProblems } from '../../support/chain.ts';
import { chainAfter, derived, putAndRun } from '../../support/diary.ts';
import { since, t0 } from '../../support/phone.ts';
import {
  android,
  iphone,
  type Phone,
  pushedFix,
  pushedMotions,
  pushedMove,
  pushedRide,
  pushedTransition,
} from '../../support/pushes.ts';
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

const trips = (chain: readonly TripRecord[]): Trip[] => chain.flatMap(({ trip }) => (trip ? [trip] : []));
const modes = (trip: Trip | undefined): string[] => trip?.sections.map((section) => section.sensed_mode) ?? [];

/** The mode of the longest section. */
const main = (trip: Trip | undefined): string | undefined =>
  trip?.sections.toSorted((a, b) => b.distance - a.distance)[0]?.sensed_mode;

it('a phone at home that only reports its battery, or whose receiver is inaccurate, has no trips', async () => {
  const day = simulateDay({ platform: 'android', day: '2024-03-12', seed: 1 });
  expect(await lived(...day.filter((e) => e.metadata.key === 'background/battery'))).toEqual([]);
  const noise = Array.from({ length: 40 }, (_, i) => pushedFix(iphone, i * 900, (i % 5) * 9, (i % 3) * 9));
  expect(trips(await lived(...noise))).toEqual([]);
});

describe('a commute by iPhone with a gap', () => {
  const walk = pushedMove(iphone, { from: 0, to: 600, speed: 1.3 });
  const ride = pushedMove(iphone, { from: 2100, to: 2700, east: 20_000, speed: 12 });
  const motion = [...pushedMotions(iphone, 0, 600, 'walking'), ...pushedMotions(iphone, 630, 2690, 'automotive')];
  const end = [pushedTransition(iphone, 3400, 'STOPPED_MOVING')];

  it('is one trip if the motion coprocessor reports travel during the gap, as in a tunnel', async () => {
    const [trip, ...more] = trips(await lived(...walk, ...ride, ...motion, ...end));
    expect(more).toEqual([]);
    expect(modes(trip)).toEqual(['PredictedModeTypes.WALKING', expect.stringMatching(/CAR|TRAIN/)]);
    expect(trip!.source).toBe('StateSequence');
  });

  it('is one trip without such a report if it begins with a walk to a vehicle', async () => {
    const known = motion.filter((e) => since(e.metadata.write_ts) < 590 || since(e.metadata.write_ts) > 2100);
    const [trip, ...more] = trips(await lived(...walk, ...ride, ...known, ...end));
    expect(more).toEqual([]);
    expect(trip!.evidence!.waits).toHaveLength(1);
  });
});

it('two phones of different platforms, one after the other in a day, each give their trips', async () => {
  const chain = await lived(
    ...pushedRide(android, 0, 0),
    ...pushedRide(iphone, 4 * hour, 6000, 12),
    ...pushedRide(android, 8 * hour, 13_200),
  );
  expect(trips(chain).map(main)).toEqual(Array(3).fill('PredictedModeTypes.CAR'));
});

it('motion readings that are all unknown leave the mode to the speed, and readings of a bicycle on a bus give no section', async () => {
  const ride = [
    ...pushedMove(android, { from: 0, to: 600, speed: 10 }),
    ...pushedMove(android, { from: 630, to: 1200, east: 6000 }),
    ...pushedMotions(android, 0, 1200, 'unknown'),
  ];
  expect(main(trips(await lived(...ride))[0])).toBe('PredictedModeTypes.CAR');
  const bus = [
    ...pushedMove(android, { from: 0, to: 1800, speed: 8 }),
    ...pushedMove(android, { from: 1830, to: 2400, east: 14_400 }),
    ...[0, 450, 900, 1350].flatMap((from) => [
      ...pushedMotions(android, from, from + 390, 'automotive'),
      ...pushedMotions(android, from + 405, from + 420, 'cycling', 15),
    ]),
  ];
  const [trip] = trips(await lived(...bus));
  expect(modes(trip)).not.toContain('PredictedModeTypes.BICYCLING');
  expect(main(trip)).toMatch(/CAR|BUS|TRAIN/);
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

  it('of a trip over midnight is only of the day on which it began', async () => {
    expect(await documentsOf(...pushedRide(android, night - 300, 0))).toEqual([['2023-10-28', 1]]);
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

it('an unfinished trip is not in the diary until the phone reports its end, and is then complete', async () => {
  const user = await newUser(store);
  const going = [
    ...pushedMove(android, { from: 0, to: 900, speed: 10 }),
    ...pushedMotions(android, 0, 900, 'automotive'),
  ];
  expect(await chainAfter(store, user, going)).toEqual([]);
  expect((await derived(store, user)).documents).toEqual([]);
  expect((await store.pipeline.get(user)).complete_until).toBeNull();
  const [link, ...more] = await chainAfter(store, user, [pushedTransition(android, 930, 'STOPPED_MOVING')]);
  expect(more).toEqual([]);
  expect(Math.abs(since(link!.end_ts) - 900)).toBeLessThan(60);
  expect((await store.pipeline.get(user)).complete_until).toBe(link!.end_ts);
  expect((await derived(store, user)).documents).toHaveLength(1);
});

it.each(['android', 'ios'] as const)(
  'a simulated working day of an %s phone has trips that end at home',
  async (platform) => {
    const found = trips(await lived(...simulateDay({ platform, day: '2024-03-12', seed: 'ada' })));
    expect(found.length).toBeGreaterThanOrEqual(4);
    const home = found[0]!.start_loc;
    expect(found.at(-1)!.end_loc.map((c) => c.toFixed(2))).toEqual(home.map((c) => c.toFixed(2)));
    expect(new Set(found.flatMap(modes)).size).toBeGreaterThanOrEqual(2);
  },
);
