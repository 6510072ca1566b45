// Days as users live them, pushed as phones push them: what comes out as trips, sections and documents.
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../../src/model/entry.ts';
import type { Trip, TripRecord } from '../../../src/model/trip.ts';
import { simulateDay } from '../../../src/simulate/simulate-day.ts';
import { chainProblems } from '../../support/chain.ts';
import { chainAfter, chainOf, derived, pipeline, put } from '../../support/diary.ts';
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

/** The chain of a new user who pushed these entries. */
async function lived(...entries: Entry[]): Promise<TripRecord[]> {
  const chain = await chainAfter(store, await newUser(store), entries);
  expect(chainProblems(chain)).toEqual([]);
  return chain;
}

const trips = (chain: readonly TripRecord[]): Trip[] => chain.flatMap(({ trip }) => (trip ? [trip] : []));
const times = (chain: readonly TripRecord[]): number[][] =>
  trips(chain).map((trip) => [Math.round(since(trip.start_ts)), Math.round(since(trip.end_ts))]);
const modes = (trip: Trip | undefined): string[] => trip?.sections.map((section) => section.sensed_mode) ?? [];

/** The mode of the longest section. */
const main = (trip: Trip | undefined): string | undefined =>
  trip?.sections.toSorted((a, b) => b.distance - a.distance)[0]?.sensed_mode;

const hour = 3600;

describe('an empty day', () => {
  it('of a user who pushed nothing has no trip chain and no documents', async () => {
    const user = await newUser(store);
    expect((await pipeline(store, user)).status).toBe('nothing_new');
    expect(await derived(store, user)).toMatchObject({ chain: [], documents: [], timeseries: [] });
  });

  it('of a phone that only reported its battery has no trips', async () => {
    const day = simulateDay({ platform: 'android', day: '2024-03-12', seed: 1 });
    expect(await lived(...day.filter((e) => e.metadata.key === 'background/battery'))).toEqual([]);
  });

  it('of a phone at home with an inaccurate receiver has no trips', async () => {
    const noise = Array.from({ length: 40 }, (_, i) => pushedFix(iphone, i * 900, (i % 5) * 9, (i % 3) * 9));
    expect(trips(await lived(...noise))).toEqual([]);
  });
});

describe('a commute by Android with an errand of twenty minutes', () => {
  const leg = (from: number, east: number) => [
    ...pushedMove(android, { from, to: from + 600, east, speed: 10 }),
    ...pushedMotions(android, from, from + 570, 'automotive'),
  ];
  const errand = [
    pushedTransition(android, -10, 'EXITED_GEOFENCE', 'WAITING_FOR_TRIP_START'),
    ...leg(0, 0),
    ...pushedMove(android, { from: 630, to: 1800, east: 6000 }),
    ...leg(1830, 6000),
    ...pushedMove(android, { from: 2460, to: 3000, east: 12_000 }),
    pushedTransition(android, 3010, 'STOPPED_MOVING'),
  ];

  it('gives two trips with the shop as the place between them', async () => {
    const [there, on, ...more] = trips(await lived(...errand));
    expect(more).toEqual([]);
    expect(on!.start_place.id).toBe(there!.end_place.id);
    expect(on!.distance / 6000).toBeCloseTo(1, 1);
    expect([main(there), main(on)]).toEqual(['PredictedModeTypes.CAR', 'PredictedModeTypes.CAR']);
  });
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

describe('a flight', () => {
  const tokyo: Phone = { platform: 'android', zone: 'Asia/Tokyo' };
  const honolulu: Phone = { platform: 'android', zone: 'Pacific/Honolulu' };
  const flight = [
    ...pushedRide(tokyo, 0, 0),
    ...pushedMove(tokyo, { from: 2 * hour, to: 2 * hour + 600, east: 6000, speed: 60 }),
    ...pushedMotions(tokyo, 2 * hour, 9 * hour, 'automotive', 300),
    ...pushedMove(honolulu, { from: 9 * hour, to: 9 * hour + 600, east: 6_000_000, speed: 60 }),
    ...pushedMove(honolulu, { from: 9 * hour + 630, to: 9 * hour + 1500, east: 6_036_000 }),
  ];

  it('is one trip by air, from one zone to another', async () => {
    const [, trip, ...more] = trips(await lived(...flight));
    expect(more).toEqual([]);
    expect(main(trip)).toBe('PredictedModeTypes.AIR_OR_HSR');
    expect([trip!.start_zone, trip!.end_zone]).toEqual(['Asia/Tokyo', 'Pacific/Honolulu']);
  });

  it('that lands on the day before it took off has its document on the day it took off', async () => {
    const user = await newUser(store);
    // 16:00 in Tokyo on the 14th; half past midnight there comes 8.5 hours later, and the landing is on the 14th again.
    const later = flight.map((e) => ({
      metadata: { ...e.metadata, write_ts: e.metadata.write_ts + 8.2 * hour },
      data: { ...e.data, ts: (e.data.ts as number) + 8.2 * hour },
    }));
    const chain = await chainAfter(store, user, later);
    expect(chain.map((link) => link.day)).toEqual(['2023-11-15', '2023-11-15']);
    const { documents } = await derived(store, user);
    expect(documents.map((d) => d.key)).toEqual(['diary/trips-2023-11-15']);
  });
});

describe('a phone that was off', () => {
  it('overnight and is next seen at the same place: the user stayed there', async () => {
    const chain = await lived(...pushedRide(android, 0, 0), ...pushedRide(android, 14 * hour, 6000));
    expect(trips(chain)).toHaveLength(2);
    expect(chain[1]!.untracked).toBeNull();
    expect(trips(chain)[1]!.start_place.id).toBe(trips(chain)[0]!.end_place.id);
  });

  it('overnight and is next seen elsewhere: untracked time begins with its last event at the place', async () => {
    const chain = await lived(...pushedRide(android, 0, 0), ...pushedRide(android, 14 * hour, 16_000));
    expect(chain[1]!.untracked).toMatchObject({ start_ts: t0 + 1210, end_ts: t0 + 14 * hour });
  });

  it('and restarts during a trip: two trips with untracked time between them', async () => {
    const boot = [
      ...pushedMove(android, { from: 0, to: 600, speed: 10 }),
      pushedTransition(android, 700, 'BOOTED', 'START'),
      ...pushedMove(android, { from: 900, to: 1500, east: 9000, speed: 10 }),
      ...pushedMove(android, { from: 1530, to: 2100, east: 15_000 }),
      ...pushedMotions(android, 0, 600, 'automotive'),
      ...pushedMotions(android, 900, 1500, 'automotive'),
    ];
    const chain = await lived(...boot);
    expect(times(chain)).toHaveLength(2);
    expect(chain[1]!.untracked).not.toBeNull();
  });
});

describe('two phones of different platforms in one day', () => {
  it('one after the other: each gives its trips', async () => {
    const chain = await lived(
      ...pushedRide(android, 0, 0),
      ...pushedRide(iphone, 4 * hour, 6000, 12),
      ...pushedRide(android, 8 * hour, 13_200),
    );
    expect(trips(chain).map(main)).toEqual(Array(3).fill('PredictedModeTypes.CAR'));
  });

  it('both carried by the user: the trips come from one phone only', async () => {
    const both = [
      ...pushedRide(android, 0, 0),
      ...pushedMove(iphone, { from: 15, to: 615, every: 20, east: 150, speed: 10 }),
      ...pushedMotions(iphone, 15, 600, 'automotive'),
    ];
    const [trip, ...more] = trips(await lived(...both));
    expect(more).toEqual([]);
    expect(Math.max(...trip!.sections[0]!.speeds)).toBeLessThan(11);
  });
});

describe('motion readings', () => {
  const silent = (word: 'unknown' | null) => [
    ...pushedMove(android, { from: 0, to: 600, speed: 10 }),
    ...pushedMove(android, { from: 630, to: 1200, east: 6000 }),
    ...(word ? pushedMotions(android, 0, 1200, word) : []),
  ];

  it('are missing: the mode follows from the speed', async () => {
    expect(main(trips(await lived(...silent(null)))[0])).toBe('PredictedModeTypes.CAR');
  });

  it('are all unknown: the mode follows from the speed', async () => {
    expect(main(trips(await lived(...silent('unknown')))[0])).toBe('PredictedModeTypes.CAR');
  });

  it('that alternate between bus and bicycle on a bus trip give one section', async () => {
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
});

describe('a receiver that jumps', () => {
  it('does not lengthen the trip: it is as long as the street', async () => {
    const ride = pushedRide(android, 0, 0).map((entry) => {
      const s = since(entry.metadata.write_ts);
      const jumps = entry.metadata.key === 'background/filtered_location' && [210, 240, 390].includes(s);
      return jumps ? pushedFix(android, s, s * 10, 4000) : entry;
    });
    const [trip] = trips(await lived(...ride));
    const [straight] = trips(await lived(...pushedRide(android, 0, 0)));
    expect(trip!.distance / straight!.distance).toBeCloseTo(1, 1);
    const { spikes = 0, strays = 0 } = trip!.evidence!.left_out;
    expect(spikes + strays).toBeGreaterThanOrEqual(3);
  });
});

describe('the order and the number of deliveries', () => {
  it('do not change the trips, nor do duplicates under other write times', async () => {
    const day = [...pushedRide(android, 0, 0), ...pushedRide(android, 2 * hour, 6000, -10)];
    const again = day.map((e) => ({ ...e, metadata: { ...e.metadata, write_ts: e.metadata.write_ts + 0.25 } }));
    // Motions and transitions have the time of their writing: only locations can come twice.
    const locations = again.filter((e) => e.metadata.key === 'background/filtered_location');
    const plain = trips(await lived(...day));
    const twice = trips(await lived(...[...day, ...locations].reverse()));
    expect(twice.map(({ start_ts, end_ts, distance }) => [start_ts, end_ts, distance])).toEqual(
      plain.map(({ start_ts, end_ts, distance }) => [start_ts, end_ts, distance]),
    );
  });
});

describe('days and zones', () => {
  const berlin = (day: string) => Date.parse(`${day}T22:00:00Z`) / 1000 - t0; // around midnight in Berlin

  it('a night of 25 hours: every trip is on its local day, once', async () => {
    const user = await newUser(store);
    const night = berlin('2023-10-28');
    const chain = await chainAfter(store, user, [
      ...pushedRide(android, night - 1800, 0), // 23:30 on the 28th
      ...pushedRide(android, night + 2.7 * hour, 6000), // 02:42 summer time
      ...pushedRide(android, night + 3.7 * hour, 12_000), // 02:42 again, winter time
      ...pushedRide(android, night + 24.8 * hour, 18_000), // 23:48 on the 29th
    ]);
    expect(chain.map((link) => link.day)).toEqual(['2023-10-28', '2023-10-29', '2023-10-29', '2023-10-29']);
    const { documents } = await derived(store, user);
    expect(documents.map((d) => [d.key, (d.data as unknown[]).length])).toEqual([
      ['diary/trips-2023-10-28', 1],
      ['diary/trips-2023-10-29', 3],
    ]);
  });

  it('a trip over midnight belongs only to the day on which it began', async () => {
    const user = await newUser(store);
    const midnight = Date.parse('2023-11-14T23:00:00Z') / 1000 - t0;
    await chainAfter(store, user, pushedRide(android, midnight - 300, 0));
    const { documents } = await derived(store, user);
    expect(documents.map((d) => [d.key, (d.data as unknown[]).length])).toEqual([['diary/trips-2023-11-14', 1]]);
  });
});

describe('a walk', () => {
  const walk = (metres: number) => [
    ...pushedMove(android, { from: 0, to: 120, speed: metres / 120 }),
    ...pushedMove(android, { from: 150, to: 900, east: metres }),
    ...pushedMotions(android, 0, 120, 'walking'),
  ];

  it('of less than 100 m is not a trip, and a slightly longer one is', async () => {
    expect((await lived(...walk(95))).map((link) => link.kind)).toEqual(['dropped']);
    expect((await lived(...walk(110))).map((link) => link.kind)).toEqual(['trip']);
  });
});

describe('an unfinished trip', () => {
  it('is not in the diary until the phone reports its end, and is then complete', async () => {
    const user = await newUser(store);
    const going = [
      ...pushedMove(android, { from: 0, to: 900, speed: 10 }),
      ...pushedMotions(android, 0, 900, 'automotive'),
    ];
    expect(await chainAfter(store, user, going)).toEqual([]);
    expect((await derived(store, user)).documents).toEqual([]);
    expect((await store.pipeline.get(user)).complete_until).toBeNull();
    await put(store, user, [pushedTransition(android, 930, 'STOPPED_MOVING')]);
    await pipeline(store, user);
    const chain = await chainOf(store, user);
    const [[, end]] = times(chain) as [number[]];
    expect(Math.abs(end! - 900)).toBeLessThan(60);
    expect((await store.pipeline.get(user)).complete_until).toBe(chain[0]!.end_ts);
    expect((await derived(store, user)).documents).toHaveLength(1);
  });

  it('does not change the trips before it', async () => {
    const user = await newUser(store);
    const chain = await chainAfter(store, user, [
      ...pushedRide(android, 0, 0),
      ...pushedMove(android, { from: hour, to: hour + 600, east: 6000, speed: 10 }),
    ]);
    expect(chain).toHaveLength(1);
    expect((await store.pipeline.get(user)).complete_until).toBe(chain[0]!.end_ts);
  });
});

describe.each(['android', 'ios'] as const)('a simulated working day of an %s phone', (platform) => {
  it('has trips that follow each other, ends at home, and has trips of the true length', async () => {
    const chain = await lived(...simulateDay({ platform, day: '2024-03-12', seed: 'ada' }));
    const found = trips(chain);
    expect(found.length).toBeGreaterThanOrEqual(4);
    const home = found[0]!.start_loc;
    expect(found.at(-1)!.end_loc.map((c) => c.toFixed(2))).toEqual(home.map((c) => c.toFixed(2)));
    expect(new Set(found.flatMap(modes)).size).toBeGreaterThanOrEqual(2);
  });
});
