// Silences: time in which a phone sent nothing, and whether that was a stay.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findGaps } from '../../src/analysis/clean/gaps.ts';
import type { Location, Observations, PhoneEvent } from '../../src/analysis/clean/observations.ts';
import { type MotionType, motionTypes, states, transitions } from '../../src/model/payloads.ts';

const minute = 60;
const everything = Number.POSITIVE_INFINITY;

function location(ts: number, metres = 0): Location {
  const fix = { ts, latitude: 50 + metres / 111_195, longitude: 8, altitude: null, accuracy: 10, speed: null };
  return { ...fix, sampling: 'time', zone: 'UTC', zoneGuessed: false };
}

function event(ts: number, name: keyof typeof transitions, state: keyof typeof states | null = null): PhoneEvent {
  return { ts, transition: transitions[name], state: state && states[state] };
}

function signs({ locations = [], motions = [], events = [] }: Partial<Observations>): Observations {
  return { locations, motions, events };
}

const reasons = (of: Partial<Observations>): string[] =>
  findGaps(signs(of), null, everything).silences.map(({ from, to, reason }) => `${from}-${to} ${reason}`);

describe('a time without entries', () => {
  const late = 8 * 3600;

  it('is a stay if the phone waited for the user to leave and is still there', () => {
    const events = [event(60, 'STOPPED_MOVING'), event(late, 'EXITED_GEOFENCE')];
    expect(reasons({ locations: [location(0), location(late + 30, 400)], events })).toEqual([]);
  });

  it.for([
    ['is movement if the phone is elsewhere afterwards', [event(60, 'STOPPED_MOVING')], 5000, 'moved'],
    ['is silent if the phone was on the way', [event(60, 'EXITED_GEOFENCE')], 0, 'silent'],
    ['is silent if the phone said nothing about itself', [event(60, 'NOP')], 0, 'silent'],
    ['is off if the user turned tracking off', [event(60, 'STOP_TRACKING')], 0, 'tracking off'],
    ['has no permission if the phone said so', [event(60, 'TRACKING_ERROR')], 0, 'no permission'],
    [
      'is a phone that was off if it boots afterwards',
      [event(60, 'EXITED_GEOFENCE'), event(late, 'BOOTED')],
      0,
      'phone off',
    ],
  ] as const)('%s', ([, events, metres, reason]) => {
    expect(reasons({ locations: [location(0), location(late, metres)], events })).toEqual([`60-${late} ${reason}`]);
  });

  it('is a gap also at rest, if the phone usually reports there every few minutes', () => {
    const locations = [0, 1, 2, 3, 4, 5, 100, 101].map((n) => location(n * 5 * minute));
    expect(reasons({ locations, events: [event(0, 'STOPPED_MOVING')] })).toEqual(['1500-30000 silent']);
  });

  it('is a stay up to 1 km away, and after fewer than three reports at rest', () => {
    const events = [event(0, 'STOPPED_MOVING')];
    const away = (metres: number) => reasons({ locations: [location(0), location(late, metres)], events });
    expect([away(999.9), away(1000.1)]).toEqual([[], [`0-${late} moved`]]);
    const reporting = (count: number) => {
      const times = [...Array(count + 1).keys()].map((n) => n * 5 * minute);
      return reasons({ locations: [...times, late].map((ts) => location(ts)), events });
    };
    expect([reporting(1), reporting(2)]).toEqual([[], [`600-${late} silent`]]);
  });

  it('is a gap if the next event of the phone reports a trip', () => {
    const stopped = { ...event(late + 300, 'STOPPED_MOVING'), state: states.ONGOING_TRIP };
    const events = [event(60, 'STOPPED_MOVING'), stopped];
    expect(reasons({ locations: [location(0), location(late), location(late + 600)], events })).toEqual([
      `60-${late} silent`,
    ]);
    const left = { ...event(late + 300, 'EXITED_GEOFENCE'), state: states.WAITING_FOR_TRIP_START };
    expect(reasons({ locations: [location(0), location(late)], events: [event(60, 'STOPPED_MOVING'), left] })).toEqual(
      [],
    );
  });

  it('is a stay if the app was opened meanwhile, and a gap if it had not run or after more than a day', () => {
    const locations = [location(0), location(late + 30)];
    const stopped = event(60, 'STOPPED_MOVING');
    expect(reasons({ locations, events: [stopped, event(120, 'INITIALIZE', 'WAITING_FOR_TRIP_START')] })).toEqual([]);
    expect(reasons({ locations, events: [stopped, event(late, 'INITIALIZE', 'START')] })).toEqual([
      `60-${late} silent`,
    ]);
    expect(reasons({ locations: [location(0), location(86_461)], events: [stopped] })).toEqual(['60-86461 silent']);
  });

  it('is a stay if the phone sends locations during trips only, even without the event of leaving', () => {
    const locations = [0, 5, 10, 15, 500].map((n) => location(n * minute));
    const events = [event(0, 'STOPPED_MOVING'), event(15 * minute, 'STOPPED_MOVING', 'ONGOING_TRIP')];
    expect(reasons({ locations, events })).toEqual([]);
  });

  it('of 15 minutes is no gap', () => {
    expect(reasons({ locations: [location(0), location(900)] })).toEqual([]);
    expect(reasons({ locations: [location(0), location(901)] })).toEqual(['0-901 silent']);
  });
});

describe('a gap between two locations at one place', () => {
  const hour = 3600;
  const inferred = (of: Partial<Observations>): boolean[] =>
    findGaps(signs(of), null, everything).silences.map((one) => one.inferred === true);

  it('is an inferred stay of a phone that has no state machine, up to 150 m and 3 h', () => {
    const gap = (seconds: number, metres: number) =>
      inferred({ locations: [location(0), location(seconds, metres)] })[0];
    expect([gap(3 * hour, 149), gap(3 * hour, 151), gap(3 * hour + 1, 0)]).toEqual([true, false, false]);
  });

  it('is not one of a phone with a state machine, unless it moved in a gap and reported nothing since', () => {
    const events = [event(60, 'EXITED_GEOFENCE')];
    const home = [location(0), location(hour)];
    expect(inferred({ locations: home, events })).toEqual([false]);
    const work = [location(2 * hour, 6000), location(3 * hour, 6000)];
    expect(inferred({ locations: [...home, ...work], events })).toEqual([false, false, true]);
    const reported = [...events, event(2 * hour + 60, 'EXITED_GEOFENCE')];
    expect(inferred({ locations: [...home, ...work], events: reported })).toEqual([false, false, false]);
  });
});

it('a trip by the reports of the phone, with readings but no location for 45 min and then far away, has no location', () => {
  const motions = Array.from({ length: 10 }, (_, n) => ({ ts: 300 * (n + 1), type: 4, confidence: 50 }));
  const lost = (metres: number, last: number, name: 'EXITED_GEOFENCE' | 'STOPPED_MOVING' = 'EXITED_GEOFENCE') =>
    reasons({ locations: [location(0), location(last, metres)], motions, events: [event(0, name)] });
  expect(lost(5000, 3100)).toEqual(['0-3100 no location']);
  expect([lost(900, 3100), lost(5000, 2700), lost(5000, 3100, 'STOPPED_MOVING')]).toEqual([[], [], []]);
  const events = [event(0, 'EXITED_GEOFENCE'), event(2900, 'STOPPED_MOVING')];
  expect(reasons({ locations: [location(0), location(3100, 5000)], motions, events })).toEqual(['0-2900 no location']);
  const rested = [event(0, 'EXITED_GEOFENCE'), event(60, 'STOPPED_MOVING'), event(3000, 'EXITED_GEOFENCE')];
  expect(reasons({ locations: [location(0), location(3100, 5000)], motions, events: rested })).toEqual([]);
});

describe('a phone that reports movement but no locations', () => {
  const walk = (from: number, seconds: number, every = 30): Observations['motions'] =>
    Array.from({ length: Math.floor(seconds / every) + 1 }, (_, n) => ({
      ts: from + n * every,
      type: 7,
      confidence: 90,
    }));
  const rest = (from: number, to: number): Observations['motions'] =>
    walk(from, to - from, 600).map((reading) => ({ ...reading, type: 3 }));
  const hour = 3600;
  const ends = [location(0), location(4 * hour)];
  const motions = (...parts: Observations['motions'][]): Observations['motions'] => parts.flat();

  it('is unobserved from then to its next location, if it moved for 5 minutes without a break', () => {
    const walked = motions(rest(600, hour), walk(hour + 300, 300), rest(hour + 900, 4 * hour));
    expect(reasons({ locations: ends, motions: walked })).toEqual([`${hour + 300}-${4 * hour} no location`]);
    const exits = [event(hour + 200, 'EXITED_GEOFENCE')];
    expect(reasons({ locations: ends, motions: walked, events: exits })).toHaveLength(1);
  });

  it('is staying if it moved for less, with breaks, with low confidence, or between locations', () => {
    const calm = (moved: Observations['motions']) => motions(rest(600, hour), moved, rest(hour + 900, 4 * hour));
    const pieces = motions(walk(hour + 60, 240), walk(hour + 400, 240));
    const unsure = walk(hour + 60, 600).map((reading) => ({ ...reading, confidence: 60 }));
    for (const moved of [walk(hour + 60, 299, 23), pieces, unsure])
      expect(reasons({ locations: ends, motions: calm(moved) })).toEqual([]);
    const locations = [...ends.slice(0, 1), location(hour + 300), ...ends.slice(1)];
    expect(reasons({ locations, motions: calm(walk(hour + 60, 480)) })).toEqual([]);
  });

  it('keeps the other reasons of times between them', () => {
    const walked = motions(rest(600, hour), walk(hour, 600));
    const events = [event(hour + 700, 'STOP_TRACKING'), event(3 * hour, 'START_TRACKING')];
    const later = rest(3 * hour, 4 * hour);
    expect(reasons({ locations: ends, motions: motions(walked, later), events })).toEqual([
      `${hour}-${hour + 700} no location`,
      `${hour + 700}-${3 * hour} tracking off`,
      `${3 * hour}-${4 * hour} no location`,
    ]);
  });
});

describe('a phone that never reports its state', () => {
  const hours = 3 * 3600;
  const still = (confidence: number, type: MotionType = motionTypes.STILL) => ({ ts: hours, type, confidence });
  const inferred = (of: Partial<Observations>): boolean[] =>
    findGaps(signs(of), null, everything).silences.map((one) => one.inferred === true);

  it('was probably at rest for up to three hours between two locations at most 150 m apart', () => {
    const away = (to: number, metres: number) => inferred({ locations: [location(0), location(to, metres)] });
    expect([away(hours, 149.9), away(hours, 150.1), away(hours + 1, 0)]).toEqual([[true], [false], [false]]);
  });

  it('was at rest up to exactly 150 m', () => {
    // At the equator, a number of degrees gives exactly 150 m.
    const [from, to] = [0, 0.0013489824088780957].map((latitude, i) => ({ ...location(i * hours), latitude }));
    expect(inferred({ locations: [from!, to!] })).toEqual([true]);
  });

  it('was probably at rest up to a confident reading of rest', () => {
    const ended = (motion: ReturnType<typeof still>) => inferred({ locations: [location(0)], motions: [motion] });
    expect([ended(still(75)), ended(still(74)), ended(still(100, motionTypes.WALKING))]).toEqual([
      [true],
      [false],
      [false],
    ]);
    expect(inferred({ locations: [location(0)], motions: [{ ...still(75), ts: hours + 1 }] })).toEqual([false]);
    const late = 1_700_000_000;
    const moved = { locations: [location(late)], motions: [{ ...still(75), ts: late + hours }] };
    expect(inferred(moved)).toEqual([true]);
    expect(inferred({ locations: [location(late), location(late + hours)] })).toEqual([true]);
  });

  it('was not if it reported movement since its last location', () => {
    const walking = { ts: 60, type: motionTypes.WALKING, confidence: 75 };
    const locations = [location(0), location(hours)];
    expect(inferred({ locations, motions: [walking] })).toEqual([false]);
    expect(inferred({ locations, motions: [{ ...walking, confidence: 74 }] })).toEqual([true]);
  });
});

it.each([
  ['waits', ['STOPPED_MOVING', 'TRIP_END_DETECTED', 'END_TRIP_TRACKING', 'INIT_COMPLETE'], []],
  ['moves', ['EXITED_GEOFENCE', 'TRIP_STARTED', 'TRIP_RESTARTED', 'VISIT_ENDED'], ['60-28800 silent']],
  ['off', ['STOP_TRACKING', 'TRACKING_STOPPED'], ['60-28800 tracking off']],
  ['unknown', ['BOOTED', 'START_TRACKING'], ['60-28800 silent']],
  ['error', ['TRACKING_ERROR'], ['60-28800 no permission']],
] as const)('the state of a phone is "%s" after an event with this state', (phone, names, expected) => {
  for (const name of names) {
    const locations = [location(0), location(28_800)];
    expect([name, reasons({ locations, events: [event(60, name)] })]).toEqual([name, expected]);
    const before = event(50, phone === 'error' ? 'STOPPED_MOVING' : 'TRACKING_ERROR');
    expect([name, seenAfter({ events: [before, event(60, name)] })?.phone]).toEqual([name, phone]);
  }
});

it.each([
  ['WAITING_FOR_TRIP_START', 'waits', true],
  ['ONGOING_TRIP', 'moves', true],
  ['TRACKING_STOPPED', 'off', undefined],
  ['START', 'error', undefined],
] as const)('an event without a meaning of its own gives the state of its phone: %s', (state, phone, machine) => {
  const seen = seenAfter({ events: [event(50, 'TRACKING_ERROR'), event(60, 'NOP', state)] });
  expect([seen?.phone, seen?.machine]).toEqual([phone, machine]);
});

it('an app that starts anew knows nothing of the time before', () => {
  const events = [event(50, 'STOPPED_MOVING'), event(60, 'INITIALIZE', 'START')];
  expect(seenAfter({ events })).toMatchObject({ phone: 'unknown', machine: true });
  expect(seenAfter({ events: [event(50, 'BOOTED')] })).not.toHaveProperty('machine');
});

const seenAfter = (of: Partial<Observations>) => findGaps(signs(of), null, everything).seen;

it('the facts that later gaps depend on are stored with the trip chain', () => {
  const motions = [{ ts: 5, type: motionTypes.STILL, confidence: 100 }];
  expect(seenAfter({ motions })).toEqual({ phone: 'unknown', at: null, reports: 0, stay: null, ts: 5 });
  const left = [event(60, 'EXITED_GEOFENCE')];
  expect(seenAfter({ locations: [location(0), location(28_800, 5000)], events: left })).toMatchObject({
    gap: { from: 60, to: 28_800 },
    machine: true,
    unreported: true,
    led: 28_800,
  });
  const waits = [event(60, 'STOPPED_MOVING')];
  const stayed = seenAfter({ locations: [location(0), location(28_800)], events: waits });
  expect(stayed).toMatchObject({ stay: { from: 60, to: 28_800 }, reports: 1 });
  expect(stayed).not.toHaveProperty('gap');
});

it('a gap in a trip ends the time that may have no location', () => {
  const motions = [{ ts: 500, type: motionTypes.STILL, confidence: 100 }];
  const locations = [location(10), location(5000, 5000)];
  expect(reasons({ locations, motions, events: [event(0, 'EXITED_GEOFENCE')] })).toEqual(['500-5000 moved']);
});

it('a stay remains one if the phone reported movement only after it', () => {
  const motions = [10, 100, 190, 280, 370].map((s) => ({ ts: 28_800 + s, type: motionTypes.WALKING, confidence: 100 }));
  const events = [event(60, 'STOPPED_MOVING'), { ...event(29_500, 'STOPPED_MOVING'), state: states.ONGOING_TRIP }];
  const locations = [location(0), location(28_800), location(29_400)];
  expect(reasons({ locations, motions, events })).toEqual(['28810-29400 no location']);
});

it('movement without a location counts if its readings come at most 90 s apart for 5 minutes', () => {
  const readings = (apart: number, count: number) =>
    Array.from({ length: count }, (_, i) => ({ ts: 10 + i * apart, type: motionTypes.WALKING, confidence: 75 }));
  const found = (motions: ReturnType<typeof readings>) =>
    reasons({ locations: [location(0), location(800)], motions, events: [event(5, 'STOPPED_MOVING')] });
  expect(found(readings(90, 5))).toEqual(['10-800 no location']);
  expect([found(readings(91, 5)), found(readings(90, 4)), found(readings(75, 5))]).toEqual([
    [],
    [],
    ['10-800 no location'],
  ]);
  expect(found(readings(74.9, 5))).toEqual([]);
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
      const places = new Map(locations.map(([ts, metres]) => [ts, location(ts, metres)]));
      const all: Observations = {
        locations: [...places.values()].sort(byTime),
        motions: motions
          .flatMap(([ts, count]) =>
            Array.from({ length: count }, (_, n) => ({ ts: ts + 60 * n, type: 7, confidence: 100 })),
          )
          .sort(byTime),
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

describe('what an entry at the end of a gap, or soon after it, changes', () => {
  const late = 8 * 3600;
  const day = 1_700_000_000;
  const stopped = event(60, 'STOPPED_MOVING');

  it('a trip that an event reports up to 45 minutes after a stay makes it a gap, once', () => {
    const times = [0, late, late + 800, late + 1600, late + 2400].map((ts) => location(ts));
    const underWay = (seconds: number, first = stopped) =>
      reasons({ locations: times, events: [first, { ...event(late + seconds, 'NOP'), state: states.ONGOING_TRIP }] });
    expect([underWay(2700), underWay(2701)]).toEqual([[`60-${late} silent`], []]);
    expect(underWay(300, event(60, 'EXITED_GEOFENCE'))).toEqual([`60-${late} silent`]);
  });

  it('an event after the gap gives no reason, and tracking that was off stays the reason of a phone that is elsewhere', () => {
    const booted = [event(60, 'EXITED_GEOFENCE'), event(late + 100, 'BOOTED')];
    expect(reasons({ locations: [location(0), location(late)], events: booted })).toEqual([`60-${late} silent`]);
    const off = [event(60, 'STOP_TRACKING')];
    expect(reasons({ locations: [location(0), location(late, 5000)], events: off })).toEqual([
      `60-${late} tracking off`,
    ]);
  });

  it('only the first event after a stay tells whether a trip was under way', () => {
    const later = [event(late + 100, 'NOP'), { ...event(late + 300, 'NOP'), state: states.ONGOING_TRIP }];
    expect(reasons({ locations: [location(0), location(late)], events: [stopped, ...later] })).toEqual([]);
  });

  it('an event that repeats that the phone is at rest does not begin the number of its locations again', () => {
    const times = [0, 300, 600, late].map((ts) => location(ts));
    const events = [0, 200, 500].map((ts) => event(ts, 'STOPPED_MOVING'));
    expect(reasons({ locations: times, events })).toEqual([`600-${late} silent`]);
  });

  it.each<[string, number, number, string[], number?]>([
    ['a stay', 86_400, 0, []],
    ['a gap after more than a day', 86_401, 0, ['silent']],
    ['a gap of a phone that was on the way', 3600, 5000, ['moved']],
    ['a gap without a later location within 15 min', 3600, 5000, ['silent'], 901],
    ['a gap with a later location', 3600, 5000, ['moved'], 900],
  ])('%s, at any time', (_, seconds, metres, expected, more = 0) => {
    const end = day + seconds;
    const motions = [0, 500].map((s) => ({ ts: end + s, type: motionTypes.STILL, confidence: 60 }));
    const locations = [location(day), location(end + more, metres)];
    const found = reasons({ locations, motions, events: [event(day, 'STOPPED_MOVING')] });
    expect(found).toEqual(expected.map((reason) => `${day}-${end} ${reason}`));
  });

  it('the number of locations at rest begins again', () => {
    const times = [0, 300, late, late + 300, 2 * late].map((ts) => location(ts));
    expect(reasons({ locations: times, events: [event(0, 'STOPPED_MOVING')] })).toEqual([]);
  });
});

it('the stored facts of a phone at rest, on the way, and without events or entries', () => {
  const facts = (of: Partial<Observations>) => seenAfter({ locations: [location(9)], ...of });
  const seen = { at: [8, 50], at_ts: 9, reports: 0, stay: null, ts: 9 };
  expect(facts({ events: [event(9, 'STOPPED_MOVING')] })).toEqual({
    ...seen,
    phone: 'waits',
    reports: 1,
    machine: true,
  });
  expect(facts({ events: [event(9, 'EXITED_GEOFENCE')] })).toEqual({ ...seen, phone: 'moves', led: 9, machine: true });
  expect(facts({})).toEqual({ ...seen, phone: 'unknown' });
  expect(seenAfter({})).toBeNull();
  // Links are compared by their JSON.
  const order = ['at', 'at_ts', 'led', 'machine', 'phone', 'reports', 'stay', 'ts'];
  expect(Object.keys(facts({ events: [event(9, 'EXITED_GEOFENCE')] })!)).toEqual(order);
});

it('a state of an older version without the time of its location gives no time without a location', () => {
  const { at_ts: _, ...older } = { ...seenAfter({ locations: [location(0)], events: [event(0, 'EXITED_GEOFENCE')] })! };
  const motions = Array.from({ length: 10 }, (_, n) => ({ ts: 300 * (n + 1), type: 4, confidence: 50 }));
  const found = findGaps(signs({ locations: [location(3100, 5000)], motions }), older, everything);
  expect(found.silences).toEqual([]);
  const still = { ...older, machine: undefined, phone: 'unknown' } as never;
  const rested = findGaps(signs({ locations: [location(3100)] }), still, everything);
  expect(rested.silences).toEqual([{ from: 0, to: 3100, reason: 'silent' }]);
});
