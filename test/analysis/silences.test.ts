// Silences: time in which a phone sent nothing, and whether that was a stay.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { findGaps } from '../../src/analysis/clean/gaps.ts';
import type { Location, Motion, Observations, PhoneEvent } from '../../src/analysis/clean/observations.ts';
import { motionTypes, states, transitions } from '../../src/model/payloads.ts';
import { row } from '../support/row.ts';

const hour = 3600;
const late = 8 * hour;
const everything = Number.POSITIVE_INFINITY;
const { STILL, WALKING } = motionTypes;

/** A location at a time, at the place or so many metres north of it. */
type Fix = number | [ts: number, metres: number];

function location(fix: Fix): Location {
  const [ts, metres] = typeof fix === 'number' ? [fix, 0] : fix;
  const place = { ts, latitude: 50 + metres / 111_195, longitude: 8, altitude: null, accuracy: 10, speed: null };
  return { ...place, sampling: 'time', zone: 'UTC', zoneGuessed: false };
}

function event(ts: number, name: keyof typeof transitions, state: keyof typeof states | null = null): PhoneEvent {
  return { ts, transition: transitions[name], state: state && states[state] };
}

/** Readings of one kind, every so many seconds. */
const readings = (from: number, count: number, every: number, type: Motion['type'] = WALKING, confidence = 90) =>
  Array.from({ length: count }, (_, n): Motion => ({ ts: from + n * every, type, confidence }));

const gapsOf = (fixes: readonly Fix[], events: readonly PhoneEvent[] = [], motions: readonly Motion[] = []) =>
  findGaps({ locations: fixes.map(location), events: [...events], motions: [...motions] }, null, everything);
const reasons = (...of: Parameters<typeof gapsOf>): string[] =>
  gapsOf(...of).silences.map(({ from, to, reason }) => `${from}-${to} ${reason}`);
const inferred = (...of: Parameters<typeof gapsOf>): boolean[] =>
  gapsOf(...of).silences.map((one) => one.inferred === true);
const seenAfter = (...of: Parameters<typeof gapsOf>) => gapsOf(...of).seen;

const stops = (...times: number[]) => times.map((ts) => event(ts, 'STOPPED_MOVING'));
const [atStart, stopped] = stops(0, 60) as [PhoneEvent, PhoneEvent];
const exited = (ts: number, state?: keyof typeof states) => event(ts, 'EXITED_GEOFENCE', state);
const left = exited(60);
const onTrip = (ts: number, name: keyof typeof transitions = 'NOP') => event(ts, name, 'ONGOING_TRIP');
/** Locations after a gap. */
const awake = [late, late + 800, late + 1600, late + 2400];
const time = row<[title: string, fixes: Fix[], events: PhoneEvent[]]>;

it.each([
  time('a stay if the phone waited until the user left', [0, [late + 30, 400]], [stopped, exited(late)])``,
  time('movement if the phone is elsewhere afterwards', [0, [late, 5000]], [stopped])`60-${late} moved`,
  time('a stay up to 1 km away', [0, [late, 999.9]], [atStart])``,
  time('movement farther away', [0, [late, 1000.1]], [atStart])`0-${late} moved`,
  time('silent if the phone was on the way', [0, late], [left])`60-${late} silent`,
  time('silent if no event of the phone gives a reason', [0, late], [event(60, 'NOP')])`60-${late} silent`,
  time('off if the user turned tracking off', [0, late], [event(60, 'STOP_TRACKING')])`60-${late} tracking off`,
  time('off, also elsewhere', [0, [late, 5000]], [event(60, 'STOP_TRACKING')])`60-${late} tracking off`,
  time('no permission after a tracking error', [0, late], [event(60, 'TRACKING_ERROR')])`60-${late} no permission`,
  time('a phone that was off if it boots afterwards', [0, late], [left, event(late, 'BOOTED')])`60-${late} phone off`,
  time('silent if it boots after the next location', [0, late], [left, event(late + 1, 'BOOTED')])`60-${late} silent`,
  time('a stay after two reports at rest', [0, 300, late], [atStart])``,
  time('silent after three', [0, 300, 600, late], [atStart])`600-${late} silent`,
  time('silent after six', [0, 300, 600, 900, 1200, 1500, late, late + 300], [atStart])`1500-${late} silent`,
  time('silent after three, also if events repeat that the phone is at rest', [0, 300, 600, late], stops(0, 200, 500))`
    600-${late} silent`,
  time('a stay, which begins the number of reports again', [0, 300, late, late + 300, 2 * late], [atStart])``,
  time('silent if the next event is on a trip', [0, late, late + 600], [stopped, onTrip(late + 300, 'STOPPED_MOVING')])`
    60-${late} silent`,
  time('a stay if the next event is a departure', [0, late], [stopped, exited(late + 300, 'WAITING_FOR_TRIP_START')])``,
  time('a stay if a later event is on a trip', [0, late], [stopped, event(late + 100, 'NOP'), onTrip(late + 300)])``,
  time('silent if an event up to 45 minutes later reports a trip', [0, ...awake], [stopped, onTrip(late + 2700)])`
    60-${late} silent`,
  time('a stay if an event reports it later', [0, ...awake], [stopped, onTrip(late + 2701)])``,
  time('silent once, if the phone left and an event is on a trip', [0, ...awake], [left, onTrip(late + 300)])`
    60-${late} silent`,
  time('a stay if the app was opened', [0, late + 30], [stopped, event(120, 'INITIALIZE', 'WAITING_FOR_TRIP_START')])``,
  time('silent if the app had not run', [0, late + 30], [stopped, event(late, 'INITIALIZE', 'START')])`
    60-${late} silent`,
  time(
    'a stay if locations come during trips only',
    [0, 300, 600, 900, late],
    [atStart, onTrip(900, 'STOPPED_MOVING')],
  )``,
  time('no gap in 15 minutes', [0, 900], [])``,
  time('silent for longer than that', [0, 901], [])`0-901 silent`,
])('a time without entries is %s', (_, fixes, events, expected) => {
  expect(reasons(fixes, events).join()).toBe(expected);
});

it.each<[title: string, seconds: number, metres: number, expected: string[], more?: number]>([
  ['a stay', 86_400, 0, []],
  ['a gap after more than a day', 86_401, 0, ['silent']],
  ['a gap of a phone that was on the way', hour, 5000, ['moved']],
  ['a gap without a later location within 15 min', hour, 5000, ['silent'], 901],
  ['a gap with a later location', hour, 5000, ['moved'], 900],
])('%s, at any time', (_, seconds, metres, expected, more = 0) => {
  const day = 1_700_000_000;
  const end = day + seconds;
  const found = reasons([day, [end + more, metres]], [event(day, 'STOPPED_MOVING')], readings(end, 2, 500, STILL, 60));
  expect(found).toEqual(expected.map((reason) => `${day}-${end} ${reason}`));
});

it('a gap of a phone without states is an inferred stay for up to 3 h between locations at most 150 m apart', () => {
  const away = (to: number, metres: number) => inferred([0, [to, metres]]);
  expect([away(3 * hour, 149.9), away(3 * hour, 150.1), away(3 * hour + 1, 0)]).toEqual([[true], [false], [false]]);
  // At the equator, a number of degrees gives exactly 150 m.
  const locations = [0, 0.0013489824088780957].map((latitude, i) => ({ ...location(i * 3 * hour), latitude }));
  expect(findGaps({ locations, motions: [], events: [] }, null, everything).silences[0]!.inferred).toBe(true);
});

it('a gap of a phone without states is one up to a confident reading of rest', () => {
  const ended = (ts: number, confidence: number, type = STILL as Motion['type'], from = 0) =>
    inferred([from], [], [{ ts, type, confidence }]);
  expect(ended(3 * hour, 75)).toEqual([true]);
  expect([ended(3 * hour, 74), ended(3 * hour, 100, WALKING), ended(3 * hour + 1, 75)]).toEqual(Array(3).fill([false]));
  const day = 1_700_000_000;
  expect([ended(day + 3 * hour, 75, STILL, day), inferred([day, day + 3 * hour])]).toEqual([[true], [true]]);
});

it('a gap of a phone without states is not one if the phone read movement since its last location', () => {
  const walked = (confidence: number) => inferred([0, 3 * hour], [], [{ ts: 60, type: WALKING, confidence }]);
  expect([walked(75), walked(74)]).toEqual([[false], [true]]);
});

it('a gap is an inferred stay of a phone with states only if it moved in a gap and reported nothing since', () => {
  expect(inferred([0, hour], [left])).toEqual([false]);
  const toWork: Fix[] = [0, hour, [2 * hour, 6000], [3 * hour, 6000]];
  expect(inferred(toWork, [left])).toEqual([false, false, true]);
  expect(inferred(toWork, [left, event(2 * hour + 60, 'EXITED_GEOFENCE')])).toEqual([false, false, false]);
});

it('a trip by the reports of the phone, with readings but no location for 45 min and then far away, has no location', () => {
  const motions = readings(300, 10, 300, 4, 50);
  const lost = (metres: number, last: number, ...events: PhoneEvent[]) => reasons([0, [last, metres]], events, motions);
  const gone = event(0, 'EXITED_GEOFENCE');
  expect(lost(5000, 3100, gone)).toEqual(['0-3100 no location']);
  expect([lost(900, 3100, gone), lost(5000, 2700, gone), lost(5000, 3100, atStart)]).toEqual([[], [], []]);
  expect(lost(5000, 3100, gone, event(2900, 'STOPPED_MOVING'))).toEqual(['0-2900 no location']);
  expect(lost(5000, 3100, gone, stopped, event(3000, 'EXITED_GEOFENCE'))).toEqual([]);
  const still = readings(500, 1, 1, STILL, 100);
  expect(reasons([10, [5000, 5000]], [gone], still), 'a gap ends it').toEqual(['500-5000 moved']);
});

const rest = (from: number, to: number) => readings(from, Math.floor((to - from) / 600) + 1, 600, STILL);
const ends = [0, 4 * hour];
/** Movement between two rests. */
const between = (...moved: Motion[]) => [...rest(600, hour), ...moved, ...rest(hour + 900, 4 * hour)];

it('a phone with readings but no locations is unobserved if it moved for 5 minutes without a break', () => {
  const walked = between(...readings(hour + 300, 11, 30));
  const expected = [`${hour + 300}-${4 * hour} no location`];
  expect(reasons(ends, [], walked)).toEqual(expected);
  expect(reasons(ends, [event(hour + 200, 'EXITED_GEOFENCE')], walked)).toHaveLength(1);
});

it.each<[string, Motion[], Fix[]?]>([
  ['for less', readings(hour + 60, 14, 23)],
  ['with breaks', [...readings(hour + 60, 9, 30), ...readings(hour + 400, 9, 30)]],
  ['with low confidence', readings(hour + 60, 21, 30, WALKING, 60)],
  ['between locations', readings(hour + 60, 17, 30), [0, hour + 300, 4 * hour]],
])('a phone with readings but no locations is staying if it moved %s', (_, moved, fixes = ends) => {
  expect(reasons(fixes, [], between(...moved))).toEqual([]);
});

it('a phone with readings but no locations keeps the other reasons of times between them', () => {
  const motions = [...rest(600, hour), ...readings(hour, 21, 30), ...rest(3 * hour, 4 * hour)];
  const events = [event(hour + 700, 'STOP_TRACKING'), event(3 * hour, 'START_TRACKING')];
  expect(reasons(ends, events, motions)).toEqual([
    `${hour}-${hour + 700} no location`,
    `${hour + 700}-${3 * hour} tracking off`,
    `${3 * hour}-${4 * hour} no location`,
  ]);
});

it('a phone with readings but no locations counts readings that come at most 90 s apart for 5 minutes', () => {
  const found = (apart: number, count: number) =>
    reasons([0, 800], [event(5, 'STOPPED_MOVING')], readings(10, count, apart, WALKING, 75));
  expect([found(90, 5), found(75, 5)]).toEqual(Array(2).fill(['10-800 no location']));
  expect([found(91, 5), found(90, 4), found(74.9, 5)]).toEqual([[], [], []]);
});

it('a phone with readings but no locations stayed before, if it moved only after the stay', () => {
  const events = [stopped, event(29_500, 'STOPPED_MOVING', 'ONGOING_TRIP')];
  expect(reasons([0, late, 29_400], events, readings(28_810, 5, 90))).toEqual(['28810-29400 no location']);
});

it.each([
  ['waits', ['STOPPED_MOVING', 'TRIP_END_DETECTED', 'END_TRIP_TRACKING', 'INIT_COMPLETE'], []],
  ['moves', ['EXITED_GEOFENCE', 'TRIP_STARTED', 'TRIP_RESTARTED', 'VISIT_ENDED'], ['60-28800 silent']],
  ['off', ['STOP_TRACKING', 'TRACKING_STOPPED'], ['60-28800 tracking off']],
  ['unknown', ['BOOTED', 'START_TRACKING'], ['60-28800 silent']],
  ['error', ['TRACKING_ERROR'], ['60-28800 no permission']],
] as const)('the state of a phone is "%s" after an event with this state', (phone, names, expected) => {
  for (const name of names) {
    expect([name, reasons([0, 28_800], [event(60, name)])]).toEqual([name, expected]);
    const before = event(50, phone === 'error' ? 'STOPPED_MOVING' : 'TRACKING_ERROR');
    expect([name, seenAfter([], [before, event(60, name)])?.phone]).toEqual([name, phone]);
  }
});

it.each([
  ['WAITING_FOR_TRIP_START', 'waits', true],
  ['ONGOING_TRIP', 'moves', true],
  ['TRACKING_STOPPED', 'off', undefined],
  ['START', 'error', undefined],
] as const)('an event without a meaning of its own gives the state of its phone: %s', (state, phone, machine) => {
  const seen = seenAfter([], [event(50, 'TRACKING_ERROR'), event(60, 'NOP', state)]);
  expect([seen?.phone, seen?.machine]).toEqual([phone, machine]);
});

it('an app that starts anew knows nothing of the time before', () => {
  const events = [event(50, 'STOPPED_MOVING'), event(60, 'INITIALIZE', 'START')];
  expect(seenAfter([], events)).toMatchObject({ phone: 'unknown', machine: true });
  expect(seenAfter([], [event(50, 'BOOTED')])).not.toHaveProperty('machine');
});

it('the facts that later gaps depend on are stored with the trip chain', () => {
  const none = { reports: 0, stay: null };
  expect(seenAfter([])).toBeNull();
  expect(seenAfter([], [], readings(5, 1, 1, STILL))).toEqual({ phone: 'unknown', at: null, ...none, ts: 5 });
  const seen = { at: [8, 50], at_ts: 9, ...none, ts: 9 };
  const atOnce = (name: keyof typeof transitions) => seenAfter([9], [event(9, name)]);
  expect(seenAfter([9])).toEqual({ ...seen, phone: 'unknown' });
  expect(atOnce('STOPPED_MOVING')).toEqual({ ...seen, phone: 'waits', reports: 1, machine: true });
  expect(atOnce('EXITED_GEOFENCE')).toEqual({ ...seen, phone: 'moves', led: 9, machine: true });
  // Links are compared by their JSON.
  const order = ['at', 'at_ts', 'led', 'machine', 'phone', 'reports', 'stay', 'ts'];
  expect(Object.keys(atOnce('EXITED_GEOFENCE')!)).toEqual(order);
  const gap = { from: 60, to: 28_800 };
  const moved = seenAfter([0, [28_800, 5000]], [left]);
  expect(moved).toMatchObject({ gap, machine: true, unreported: true, led: 28_800 });
  const stayed = seenAfter([0, 28_800], [stopped]);
  expect(stayed).toMatchObject({ stay: gap, reports: 1 });
  expect(stayed).not.toHaveProperty('gap');
});

it('gaps are the same in one analysis and from one location to the next', () => {
  const names = Object.keys(transitions) as (keyof typeof transitions)[];
  const time = fc.integer({ min: 0, max: 40_000 });
  const made = fc.record({
    locations: fc.array(fc.tuple(time, fc.integer({ min: 0, max: 3000 })), { minLength: 1, maxLength: 30 }),
    // Readings in a row, so that some show movement without a location.
    motions: fc.array(fc.tuple(time, fc.integer({ min: 1, max: 8 })), { maxLength: 6 }),
    events: fc.array(fc.tuple(time, fc.constantFrom(...names)), { maxLength: 20 }),
  });
  const byTime = (a: { ts: number }, b: { ts: number }): number => a.ts - b.ts;
  fc.assert(
    fc.property(made, ({ locations, motions, events }) => {
      const places = new Map(locations.map((fix) => [fix[0], location(fix)]));
      const all: Observations = {
        locations: [...places.values()].sort(byTime),
        motions: motions.flatMap(([ts, count]) => readings(ts, count, 60)).sort(byTime),
        events: events.map(([ts, name]) => event(ts, name)).sort(byTime),
      };
      const whole = findGaps(all, null, everything);
      let seen: typeof whole.seen = null;
      const found: typeof whole.silences = [];
      for (const until of [...all.locations.map(({ ts }) => ts), everything]) {
        const part = findGaps(all, seen, until);
        found.push(...part.silences);
        seen = part.seen;
      }
      expect({ silences: found, seen }).toEqual(whole);
      for (const [i, { from, to }] of found.entries()) {
        expect(to).toBeGreaterThan(from);
        expect(from).toBeGreaterThanOrEqual(found[i - 1]?.to ?? 0);
      }
    }),
  );
});

it('a state of an older version without the time of its location gives no time without a location', () => {
  const { at_ts: _, ...older } = { ...seenAfter([0], [event(0, 'EXITED_GEOFENCE')])! };
  const after = (fix: Fix, state: object, motions: Motion[] = []) =>
    findGaps({ locations: [location(fix)], motions, events: [] }, state as never, everything).silences;
  expect(after([3100, 5000], older, readings(300, 10, 300, 4, 50))).toEqual([]);
  const rested = after(3100, { ...older, machine: undefined, phone: 'unknown' });
  expect(rested).toEqual([{ from: 0, to: 3100, reason: 'silent' }]);
});
