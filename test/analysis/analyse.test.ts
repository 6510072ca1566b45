// The analysis over every pure stage: the chain of trips, places between them, what was not tracked, and ids that stay.
import { expect, it } from 'vitest';
import type { AnalyseInput } from '../../src/analysis/analyse.ts';
import type { Location } from '../../src/analysis/clean/observations.ts';

import { chainProblems } from '../support/chain.ts';
import { at, event, iosAt, motions, moving, since, spot, t0 } from '../support/phone.ts';
import { analysed, hour, linksOf, minute, rideAndRest, tripsOf } from './kit.ts';

/** Ten minutes at 10 m/s from `from` on, then ten minutes of rest: 6 km. */
const ride = (from: number, east: number, speed = 10): Location[] => rideAndRest(from, east, 600, speed);
const by = (...starts: number[]) => starts.flatMap((from) => motions(from, from + 600, 'IN_VEHICLE'));
const locations = [...ride(0, 0), ...ride(hour, 6000), ...ride(2 * hour, 12_000, -20)];
const readings = by(0, hour, 2 * hour);
/** The spot as a smoothed position: within a metre or so. */
function near(east: number) {
  const { latitude, longitude } = spot(east);
  return [longitude, latitude].map((degrees) => expect.closeTo(degrees, 4));
}

it('a chain of trips is empty without data', () => {
  expect(analysed({})).toEqual({ records: [], drafts: [], nextState: null, latest: null, failed: [] });
});

it('a chain of trips ends each trip where and when the next one left: places are shared', () => {
  const trips = tripsOf({ locations, motions: readings });
  expect(trips).toHaveLength(3);
  expect(trips.slice(1).map((trip) => trip.start_place)).toEqual(trips.slice(0, -1).map((trip) => trip.end_place));
  expect(trips.slice(1).map((trip) => trip.start_loc)).toEqual(trips.slice(0, -1).map((trip) => trip.end_loc));
  expect(trips[0]!.start_place).toMatchObject({ enter_ts: null, ending_trip: null, location: near(0) });
  expect(trips.map((trip) => trip.source)).toEqual(Array(3).fill('StateSequence'));
});

it('a chain of trips gives a trip the day of its start where it starts, and the zones of both ends', () => {
  const flight = [
    ...moving({ from: 0, to: 600, speed: 200 }, { zone: 'Asia/Tokyo' }),
    ...moving({ from: 630, to: 1200, east: 120_000 }, { zone: 'America/Los_Angeles', zoneGuessed: true }),
  ];
  const [link] = linksOf({ locations: flight, motions: by(0) });
  const zones = { start_zone: 'Asia/Tokyo', end_zone: 'America/Los_Angeles', zone_guessed: true };
  expect(link).toMatchObject({ day: '2023-11-14', trip: zones });
});

it('a chain of trips has ids that depend on the user and the times only', () => {
  const ids = (input: Partial<AnalyseInput>) =>
    tripsOf({ locations, motions: readings, ...input }).flatMap(
      ({ id, raw_trip, start_place, end_place, sections: [first] }) => [
        id,
        raw_trip,
        start_place.id,
        end_place.id,
        first!.id,
      ],
    );
  const one = ids({});
  const slower = locations.map((l) => ({ ...l, accuracy: 50, altitude: 3 }));
  expect(ids({ locations: slower, motions: readings.slice(3) })).toEqual(one);
  expect(new Set(one).size).toBe(5 + 4 * 2); // places are shared
  expect(ids({ userId: 'v' })).not.toContain(one[0]);
});

it('a trip depends on the end of the data until a location too late to continue it settles it', () => {
  const [first, , last] = linksOf({ locations, motions: readings });
  expect(since(first!.settled_ts!)).toBe(hour); // 45 minutes after the dwell at 720
  expect(last!.settled_ts).toBeNull();
});

const open = moving({ from: 0, to: 900, speed: 10 });

it('a trip that has not ended is not a link, and the next stretch begins with it', () => {
  const { records, nextState } = analysed({ locations: open, motions: by(0) });
  expect(records).toEqual([]);
  expect(nextState).toMatchObject({ resume_ts: t0, started: true, raw_place: null, place: null });
});

it('a trip that has not ended depends on the end of the data if only the phone reported its end', () => {
  const [link] = linksOf({ locations: open, motions: by(0), events: [event(960, 'STOPPED_MOVING')] });
  expect(link).toMatchObject({ kind: 'trip', settled_ts: null });
});

it('a trip that has not ended and was ended by the phone only may get another end when more data come', () => {
  const more = moving({ from: 930, to: 2000, east: 9000, speed: 10 });
  const events = [event(960, 'STOPPED_MOVING')];
  expect(linksOf({ locations: [...open, ...more], motions: by(0), events })).toEqual([]);
});

const stroll = (from: number, east: number): Location[] => [
  ...moving({ from, to: from + 60, east, speed: 0.5 }),
  ...moving({ from: from + 90, to: from + 600, east: east + 30 }),
];

it('a trip too short to keep becomes a dropped link, and the user stays at the place', () => {
  const locations = [...ride(0, 0), ...stroll(hour, 6000), ...ride(2 * hour, 6030)];
  const walk = motions(hour, hour + 90, 'WALKING');
  const [first, dropped, next] = linksOf({ locations, motions: [...by(0), ...walk, ...by(2 * hour)] });
  expect(dropped).toMatchObject({ kind: 'dropped', trip: null, untracked: null });
  const place = first!.trip!.end_place;
  const raw_places = [...place.raw_places, dropped!.carry.raw_place!.id];
  expect(next!.trip!.start_place).toEqual({ ...place, raw_places });
});

it('a trip too short to keep and first of all leaves the first place where the first kept trip begins', () => {
  const [dropped, kept] = linksOf({ locations: [...stroll(0, 0), ...ride(hour, 30)], motions: by(hour) });
  expect(dropped!.carry.place).toBeNull();
  expect(kept!.trip!.start_place.enter_ts).toBeNull();
});

it('a trip too short to keep repeated until it leads away becomes untracked time, not a jump', () => {
  const steps = [0, 1, 2, 3].flatMap((i) => stroll(hour + i * 1200, 6000 + i * 80));
  const start = hour + 4 * 1200;
  const walks = [0, 1, 2, 3].flatMap((i) => motions(hour + i * 1200, hour + i * 1200 + 90, 'WALKING'));
  const locations = [...ride(0, 0), ...steps, ...ride(start, 6270)];
  const records = linksOf({ locations, motions: [...by(0), ...walks, ...by(start)] });
  const kept = records.at(-1)!;
  expect(records.map((r) => r.kind)).toEqual(['trip', ...Array(4).fill('dropped'), 'trip']);
  expect(since(kept.untracked!.start_ts)).toBe(hour + 1200); // the second stroll led more than 100 m away
  expect(since(kept.untracked!.end_ts)).toBe(since(records.at(-2)!.end_ts));
  expect(kept.trip!.start_place.id).not.toBe(records[0]!.trip!.end_place.id);
});

it('a trip too short to keep that led away and back leaves nothing in the diary', () => {
  const strolls = [6000, 6080, 6060].flatMap((east, i) => stroll(hour + i * 1200, east));
  const locations = [...ride(0, 0), ...strolls, ...ride(3 * hour, 6090)];
  const walks = motions(hour, 2 * hour, 'WALKING');
  const records = linksOf({ locations, motions: [...by(0), ...walks, ...by(3 * hour)] });
  expect(records.map((r) => r.kind)).toEqual(['trip', 'dropped', 'dropped', 'dropped', 'trip']);
  expect(records.map((r) => r.carry.away_since !== undefined)).toEqual([false, false, true, false, false]);
  expect(records.at(-1)!.untracked).toBeNull();
});

it('a trip too short to keep that cannot be built is dropped and reported, and no other trip is lost', () => {
  const poisoned = ride(hour, 6000);
  Object.defineProperty(poisoned[3], 'altitude', {
    get: () => {
      throw new Error('no altitude');
    },
  });
  const locations = [...ride(0, 0), ...poisoned, ...ride(2 * hour, 12_000)];
  const { records, failed } = analysed({ locations, motions: readings });
  expect(records.map((r) => r.kind)).toEqual(['trip', 'dropped', 'trip']);
  expect(failed).toEqual([{ chainTs: t0 + hour, error: new Error('no altitude') }]);
  expect(chainProblems(records)).toEqual([]);
});

const turnsUp = (from: number, east: number, more: Partial<AnalyseInput> = {}) =>
  linksOf({ locations: [...ride(0, 0), ...ride(from, east)], motions: by(0, from), ...more }).at(-1)!;

it('untracked time is recorded if the user is next seen more than 1000 m away, after more than 45 minutes', () => {
  const link = turnsUp(5 * hour, 6000 + 2600);
  expect(since(link.untracked!.start_ts)).toBeGreaterThanOrEqual(600); // the last sign of life at the place
  expect(since(link.untracked!.end_ts)).toBe(5 * hour);
  expect(link.untracked).toMatchObject({ start_loc: near(6000), end_loc: near(8600) });
  expect(link.trip!.start_place).toMatchObject({ enter_ts: t0 + 5 * hour, ending_trip: null });
  expect(since(link.trip!.start_ts)).toBe(5 * hour);
});

it('untracked time is not recorded if the user was nearer, the gap shorter, or readings show the way', () => {
  expect(turnsUp(5 * hour, 6000 + 990).untracked).toBeNull();
  expect(turnsUp(45 * minute, 6000 + 2600).untracked).toBeNull();
  const rode = { motions: [...by(0), ...motions(5 * hour - 600, 5 * hour, 'IN_VEHICLE'), ...by(5 * hour)] };
  const shown = turnsUp(5 * hour, 6000 + 5000, rode);
  expect(shown.untracked).toBeNull();
  expect(5 * hour - since(shown.trip!.start_ts)).toBeLessThanOrEqual(20 * minute);
});

it('untracked time has the same limit with distance sampling', () => {
  const ios = (from: number, east: number) =>
    Array.from({ length: 11 }, (_, i) => iosAt(from + i * minute, east + i * 600));
  const last = (east: number) =>
    turnsUp(5 * hour, 0, { locations: [...ios(0, 0), ...ios(5 * hour, east), iosAt(9 * hour, east + 6100)] });
  expect(last(6000 + 1010).untracked).not.toBeNull();
  expect(last(6000 + 990).untracked).toBeNull();
});

it('untracked time is recorded after a restart of the phone at any distance above 100 m', () => {
  const events = [event(hour, 'BOOTED')];
  expect(turnsUp(2 * hour, 6000 + 300, { events }).untracked).not.toBeNull();
  expect(turnsUp(2 * hour, 6000 + 90, { events }).untracked).toBeNull();
});

it('untracked time that precedes a dropped trip is recorded with the next kept trip', () => {
  const ghost = [at(5 * hour, 30_000), ...moving({ from: 5 * hour + 30, to: 5 * hour + 400, east: 30_000 })];
  const records = linksOf({
    locations: [...ride(0, 0), ...ghost, ...ride(7 * hour, 30_000)],
    motions: by(0, 7 * hour),
  });
  expect(records.map((r) => r.kind)).toEqual(['trip', 'dropped', 'trip']);
  const { untracked, trip } = records.at(-1)!;
  expect(untracked!.start_ts).toBe(records[0]!.end_ts);
  expect(untracked!.end_ts).toBe(records[1]!.end_ts);
  expect(trip!.start_place.enter_ts).toBe(records[1]!.end_ts);
});

it('an analysis in stretches leaves a link that depends on data not loaded yet to the next stretch', () => {
  const linksUntil = (seconds: number) => {
    const loaded = locations.filter((l) => since(l.ts) < seconds);
    return analysed({ locations: loaded, motions: readings, loadedUntil: t0 + seconds }).records;
  };
  expect(linksUntil(hour)).toEqual([]);
  expect(linksUntil(hour + 1)).toHaveLength(1);
});
