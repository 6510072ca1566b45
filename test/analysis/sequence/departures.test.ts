// When a trip began although the phone noticed late: by its geofence, the user's switch and an iPhone's readings.
import { describe, expect, it } from 'vitest';
import type { AnalyseInput } from '../../../src/analysis/analyse.ts';
import type { Location } from '../../../src/analysis/clean/observations.ts';
import type { Trip } from '../../../src/model/trip.ts';
import { at, event, iosAt, motion, motions, moving, since } from '../../support/phone.ts';
import { hour, minute, modesOf, rideAndRest, tripsOf } from '../kit.ts';

const lastTrip = (input: Partial<AnalyseInput>): Trip => tripsOf(input).at(-1)!;
/** Fifteen minutes eastwards from `from` on, and rest. */
const ride = (from: number, east: number): Location[] => rideAndRest(from, east, 900);
const exit = (seconds: number) => event(seconds, 'EXITED_GEOFENCE', 'WAITING_FOR_TRIP_START');

describe('an Android phone', () => {
  const locations = ride(hour, 0);
  const riding = motions(hour, hour + 900, 'IN_VEHICLE');
  const tripWith = (...events: AnalyseInput['events']) => lastTrip({ locations, motions: riding, events });
  const startWith = (...events: AnalyseInput['events']): number => since(tripWith(...events).start_ts);

  it('that slept until its geofence woke it: the user departed two to three minutes earlier', () => {
    const start = startWith(exit(hour - 40));
    expect(start).toBeGreaterThan(hour - 40 - 180);
    expect(start).toBeLessThan(hour - 40 - 120);
  });

  it('that no geofence woke: the user departed without that delay', () => {
    const rules = [[], [exit(hour - 400)], [exit(hour - 40)]].map((events) => tripWith(...events).evidence!.start);
    expect(rules).toEqual(['movement', 'movement', 'geofence']);
  });

  it('begins no trip before the user switched tracking on', () => {
    const on = event(hour - 20, 'START_TRACKING', 'TRACKING_STOPPED');
    expect(startWith(on, exit(hour - 10))).toBeGreaterThanOrEqual(hour - 20);
  });

  it('that was switched off and on at a place shows the place of its user when its geofence woke it', () => {
    const locations = [...ride(0, 0), ...ride(4 * hour, 10_000)];
    const readings = [...motions(0, 900, 'IN_VEHICLE'), ...motions(4 * hour, 4 * hour + 900, 'IN_VEHICLE')];
    const events = [event(hour, 'BOOTED'), exit(4 * hour - 5)];
    const start = since(lastTrip({ locations, motions: readings, events }).start_ts);
    expect(start).toBeGreaterThan(4 * hour - 180);
    expect(start).toBeLessThan(4 * hour - 100);
  });
});

const here = moving({ from: 0, to: 600 });

it('a short trip with a recorded end only is a walk if an Android phone read walking, else none', () => {
  const there = moving({ from: hour, to: hour + 600, east: 145 });
  const events = [event(700, 'STOPPED_MOVING'), exit(hour - 10)];
  const locations = [...here, ...there, at(3 * hour, 145)];
  const trips = (type: 'WALKING' | 'STILL') =>
    tripsOf({ locations, events, motions: motions(hour - 130, hour - 10, type) });
  expect([trips('WALKING').map(modesOf), trips('STILL')]).toEqual([[['WALKING']], []]);
});

it('a short trip with a recorded end only is a drive of 600 m if an iPhone read it, from a single location', () => {
  const readings = [motion(0, 'STILL'), motion(hour - 80, 'IN_VEHICLE'), motion(hour - 5, 'STILL')];
  const locations = [iosAt(0, 0), iosAt(hour, 600), iosAt(2 * hour, 600)];
  const [trip] = tripsOf({ locations, motions: readings });
  expect(since(trip!.start_ts)).toBe(hour - 80);
  expect(trip!.distance).toBeGreaterThan(590);
});

describe('an iPhone', () => {
  const drive = (from: number, east: number): Location[] =>
    Array.from({ length: 25 }, (_, i) => iosAt(from + 30 * i, east + 400 * i));
  /** On foot, then no entries, then in a car; the first location comes at `hour`. */
  const from = hour - 14 * minute;
  const walked = [
    motion(from, 'WALKING'),
    motion(from + 4 * minute, 'UNKNOWN'),
    motion(from + 9 * minute, 'IN_VEHICLE'),
  ];
  const startWith = (...more: AnalyseInput['motions']): number => {
    const motions = [...walked, ...more, motion(hour + 13 * minute, 'STILL')].sort((a, b) => a.ts - b.ts);
    return since(lastTrip({ locations: [...drive(hour, 0), iosAt(9 * hour, 10_000)], motions }).start_ts);
  };

  it('whose first location comes a quarter of an hour late shows the walk to the car by its motion readings', () => {
    expect(Math.abs(startWith() - from)).toBeLessThan(45);
  });

  it('that rested before the drive had not departed before it', () => {
    const rested = [motion(hour - 8 * minute, 'STILL'), motion(hour - 6 * minute, 'UNKNOWN')];
    expect(startWith(...rested)).toBeGreaterThan(hour - 6 * minute);
  });

  it('with motion readings between two trips has no untracked time, although it is next seen four kilometres away', () => {
    const locations = [...drive(0, 0), ...drive(4 * hour, 9600 + 4000), iosAt(9 * hour, 24_000)];
    const placeAfter = (...readings: AnalyseInput['motions']) => {
      const driven = [motion(0, 'IN_VEHICLE'), motion(13 * minute, 'STILL')];
      return lastTrip({ locations, motions: [...driven, ...readings] }).start_place;
    };
    const walked = [motion(4 * hour - 14 * minute, 'WALKING'), motion(4 * hour - 5 * minute, 'IN_VEHICLE')];
    expect(placeAfter(...walked).ending_trip).not.toBeNull();
    expect(placeAfter(motion(4 * hour, 'IN_VEHICLE')).ending_trip).toBeNull();
  });
});

it('a recording without motion readings begins at its first location, although the user already moves', () => {
  const [trip] = tripsOf({ locations: ride(0, 0) });
  expect(since(trip!.start_ts)).toBe(0);
  expect(trip!.distance).toBeLessThan(9500);
});

it('a recording without readings that was off on a flight has rides before and after it only', () => {
  const trips = tripsOf({ locations: [...ride(0, 0), ...ride(4 * hour, 2_000_000)] });
  expect(trips).toHaveLength(2);
  expect(since(trips[1]!.start_ts)).toBe(4 * hour);
  for (const { distance } of trips) expect(distance).toBeLessThan(9500);
});

const silence = { from: 900, to: 900 + 70 * minute };
const parted = [...moving({ from: 0, to: 900, speed: 20 }), ...rideAndRest(silence.to, 18_000 + 52_000, 900, 20)];

it('between two legs in vehicles, a gap with motion readings of a vehicle is not a stop', () => {
  const felt = motions(0, silence.to + 900, 'IN_VEHICLE');
  const trip = lastTrip({ locations: parted, motions: felt });
  expect(trip.stops.every((stop) => stop.exit_ts - stop.enter_ts < 60)).toBe(true);
  expect(trip.sections).toHaveLength(1);
});

it('between two legs in vehicles, a stop after which the same car drives on does not make it a bus', () => {
  const still = { from: 1200, to: 1200 + 12 * minute };
  const locations = [
    ...moving({ from: 0, to: 1200, speed: 25 }),
    ...moving({ from: 1230, to: still.to, east: 30_000 }),
    ...rideAndRest(still.to, 30_000, 1200, 25),
  ];
  const readings = [
    ...motions(0, 1200, 'IN_VEHICLE'),
    ...motions(1230, still.to - 30, 'STILL'),
    ...motions(still.to, still.to + 1200, 'IN_VEHICLE'),
  ];
  expect(new Set(tripsOf({ locations, motions: readings }).flatMap(modesOf))).toEqual(new Set(['CAR']));
});
