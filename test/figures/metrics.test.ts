// Metrics of sections by mode, and the periods that sections fall into: bins of UTC, and local days, months and years.
import { expect, it } from 'vitest';
import { figuresOfTrip, metricByMode, metricNames, type SectionFigures } from '../../src/figures/metrics.ts';
import { localPeriods, utcPeriods } from '../../src/figures/periods.ts';
import type { Section, Trip } from '../../src/model/trip.ts';

const figures = (fields: Partial<SectionFigures>): SectionFigures => ({
  start_ts: 1463500800,
  zone: 'UTC',
  mode: 'WALKING',
  distance: 100,
  duration: 50,
  median_speed: 2,
  ...fields,
});

const sections = [
  figures({ distance: 100, duration: 100, median_speed: 1 }),
  figures({ distance: 600, duration: 200, median_speed: 5 }),
  figures({ mode: 'CAR', distance: 5000, duration: 500, median_speed: null }),
];

it.each([
  ['count adds up the sections of a mode', 'count', { CAR: 1, WALKING: 2 }],
  ['distance adds up', 'distance', { CAR: 5000, WALKING: 700 }],
  ['duration adds up', 'duration', { CAR: 500, WALKING: 300 }],
  ['median_speed is the median of the medians, without a mode that has no speeds', 'median_speed', { WALKING: 3 }],
  ['mean_speed is the mean of distance by duration', 'mean_speed', { CAR: 10, WALKING: 2 }],
])('%s', (_, name, expected) => {
  expect(metricByMode(name, sections)).toEqual(expected);
});

it('mean_speed leaves out sections without duration, and modes are in alphabetical order', () => {
  expect(metricByMode('mean_speed', [figures({ duration: 0 })])).toEqual({});
  expect(Object.keys(metricByMode('count', sections))).toEqual(['CAR', 'WALKING']);
});

it('every metric of no sections is empty, and an unknown name is a programming mistake', () => {
  for (const name of metricNames) expect(metricByMode(name, [])).toEqual({});
  expect(() => metricByMode('altitude', sections)).toThrow(TypeError);
});

const section = (fields: Partial<Section>) => ({
  ...{ start_ts: 1463500800, sensed_mode: 'MotionTypes.WALKING', duration: 100, distance: 150, speeds: [0, 1, 3] },
  ...fields,
});
const trip = (sections: Partial<Section>[]) => ({ start_zone: 'Europe/Berlin', sections }) as Trip;

it('figures of a trip: the mode is the word after the dot, the zone is the zone of the start of the trip', () => {
  const [first, second] = figuresOfTrip(trip([section({}), section({ sensed_mode: 'PredictedModeTypes.BUS' })]));
  expect(first).toMatchObject({ mode: 'WALKING', zone: 'Europe/Berlin', distance: 150, duration: 100 });
  expect(second!.mode).toBe('BUS');
});

it('the speed of a section is the median of its speeds: of an even number the mean of the middle two', () => {
  const sections = [[0, 1, 3], [0, 4, 1, 2], []].map((speeds) => section({ speeds }));
  expect(figuresOfTrip(trip(sections)).map(({ median_speed }) => median_speed)).toEqual([1, 1.5, null]);
});

const timeOf = (iso: string): number => Date.parse(iso) / 1000;
const at = (iso: string, fields: Partial<SectionFigures> = {}): SectionFigures =>
  figures({ start_ts: timeOf(iso), zone: 'America/Los_Angeles', ...fields });
/** The label of each period, and how many sections it has. */
const labels = (periods: { fmt_time: string; sections: readonly unknown[] }[]): string =>
  periods.map(({ fmt_time, sections }) => `${fmt_time.slice(0, 10)}: ${sections.length}`).join(', ');

it.each<[title: string, Parameters<typeof utcPeriods>[1], times: string[], expected: string]>([
  [
    'days are labelled by their start, and days without sections in between are listed',
    'D',
    ['2016-05-19T23:59:59Z', '2016-05-17T00:00:00Z'],
    '2016-05-17: 1, 2016-05-18: 0, 2016-05-19: 1',
  ],
  [
    'a week runs from Monday to Sunday and is labelled by its Sunday',
    'W',
    ['2016-05-16T00:00:00Z', '2016-05-22T23:00:00Z', '2016-05-23T00:00:00Z'],
    '2016-05-22: 2, 2016-05-29: 1',
  ],
  [
    'two weeks end on the Sunday of the week of the first section, and then every other Sunday',
    '2W',
    ['05-18', '05-22', '05-23', '06-05', '06-06', '07-04'].map((day) => `2016-${day}T10:00:00Z`),
    '2016-05-22: 2, 2016-06-05: 2, 2016-06-19: 1, 2016-07-03: 0, 2016-07-17: 1',
  ],
  [
    'months are labelled by their last day',
    'M',
    ['2016-01-31T12:00:00Z', '2016-02-29T23:00:00Z'],
    '2016-01-31: 1, 2016-02-29: 1',
  ],
  ...(['A', 'Y'] as const).map((frequency): [string, 'A' | 'Y', string[], string] => [
    `years are labelled by their last day, as ${frequency}`,
    frequency,
    ['2016-01-31T12:00:00Z', '2016-02-29T23:00:00Z', '2017-12-31T23:59:59Z'],
    '2016-12-31: 2, 2017-12-31: 1',
  ]),
  ['no sections make no bins', 'D', [], ''],
  [
    'a section with a wrong clock does not fill the answer with empty days',
    'D',
    ['1970-01-02T00:00:00Z', '2099-01-01T00:00:00Z'],
    '1970-01-02: 1, 2099-01-01: 1',
  ],
])('UTC bins: %s', (_, frequency, times, expected) => {
  const sections = times.map((iso) => at(iso));
  expect(labels(utcPeriods(sections, frequency))).toBe(expected);
});

it('UTC bins: have their time and its local fields', () => {
  expect(utcPeriods([at('2016-05-17T00:00:00Z')], 'D')[0]).toMatchObject({
    ts: 1463443200,
    fmt_time: '2016-05-17T00:00:00+00:00',
    local_dt: { year: 2016, month: 5, day: 17, hour: 0, minute: 0, second: 0, weekday: 1, timezone: 'UTC' },
  });
});

it('groups by local date: a section belongs to the day where the user was, and days without sections are not listed', () => {
  const times = ['2016-05-18T06:59:00Z', '2016-05-18T07:00:00Z', '2016-05-20T20:00:00Z'];
  const periods = localPeriods(
    times.map((iso) => at(iso)),
    'DAILY',
  );
  expect(labels(periods)).toBe('2016-05-17: 1, 2016-05-18: 1, 2016-05-20: 1');
  const local_dt = { year: 2016, month: 5, day: 18, timezone: 'America/Los_Angeles' };
  expect(periods[1]).toMatchObject({ ts: timeOf('2016-05-18T07:00:00Z'), local_dt });
});

it('local months and years start in the zone of their first section and name only their own fields', () => {
  const sections = [at('2016-06-10T12:00:00Z'), at('2016-05-31T22:30:00Z', { zone: 'Europe/Berlin' })];
  const [june] = localPeriods(sections, 'MONTHLY');
  expect(june).toMatchObject({ fmt_time: '2016-06', ts: timeOf('2016-06-01T00:00:00+02:00') });
  expect(june!.local_dt).toEqual({ year: 2016, month: 6, timezone: 'Europe/Berlin' });
  const [year] = localPeriods(sections, 'YEARLY');
  expect(year).toMatchObject({ fmt_time: '2016', ts: timeOf('2016-01-01T00:00:00+01:00') });
  expect(year!.local_dt).toEqual({ year: 2016, timezone: 'Europe/Berlin' });
});
