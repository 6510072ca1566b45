// The parts of a day in order: which trips, stays and gaps are shown, from when to when, and where.
import { expect, it } from 'vitest';
import type { UnobservedReason } from '../../../src/diary/observed-time.ts';
import type { Position } from '../../../src/model/trip.ts';
import {
  dayItems,
  isOutside,
  itemId,
  labelTexts,
  mainMode,
  namedPlaces,
  recordedTime,
  type ShownDay,
  settledUntil,
} from '../../../src/web/pages/day-items.ts';
import { textsFor } from '../../../src/web/pages/texts/texts.ts';
import { row } from '../../support/row.ts';

const [from, to] = [10_000, 96_400];

/** A trip between places, which are numbers of degrees east. `entered`: the user arrived unseen at its start. */
function trip(start_ts: number, end_ts: number, start: number, end: number, entered?: number | null): object {
  const start_place = { id: entered === undefined ? `place ${start}` : 'unseen', enter_ts: entered ?? null };
  const end_place = { id: `place ${end}` };
  return { start_ts, end_ts, start_loc: [start, 0], end_loc: [end, 0], start_place, end_place };
}
const stay = (begin: number, end: number) => ({ kind: 'staying', from: begin, to: end });
const off = (begin: number, end: number, reason = 'silent') => ({ kind: 'unobserved', from: begin, to: end, reason });
const moving = (begin: number, end: number) => ({ kind: 'moving', from: begin, to: end });

/** `kind from-to where`, and what else is known. */
function listed(spans: object[], day: object = {}): string {
  const placeAt = ([east]: Position) => ({ name: `${east}` });
  const rest = { trips: [], before: null, after: null, now: 5e9, ...day };
  const items = dayItems({ observed: { from, to, spans }, placeAt, ...rest } as unknown as ShownDay);
  const texts = items.map((item) => {
    const at = `${item.kind} ${item.from}-${item.to}`;
    if (item.kind === 'trip') return at;
    if (item.kind === 'stay') return `${at} ${item.place.name}${item.since === null ? '' : ` since ${item.since}`}`;
    return `${at} ${item.reason} ${item.here?.name ?? '-'} ${item.there?.name ?? '-'} ${item.parts}`;
  });
  return texts.join(', ');
}

it.each([
  [20, true], // 2,000 km in 24 h: slower than a train
  [60, false],
])('a move by %d degrees of longitude in a day', (degrees, isSlow) => {
  const [before, after] = [trip(1000, 10_000, 0, 1), trip(96_400, 97_000, 1 + degrees, 2 + degrees, 96_400)];
  const observed = { from, to, spans: [off(from, to, 'moved')] };
  const day = { observed, placeAt: () => ({ name: 'A' }), trips: [], before, after, now: 5e9 } as unknown as ShownDay;
  expect(dayItems(day).map((item) => item.kind === 'gap' && item.byAir !== true)).toEqual([isSlow]);
});

const before = trip(1000, 5000, 0, 1);
const after = trip(200_000, 200_600, 1, 2);
const riding = { trips: [trip(20_000, 21_000, 1, 2)] };
const elsewhere = trip(20_000, 21_000, 3, 2);
const dayWith = row<[title: string, spans: object[], day: object]>;

it.each([
  dayWith('without trips', [stay(from, to), off(to, to + 90)], {})`gap ${to}-${to + 90} silent - - 1`,
  dayWith('after a trip', [stay(from, to)], { before })`stay ${from}-${to} 1 since 5000`,
  dayWith('after a trip that ended 61 s before', [stay(from, to)], { before: trip(1, from - 61, 0, 1) })`
    stay ${from}-${to} 1 since 9939`,
  dayWith('after a trip that ended 60 s before', [stay(from, to)], { before: trip(1, from - 60, 0, 1) })`
    stay ${from}-${to} 1`,
  dayWith('before a trip', [stay(from, to)], { after })`stay ${from}-${to} 1`,
  dayWith('with a stay that begins within the day', [off(from, 20_000), stay(20_000, to)], { before })`
    gap ${from}-20000 silent 1 - 1, stay 20000-${to} 1`,
  dayWith('with a gap after the last location', [off(from, 20_000), stay(20_000, 30_000), off(30_000, to)], {
    locatedUntil: 30_000,
  })`gap 10000-20000 silent - - 1, gap 30000-${to} no location - - 1`,
  dayWith('up to now', [stay(from, to)], { before, now: 30_000 })`stay 10000-30000 1 since 5000`,
  dayWith('that has not begun', [stay(from, to)], { before, now: from })``,
  dayWith('with a trip', [stay(from, 20_000), moving(20_000, 21_000), stay(21_000, to)], riding)`
    stay 10000-20000 1, trip 20000-21000, stay 21000-${to} 2`,
  dayWith('with a trip that touches a stay', [stay(from, 20_000), stay(21_000, to)], riding)`
    stay 10000-20000 1, stay 21000-${to} 2`,
  dayWith('with a trip in two spans', [moving(from, 20_000), moving(20_000, to)], {
    trips: [trip(9000, 99_000, 1, 2)],
  })`
    trip ${from}-${to}`,
  dayWith('with a stay that begins a second before the end of a trip', [stay(20_000, to)], {
    trips: [trip(15_000, 20_001, 1, 2)],
  })`trip 15000-20001, stay 20000-${to} 2`,
  dayWith('with a stay that begins earlier', [stay(20_000, to)], { before, trips: [trip(15_000, 20_001.5, 7, 2)] })`
    trip 15000-20001.5, stay 20000-${to} 1`,
  dayWith('with a gap before a trip', [off(from, 20_000), moving(20_000, 21_000)], { before, trips: [elsewhere] })`
    gap 10000-20000 silent 1 3 1, trip 20000-21000`,
  dayWith('with a gap that reaches into a trip', [off(from, 20_000)], { before, trips: [trip(15_000, 21_000, 3, 2)] })`
    gap 10000-15000 silent 1 3 1, trip 15000-21000`,
  dayWith('with a gap around a trip', [off(from, 20_000)], { before, trips: [trip(15_000, 20_000, 3, 2)] })`
    gap 10000-20000 silent 1 - 1, trip 15000-20000`,
  dayWith('with a gap within a trip', [off(15_000, 20_000)], { trips: [trip(15_000, 20_000, 3, 2)] })`
    trip 15000-20000`,
  dayWith('with a gap that begins before a trip', [off(15_000, 20_000)], { trips: [trip(15_001, 20_000, 3, 2)] })`
    gap 15000-20000 silent 3 - 1, trip 15001-20000`,
  dayWith('with a gap up to a second after the start of a trip', [off(15_000, 20_001)], { after: elsewhere })`
    gap 15000-20001 silent 3 3 1`,
  dayWith('with a gap of 60 s', [off(15_000, 15_060)], { after })`gap 15000-15060 silent 1 1 1`,
  dayWith('with a gap of 59 s', [off(15_000, 15_059)], { after })``,
  dayWith(
    'with gaps of one reason that follow each other or a stay of less than 5 minutes',
    [
      ...[off(10_000, 11_000), off(11_000, 12_000), stay(12_000, 12_299), off(12_299, 13_000)],
      ...[off(13_000, 14_000, 'phone off'), stay(14_000, 14_300), off(14_300, 15_000, 'phone off')],
    ],
    { before, after },
  )`
    gap 10000-13000 silent 1 1 3, gap 13000-14000 phone off 1 1 1, stay 14000-14300 1, gap 14300-15000 phone off 1 1 1`,
  dayWith('with a stay of a minute that began the day before', [stay(from, 10_060), off(10_060, 20_000)], { before })`
    stay ${from}-10060 1 since 5000, gap 10060-20000 silent 1 - 1`,
  dayWith('with a shorter stay that began the day before', [stay(from, 10_059), off(10_059, 20_000)], { before })`
    gap 10059-20000 silent 1 - 1`,
  dayWith(
    'with a stay of a second, and one of less',
    [off(from, 20_000), stay(20_000, 20_001), off(30_000, 40_000, 'phone off'), stay(40_000, 40_000.9)],
    { before },
  )`gap ${from}-20000 silent 1 - 1, stay 20000-20001 1, gap 30000-40000 phone off 1 - 1`,
])('a day %s', (_, spans, day, expected) => {
  expect(listed(spans, day)).toBe(expected);
});

it.each<[string, number | null, number, string]>([
  ['at its start', 20_000, 20_000, 'stay 20000-30000 7'],
  ['up to a second later', 20_001, 20_000, 'stay 20000-30000 7'],
  ['more than a second later', 20_001.5, 20_000, 'stay 20000-20001.5 1, stay 20001.5-30000 7'],
  ['within it', 25_000, 20_000, 'stay 20000-25000 1, stay 25000-30000 7'],
  ['a second before its end', 29_999, 20_000, 'stay 20000-29999 1, stay 29999-30000 7'],
  ['less than a second before its end', 29_999.5, 20_000, 'stay 20000-29999.5 1'],
  ['at its end', 30_000, 20_000, 'stay 20000-30000 1'],
  ['at no known time', null, 20_000, 'stay 20000-30000 1'],
  ['within the first minute of the day', from + 59, from, `stay ${from + 59}-30000 7`],
  ['after the first minute of the day', from + 60, from, `stay ${from}-10060 1 since 5000, stay 10060-30000 7`],
])('a stay whose place changes unseen %s', (_, entered, begin, expected) => {
  expect(listed([stay(begin, 30_000)], { before, trips: [trip(30_000, 31_000, 7, 8, entered)] })).toBe(expected);
});

it('a stay at one place is not divided, also if the next trip states an arrival', () => {
  const next = { ...trip(30_000, 31_000, 7, 8), start_place: { id: 'place 1', enter_ts: 5000 } };
  expect(listed([stay(20_000, 30_000)], { before, after: next })).toBe('stay 20000-30000 1');
});

it('time outside of the study is outside, and other gaps, stays and trips are not', () => {
  const gapOf = (reason: UnobservedReason) =>
    ({ kind: 'gap', from: 1.4, to: 2, reason, here: null, there: null, parts: 1 }) as const;
  const outside = ['before the first location', 'before joining', 'after leaving', 'not yet'] as const;
  expect(outside.map((reason) => isOutside(gapOf(reason)))).toEqual([true, true, true, true]);
  const others = [gapOf('silent'), { kind: 'stay', from: 1, to: 2, since: null } as never];
  expect(others.map(isOutside)).toEqual([false, false]);
  expect([1.4, 1.5].map((at) => itemId({ ...gapOf('silent'), from: at }))).toEqual(['at-1', 'at-2']);
});

it('the recorded time of a day leaves out time outside of the study and after now', () => {
  const sums = { moving_s: 100, staying_s: 200 };
  const spans = [off(0, 1000), off(1000, 3000, 'before joining'), off(3000, 4000), off(4000, 5000)];
  const recorded = (now: number, more = {}) => recordedTime({ ...sums, spans, ...more } as never, now);
  expect(recorded(9000)).toEqual({ recorded: 300, past: 3300, share: 300 / 3300 });
  expect(recorded(3500)).toEqual({ recorded: 300, past: 1800, share: 300 / 1800 });
  expect(recorded(9000, { moving_s: 0, staying_s: 0 })).toEqual({ recorded: 0, past: 3000, share: 0 });
});

it.each([
  [null, 1000],
  [500, 1000],
  [1500, 1500],
  [1998, 1998],
  [1999, 2000],
  [5000, 2000],
])('a day from 1,000 to 2,000 of a diary that is final up to %s is final up to %d', (completeUntil, expected) => {
  expect(settledUntil({ completeUntil, observed: { from: 1000, to: 2000 } } as ShownDay)).toBe(expected);
});

it('the main mode is the mode of the longest section, of equal ones the first', () => {
  const modeOf = (...sections: [string, number][]) =>
    mainMode({ sections: sections.map(([sensed_mode, distance]) => ({ sensed_mode, distance })) } as never);
  expect([modeOf(['a', 1], ['b', 2], ['c', 2]), modeOf(['a', 5], ['b', 5]), modeOf()]).toEqual(['b', 'a', 'UNKNOWN']);
});

const t = textsFor(['en']);

it('labels are shown in the words of the study, else of the language, else as they are', () => {
  const user_input = { mode_confirm: 'bike', purpose_confirm: 'work', replaced_mode: 'own_word' };
  const input = { user_input, additions: [] };
  const words = (label: string) => (label === 'bike' ? 'My bike' : undefined);
  const purpose = (t.labelPurposes as Record<string, string>).work;
  expect(labelTexts(input as never, t, words)).toEqual(['My bike', purpose, 'own_word']);
  expect(labelTexts(input as never, t)[0]).toBe((t.labelModes as Record<string, string>).bike);
});

it.each<[{ name: string | null; home?: number | null }, isOwn: boolean, expected: object]>([
  [{ name: 'A name of more than 16' }, true, { mark: 'A name of more t', isNamed: true, look: 'place' }],
  [{ name: 'HOME', home: 1 }, true, { name: 'Home', mark: 'Home', isNamed: true, look: 'home' }],
  [{ name: null, home: null }, true, { name: 'Place C', mark: 'C', isNamed: false, look: 'place' }],
  [{ name: null, home: 0.79 }, true, { name: 'Place C', mark: 'C', isNamed: false, look: 'place' }],
  [{ name: null, home: 1 }, false, { name: 'Place C', mark: 'C', isNamed: false, look: 'place' }],
  [{ name: null, home: 0.8 }, true, { name: 'Home?', mark: 'Home?', isNamed: false, isGuess: true, look: 'home' }],
])('a place of %o, shown to its owner: %s, looks like %o', (place, isOwn, expected) => {
  const places = { of: () => ({ letter: 'C', home: null, ...place }) };
  expect(namedPlaces(places as never, t, isOwn)([0, 0])).toEqual({ name: place.name, ...expected });
});
