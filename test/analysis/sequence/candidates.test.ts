// Candidates: where trips may begin and end, with time sampling (Android) and distance sampling (iOS).
import { expect, it } from 'vitest';
import { type Candidate, findCandidates } from '../../../src/analysis/clean/candidates.ts';
import { type Location, type PhoneEvent, restartedBetween } from '../../../src/analysis/clean/observations.ts';
import { at, event, iosAt, motions, moving, since, t0 } from '../../support/phone.ts';
import { row } from '../../support/row.ts';

type Given = Partial<Parameters<typeof findCandidates>[0]> & { locations: Location[] };

const byTime = (...parts: Location[][]): Location[] => parts.flat().sort((a, b) => a.ts - b.ts);

/** Trips as `[start, end]` in seconds since `t0`; `text` has the start of an open trip, too. */
function segment({ locations, ...more }: Given) {
  const found = findCandidates({ locations, motions: [], events: [], endOfData: false, resume: null, ...more });
  const trips = found.trips.map((t) => [since(locations[t.startIndex]!.ts), since(locations[t.endIndex]!.ts)]);
  const open = found.open === null ? [] : [`open ${since(locations[found.open.startIndex]!.ts)}`];
  return { trips, raw: found.trips, text: [...trips.map((one) => one.join('-')), ...open].join(', ') };
}

/** A ride of ten minutes at 10 m/s, a fix every 30 s. */
const ride = moving({ from: 0, to: 600, speed: 10 });
/** Standing where the ride ended. */
const standing = (from: number, to: number, every = 30) => moving({ from, to, every, east: 6000 });
/** The ride, and standing there until a time. */
const arrived = (to: number) => [...ride, ...standing(630, to)];
/** 1200 m in 10 minutes, a fix every 60 m. */
const walk = moving({ from: 0, to: 600, every: 30, speed: 2 }, { sampling: 'distance' });
const onwards = (from: number) => moving({ from, to: from + 600, east: 6000, speed: 10 });
/** Readings every five minutes of an hour. */
const sparse = motions(700, 4000, 'IN_VEHICLE', 300);
const afterGap = (seconds: number, east: number, readings = motions(700, 900, 'IN_VEHICLE')): Given => ({
  locations: [...ride, at(seconds, east)],
  motions: readings,
});
const inTunnel = (...events: PhoneEvent[]): Given => ({
  locations: [...walk, iosAt(1500, 20_000)],
  motions: motions(0, 2000, 'IN_VEHICLE'),
  events,
});
/** Locations of another phone at 0. */
const stayedHome = [1300, 1800, 2300, 2800, 3300, 3800, 4300, 4800].map((s) => iosAt(s, 0));
const atEnd = (locations: Location[], ...events: PhoneEvent[]): Given => ({ locations, events, endOfData: true });
const data = row<[title: string, given: Given]>;

it.each([
  data('no data', { locations: [], endOfData: true })``,
  // 270 s after the arrival at 600 the oldest of the last five minutes is 270 s old, and so are the last nine.
  data('the middle of five minutes within 100 m', { locations: arrived(1200) })`0-720`,
  data('no end at a stop of four minutes', { locations: [...arrived(810), ...onwards(840)] })`open 0`,
  data('an end at an errand of ten minutes', { locations: [...arrived(1200), ...onwards(1230)] })`0-720, open 1260`,
  data('a location near the end, which joins it, and one after more than a minute, which begins a trip', {
    locations: [...arrived(1200), at(1261, 6000)],
  })`0-720, open 1261`,
  data('the first location 100 m away', { locations: [...arrived(900), at(930, 6101)] })`0-720, open 930`,
  data('no dwell in a few locations', { locations: [...ride, ...standing(700, 1100, 200)] })`open 0`,
  data('the last of the locations that lie together before a gap', { locations: [...arrived(750), at(2000, 30_000)] })`
    0-660, open 2000`,
  data('one end of a user who stays at home', { locations: [...ride, ...standing(605, 4000, 5)] })`0-730`,
  data('no end at a gap of exactly ten minutes', { locations: [...ride, at(1200, 12_000)] })`open 0`,
  data('no end at a gap in which the phone read "still"', afterGap(1300, 20_000, motions(900, 900, 'STILL')))`open 0`,
  data('no end at a gap with motion', afterGap(1300, 20_000))`open 0`,
  data('an end at a gap slower than 1/3 m/s', afterGap(1300, 6000 + 233))`0-600, open 1300`,
  data('no end at a gap of 45 minutes with motion', afterGap(600 + 2700, 60_000))`open 0`,
  data('an end at a longer gap', afterGap(600 + 2701, 60_000))`0-600, open 3301`,
  data('no end at an hour with readings all the time', afterGap(600 + 3600, 60_000, sparse))`open 0`,
  data('no end at a gap of 12 hours as fast as a plane', afterGap(600 + 12 * 3600, 2_600_000))`open 0`,
  data('an end at a longer one', afterGap(600 + 12 * 3600 + 1, 2_600_000))`0-600, open 43801`,
  data('an end at a restart', { locations: ride, events: [event(310, 'BOOTED')] })`0-300, open 330`,
  data('an end where tracking stops', { locations: ride, events: [event(310, 'STOP_TRACKING')] })`0-300, open 330`,
  data('no end where the app starts', { locations: ride, events: [event(310, 'INITIALIZE')] })`open 0`,
  data('an iPhone: no end at a gap of exactly ten minutes', { locations: [...walk, iosAt(1200, 1300)] })`open 0`,
  data('an iPhone: no end in a tunnel', inTunnel())`open 0`,
  data('an iPhone: an end at a slow gap with motion', { ...inTunnel(), locations: [...walk, iosAt(1500, 1499)] })`
    0-600, open 1500`,
  data('an iPhone: an end at a restart in a gap', inTunnel(event(900, 'BOOTED')))`0-600, open 1500`,
  data('an iPhone: no end at a restart within ten minutes', inTunnel(event(310, 'BOOTED')))`open 0`,
  data('an iPhone: noise at the place, which joins the ended trip, and a step of 50 m, which begins the next', {
    locations: [
      ...walk,
      iosAt(4000, 1220),
      iosAt(9000, 1195),
      iosAt(20_000, 1230),
      iosAt(20_100, 1279),
      iosAt(20_200, 1330),
    ],
  })`0-600, open 20200`,
  data('no end of data without a report of the phone', atEnd(ride))`open 0`,
  data('the locations that lie together before a report', atEnd(arrived(750), event(760, 'STOPPED_MOVING')))`0-660`,
  data('no report while data may come', { locations: ride, events: [event(700, 'STOPPED_MOVING')] })`open 0`,
  data('no report before the last location', atEnd(ride, event(590, 'STOPPED_MOVING')))`open 0`,
  data('no other report', atEnd(ride, event(700, 'TRIP_END_DETECTED')))`open 0`,
  data('the trip of the phone that began it, undisturbed by another phone', {
    locations: byTime(
      arrived(1200),
      [100, 250, 400].map((s) => iosAt(s, 0, 40)),
    ),
  })`0-720`,
  data('no end and no part of the trip in a location of another phone in a tunnel', {
    locations: byTime(
      ...[ride, [iosAt(1300, 14_000), iosAt(1350, 14_200)]],
      ...[moving({ from: 1500, to: 1800, east: 15_000, speed: 10 }), standing(5000, 5000)],
    ),
    motions: motions(0, 1400, 'IN_VEHICLE'),
  })`0-1800, open 5000`,
  data('an end, and no travel, where another phone locates while the first is silent for more than an hour', {
    locations: byTime(ride, stayedHome, moving({ from: 5000, to: 5300, east: 6300, speed: 5 })),
    motions: motions(700, 1250, 'IN_VEHICLE'),
  })`0-600, 1300-1300, open 5000`,
  data('an end of the trip of a phone that is silent without a sign of travel, and a trip of another phone', {
    locations: byTime(ride, moving({ from: 1400, to: 2000, east: 20_000, speed: 3 }, { sampling: 'distance' })),
  })`0-600, open 1400`,
  data('several trips in too many locations', { locations: moving({ from: 0, to: 250_000, speed: 1, every: 1 }) })`
    0-99999, 100000-199999, open 200000`,
])('the search for candidates finds %s', (_, given, expected) => {
  expect(segment(given).text).toBe(expected);
});

it('a candidate names the time from which the next search continues, and when it became final', () => {
  const later = moving({ from: 1300, to: 1390, east: 20_000, speed: 10 });
  const cases: [Given, ...unknown[]][] = [
    [{ locations: arrived(1200) }, [0, 720], 870, false, 870],
    [{ locations: [...ride, ...later] }, [0, 600], 1300, true, 1300],
    [{ locations: [...walk, iosAt(1201, 1300)] }, [0, 600], 600, false, 1201],
    [atEnd(ride, event(700, 'STOPPED_MOVING')), [0, 600], 600, false, null],
  ];
  for (const [given, ...expected] of cases) {
    const { raw, trips } = segment(given);
    const { resume, settledTs } = raw[0]!;
    expect([trips[0], since(resume.resume_ts), resume.started, settledTs && since(settledTs)]).toEqual(expected);
  }
});

it.each([45, 64, 75, 96])('finds a dwell of ten minutes of a phone that sends every %i s', (every) => {
  const { trips } = segment({ locations: [...ride, ...standing(600 + every, 1500, every)] });
  expect(trips).toHaveLength(1);
  expect(Math.abs(trips[0]![1]! - 600)).toBeLessThanOrEqual(450);
});

it('treats the end of a visit as a restart only while the phone is at rest', () => {
  const restarts = (...asked: PhoneEvent[]) => asked.map((one) => restartedBetween([one], t0, t0 + 10));
  const ends = (['WAITING_FOR_TRIP_START', 'ONGOING_TRIP'] as const).map((state) => event(5, 'VISIT_ENDED', state));
  expect(restarts(...ends)).toEqual([true, false]);
  expect(restarts(event(10, 'BOOTED'), event(11, 'BOOTED')), 'both ends count').toEqual([true, false]);
});

const back = [...moving({ from: 5000, to: 5600, east: 6000, speed: -10 }), ...moving({ from: 5630, to: 6200 })];
const locations = [...arrived(1200), ...back];

it('a search from the end of an earlier trip finds the same later trips as a single pass over everything', () => {
  const { raw: whole } = segment({ locations });
  expect(whole).toHaveLength(2);
  const [{ resume }, second] = whole as [Candidate, Candidate];
  const rest = locations.filter((l) => l.ts >= resume.resume_ts);
  const shift = locations.length - rest.length;
  expect(segment({ locations: rest, resume }).raw).toEqual([
    { ...second, startIndex: second.startIndex - shift, endIndex: second.endIndex - shift },
  ]);
});

it('a search from the end of an earlier trip takes a location that itself begins the next trip as its start', () => {
  const resume = { resume_ts: t0 + 5000, started: true };
  const rest = locations.filter((l) => l.ts >= resume.resume_ts);
  expect(segment({ locations: rest, resume }).trips[0]![0]).toBe(5000);
  const waiting = { resume_ts: t0 + 5000, started: false };
  expect(segment({ locations: rest, resume: waiting }).trips[0]![0]).toBe(5030);
});

it('locations of another phone while the first seemed to be on its trip become a separate trip', () => {
  const lost = moving({ from: 0, to: 60, every: 60, speed: 1 }, { sampling: 'distance' });
  const locations = byTime(lost, moving({ from: 300, to: 900, speed: 10 }), standing(930, 1500));
  const given = { locations, motions: motions(0, 1500, 'WALKING') };
  const found = segment({ ...given, locations: [...locations, iosAt(30_000, 6000)] });
  expect(found.text).toBe('0-60, 300-1020');
  const { resume } = found.raw[0]!;
  const rest = locations.filter((l) => l.ts >= resume.resume_ts);
  expect(segment({ ...given, locations: rest, resume }).trips[0]).toEqual([300, 1020]);
});
