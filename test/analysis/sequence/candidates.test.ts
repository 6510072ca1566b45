// Candidates: where trips may begin and end, with time sampling (Android) and distance sampling (iOS).

import { describe, expect, it } from 'vitest';
import { findCandidates } from '../../../src/analysis/clean/candidates.ts';
import {
  type Location,
  type Motion,
  type PhoneEvent,
  restartedBetween,
} from '../../../src/analysis/clean/observations.ts';
import type { Resume } from '../../../src/model/trip.ts';
import { at, event, iosAt, iosMoving, motions, moving, since, t0 } from '../../support/phone.ts';

interface Given {
  locations: Location[];
  motions?: Motion[];
  events?: PhoneEvent[];
  endOfData?: boolean;
  resume?: Resume;
}

const byTime = (...parts: Location[][]): Location[] => parts.flat().sort((a, b) => a.ts - b.ts);

/** Trips as `[start, end]` in seconds since `t0`, and the start of the open trip. */
function segment({ locations, motions = [], events = [], endOfData = false, resume }: Given) {
  const found = findCandidates({ locations, motions, events, endOfData, resume: resume ?? null });
  return {
    trips: found.trips.map((t) => [since(locations[t.startIndex]!.ts), since(locations[t.endIndex]!.ts)]),
    raw: found.trips,
    open: found.open === null ? null : since(locations[found.open.startIndex]!.ts),
  };
}

/** A ride of ten minutes at 10 m/s, a fix every 30 s. */
const ride = moving({ from: 0, to: 600, speed: 10 });
/** Standing where the ride ended. */
const standing = (from: number, to: number, every = 30) => moving({ from, to, every, east: 6000 });

describe('the search for candidates with time sampling', () => {
  it('gives no candidates without data', () => {
    expect(segment({ locations: [], endOfData: true })).toEqual({ trips: [], raw: [], open: null });
  });

  it('ends a trip when the locations of five minutes lie within 100 m, in the middle of these', () => {
    const { trips, raw, open } = segment({ locations: [...ride, ...standing(630, 1200)] });
    // 270 s after the arrival at 600 the oldest of the last five minutes is 270 s old, and so are the last nine.
    expect(trips).toEqual([[0, 720]]);
    expect(since(raw[0]!.settledTs!)).toBe(870);
    expect(raw[0]!.resume).toEqual({ resume_ts: t0 + 870, started: false });
    expect(open).toBeNull();
  });

  it('does not end a trip at a stop of four minutes, and ends it at an errand of ten minutes', () => {
    const onwards = (from: number) => moving({ from, to: from + 600, east: 6000, speed: 10 });
    expect(segment({ locations: [...ride, ...standing(630, 810), ...onwards(840)] }).trips).toEqual([]);
    const errand = segment({ locations: [...ride, ...standing(630, 1200), ...onwards(1230)] });
    expect(errand.trips).toHaveLength(1);
    expect(errand.open).toBe(1260);
  });

  it('joins locations near and soon after the end to it; one after more than a minute begins a trip', () => {
    const { trips, open } = segment({ locations: [...ride, ...standing(630, 1200), at(1261, 6000)] });
    expect(trips).toHaveLength(1);
    expect(open).toBe(1261);
  });

  it('begins a trip with the first location 100 m away', () => {
    expect(segment({ locations: [...ride, ...standing(630, 900), at(930, 6101)] }).open).toBe(930);
  });

  it.each([45, 64, 75, 96])('finds a dwell of ten minutes of a phone that sends every %i s', (every) => {
    const { trips } = segment({ locations: [...ride, ...standing(600 + every, 1500, every)] });
    expect(trips).toHaveLength(1);
    expect(Math.abs(trips[0]![1]! - 600)).toBeLessThanOrEqual(450);
  });

  it('finds no dwell in a few locations', () => {
    expect(segment({ locations: [...ride, ...standing(700, 1100, 200)] }).trips).toEqual([]);
  });

  it('ends the trip at a gap of more than ten minutes without motion; the next location begins another', () => {
    const later = moving({ from: 1300, to: 1390, east: 20_000, speed: 10 });
    const { trips, open, raw } = segment({ locations: [...ride, ...later] });
    expect(trips).toEqual([[0, 600]]);
    expect(open).toBe(1300);
    expect(raw[0]!.resume).toEqual({ resume_ts: t0 + 1300, started: true });
  });

  it('does not end the trip at a gap of exactly ten minutes', () => {
    expect(segment({ locations: [...ride, at(1200, 12_000)] }).trips).toEqual([]);
  });

  it('ends the trip at a gap with motion only if it is slow, or longer than 45 minutes without readings all the time', () => {
    const withGap = (seconds: number, east: number) => ({
      locations: [...ride, at(seconds, east)],
      motions: motions(700, 900, 'IN_VEHICLE'),
    });
    expect(segment(withGap(1300, 20_000)).trips).toEqual([]);
    expect(segment(withGap(1300, 6000 + 233)).trips, 'slower than 1/3 m/s').toHaveLength(1);
    expect(segment(withGap(600 + 2700, 60_000)).trips).toEqual([]);
    expect(segment(withGap(600 + 2701, 60_000)).trips).toHaveLength(1);
    const readings = Array.from({ length: 12 }, (_, i) => motions(700 + i * 300, 700 + i * 300, 'IN_VEHICLE')).flat();
    expect(segment({ ...withGap(600 + 3600, 60_000), motions: readings }).trips).toEqual([]);
    expect(segment(withGap(600 + 12 * 3600, 2_600_000)).trips, 'as fast as a plane').toEqual([]);
    expect(segment(withGap(600 + 12 * 3600 + 1, 2_600_000)).trips).toHaveLength(1);
  });

  it('counts any motion reading as motion, even "still"', () => {
    const given = { locations: [...ride, at(1300, 20_000)], motions: motions(900, 900, 'STILL') };
    expect(segment(given).trips).toEqual([]);
  });

  it('ends the trip at a restart of the phone, after a gap of any length', () => {
    for (const transition of ['BOOTED', 'STOP_TRACKING'] as const) {
      const { trips, open } = segment({ locations: ride, events: [event(310, transition)] });
      expect(trips).toHaveLength(1);
      expect(open).toBe(330);
    }
    expect(segment({ locations: ride, events: [event(310, 'INITIALIZE')] }).trips).toEqual([]);
  });

  it('ends a trip before a gap in the middle of the last locations that lie together', () => {
    const { trips } = segment({ locations: [...ride, ...standing(630, 750), at(2000, 30_000)] });
    expect(trips).toEqual([[0, 660]]); // 600 to 750 lie together
  });

  it('gives no further trips to a user who stays at home and reports every few seconds', () => {
    const { trips, open } = segment({ locations: [...ride, ...standing(605, 4000, 5)] });
    expect(trips).toHaveLength(1);
    expect(open).toBeNull();
  });
});

describe('the search for candidates with distance sampling', () => {
  /** 1200 m in 10 minutes, a fix every 60 m. */
  const walk = iosMoving({ from: 0, to: 600, every: 30, speed: 2 });

  it('ends the trip at the last location before a gap of more than ten minutes without motion', () => {
    const { trips, open, raw } = segment({ locations: [...walk, iosAt(1201, 1300)] });
    expect(trips).toEqual([[0, 600]]);
    expect(open).toBe(1201);
    expect(raw[0]!.resume).toEqual({ resume_ts: t0 + 600, started: false });
    expect(since(raw[0]!.settledTs!)).toBe(1201);
  });

  it('does not end the trip at a gap of exactly ten minutes', () => {
    expect(segment({ locations: [...walk, iosAt(1200, 1300)] }).trips).toEqual([]);
  });

  it('continues the trip over a gap with motion that was fast enough for travel, such as a tunnel', () => {
    const given = { locations: [...walk, iosAt(1500, 20_000)], motions: motions(700, 1400, 'IN_VEHICLE') };
    expect(segment(given).trips).toEqual([]);
    expect(segment({ ...given, locations: [...walk, iosAt(1500, 1499)] }).trips).toHaveLength(1);
  });

  it('ends the trip at a restart within a gap, and not at one within ten minutes', () => {
    const vehicle = motions(0, 2000, 'IN_VEHICLE');
    const locations = [...walk, iosAt(1500, 20_000)];
    expect(segment({ locations, motions: vehicle, events: [event(900, 'BOOTED')] }).trips).toHaveLength(1);
    expect(segment({ locations, motions: vehicle, events: [event(310, 'BOOTED')] }).trips).toEqual([]);
  });

  it('treats the end of a visit as a restart only while the phone is at rest', () => {
    expect(restartedBetween([event(5, 'VISIT_ENDED', 'WAITING_FOR_TRIP_START')], t0, t0 + 10)).toBe(true);
    expect(restartedBetween([event(5, 'VISIT_ENDED', 'ONGOING_TRIP')], t0, t0 + 10)).toBe(false);
    expect(restartedBetween([event(10, 'BOOTED')], t0, t0 + 10), 'both ends count').toBe(true);
    expect(restartedBetween([event(11, 'BOOTED')], t0, t0 + 10)).toBe(false);
  });

  it('joins noise at the place to the ended trip, at any time; a step of 50 m begins the next', () => {
    const noise = [iosAt(4000, 1220), iosAt(9000, 1195), iosAt(20_000, 1230)];
    const { trips, open } = segment({ locations: [...walk, ...noise, iosAt(20_100, 1279), iosAt(20_200, 1330)] });
    expect(trips).toEqual([[0, 600]]);
    expect(open).toBe(20_200);
  });
});

describe('the search for candidates at the end of data', () => {
  const stopped = [event(700, 'STOPPED_MOVING')];

  it('leaves an open trip open if the phone reported no end', () => {
    expect(segment({ locations: ride, endOfData: true })).toMatchObject({ trips: [], open: 0 });
  });

  it('ends the trip if the phone reported its end, but lets later data change it', () => {
    const { trips, raw, open } = segment({ locations: ride, events: stopped, endOfData: true });
    expect(trips).toEqual([[0, 600]]);
    expect(raw[0]).toMatchObject({ settledTs: null, resume: { resume_ts: t0 + 600, started: false } });
    expect(open).toBeNull();
  });

  it('uses the report of the phone only at the end of data and after the last location', () => {
    expect(segment({ locations: ride, events: stopped, endOfData: false })).toMatchObject({ trips: [], open: 0 });
    const early = { locations: ride, events: [event(590, 'STOPPED_MOVING')], endOfData: true };
    expect(segment(early)).toMatchObject({ trips: [], open: 0 });
    const otherWord = { locations: ride, events: [event(700, 'TRIP_END_DETECTED')], endOfData: true };
    expect(segment(otherWord)).toMatchObject({ trips: [], open: 0 });
  });

  it('ends a trip that the phone reported at the last locations that lie together', () => {
    const locations = [...ride, ...standing(630, 750)];
    expect(segment({ locations, events: [event(760, 'STOPPED_MOVING')], endOfData: true }).trips).toEqual([[0, 660]]);
  });
});

describe('the search for candidates from the end of an earlier trip', () => {
  const day = [...ride, ...standing(630, 1200), ...moving({ from: 5000, to: 5600, east: 6000, speed: -10 })];
  const stay = moving({ from: 5630, to: 6200, east: 0 });
  const locations = [...day, ...stay];

  it('finds the same later trips as a single pass over everything', () => {
    const whole = findCandidates({ locations, motions: [], events: [], endOfData: false, resume: null });
    expect(whole.trips).toHaveLength(2);
    const [first, second] = whole.trips;
    const rest = locations.filter((l) => l.ts >= first!.resume.resume_ts);
    const again = findCandidates({ locations: rest, motions: [], events: [], endOfData: false, resume: first!.resume });
    const shift = locations.length - rest.length;
    expect(again.trips).toEqual([
      { ...second, startIndex: second!.startIndex - shift, endIndex: second!.endIndex - shift },
    ]);
  });

  it('takes a location that itself begins the next trip as its start', () => {
    const resume = { resume_ts: t0 + 5000, started: true };
    const rest = locations.filter((l) => l.ts >= resume.resume_ts);
    expect(segment({ locations: rest, resume }).trips[0]![0]).toBe(5000);
    const waiting = { resume_ts: t0 + 5000, started: false };
    expect(segment({ locations: rest, resume: waiting }).trips[0]![0]).toBe(5030);
  });
});

describe('two phones of one user that sample differently', () => {
  const iphoneAtHome = [100, 250, 400].map((s) => iosAt(s, 0, 40));

  it('the open trip belongs to the phone that began it: locations of the other do not disturb it', () => {
    const alone = segment({ locations: [...ride, ...standing(630, 1200)] });
    const both = segment({ locations: byTime(ride, standing(630, 1200), iphoneAtHome) });
    expect(both.trips[0]![0]).toBe(alone.trips[0]![0]);
    expect(both.trips).toHaveLength(1);
  });

  it('a location of the other phone in a tunnel neither ends the trip nor becomes a part of it', () => {
    const after = moving({ from: 1500, to: 1800, east: 15_000, speed: 10 });
    const locations = byTime(ride, [iosAt(1300, 14_000), iosAt(1350, 14_200)], after, standing(5000, 5000));
    const { trips, open } = segment({ locations, motions: motions(0, 1400, 'IN_VEHICLE') });
    expect(trips).toEqual([[0, 1800]]);
    expect(open).toBe(5000);
  });

  it('the other phone does not hide that the first was silent for more than an hour and came no farther', () => {
    const atHome = [1300, 1800, 2300, 2800, 3300, 3800, 4300, 4800].map((s) => iosAt(s, 0));
    const locations = byTime(ride, atHome, moving({ from: 5000, to: 5300, east: 6300, speed: 5 }));
    const { trips, open } = segment({ locations, motions: motions(700, 1250, 'IN_VEHICLE') });
    expect(trips).toEqual([
      [0, 600],
      [1300, 1300], // no travel
    ]);
    expect(open).toBe(5000);
  });

  it('locations that the other phone sent while the first seemed to be on its trip become a separate trip', () => {
    const lost = iosMoving({ from: 0, to: 60, every: 60, speed: 1 });
    const locations = byTime(
      lost,
      ride.map((l) => ({ ...l, ts: l.ts + 300 })),
      standing(930, 1500),
    );
    const given = { locations, motions: motions(0, 1500, 'WALKING') };
    const found = segment({ ...given, locations: [...locations, iosAt(30_000, 6000)] });
    expect(found.trips).toEqual([
      [0, 60],
      [300, 1020],
    ]);
    const rest = locations.filter((l) => l.ts >= found.raw[0]!.resume.resume_ts);
    expect(segment({ ...given, locations: rest, resume: found.raw[0]!.resume }).trips[0]).toEqual([300, 1020]);
  });

  it('when the first phone is silent and nothing indicates travel, its trip ends and the other phone takes over', () => {
    const iphone = iosMoving({ from: 1400, to: 2000, east: 20_000, speed: 3 });
    const { trips, open } = segment({ locations: byTime(ride, iphone) });
    expect(trips).toEqual([[0, 600]]);
    expect(open).toBe(1400);
  });
});

describe('the bounds', () => {
  it('a trip with too many locations is cut, and continues as another trip', () => {
    const endless = moving({ from: 0, to: 250_000, speed: 1, every: 1 });
    const { trips, open } = segment({ locations: endless });
    expect(trips).toEqual([
      [0, 99_999],
      [100_000, 199_999],
    ]);
    expect(open).toBe(200_000);
  });
});
