// Metrics of sections by mode.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { figuresOfTrip, metricByMode, metricNames, type SectionFigures } from '../../src/figures/metrics.ts';
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

it('mean_speed leaves out sections without duration', () => {
  expect(metricByMode('mean_speed', [figures({ duration: 0 })])).toEqual({});
});

it('modes are in alphabetical order, for any order of sections', () => {
  expect(Object.keys(metricByMode('count', sections))).toEqual(['CAR', 'WALKING']);
});

it('every metric of no sections is empty, and an unknown name is a programming mistake', () => {
  for (const name of metricNames) expect(metricByMode(name, [])).toEqual({});
  expect(() => metricByMode('altitude', sections)).toThrow(TypeError);
});

it('the sections of a trip lose nothing when they are split among modes', () => {
  const section = fc.record({ mode: fc.constantFrom('CAR', 'BUS', 'WALKING'), distance: fc.nat(100_000) });
  fc.assert(
    fc.property(fc.array(section), (list) => {
      const total = list.reduce((sum, { distance }) => sum + distance, 0);
      const parts = Object.values(metricByMode('distance', list.map(figures)));
      expect(parts.reduce((sum, value) => sum + value, 0)).toBe(total);
    }),
  );
});

describe('figures of a trip', () => {
  const section = (fields: Partial<Section>): Section => ({
    id: 'a',
    start_ts: 1463500800,
    end_ts: 1463500900,
    sensed_mode: 'MotionTypes.WALKING',
    duration: 100,
    distance: 150,
    coordinates: [],
    altitudes: [],
    times: [],
    speeds: [0, 1, 3],
    distances: [],
    source: 'test',
    ...fields,
  });
  const trip = (sections: Section[]): Trip => ({ start_zone: 'Europe/Berlin', sections }) as unknown as Trip;

  it('the mode is the word after the dot, the zone is the zone of the start of the trip', () => {
    const [first, second] = figuresOfTrip(trip([section({}), section({ sensed_mode: 'PredictedModeTypes.BUS' })]));
    expect(first).toMatchObject({ mode: 'WALKING', zone: 'Europe/Berlin', distance: 150, duration: 100 });
    expect(second!.mode).toBe('BUS');
  });

  it('the speed of a section is the median of its speeds: of an even number the mean of the middle two', () => {
    const sections = [[0, 1, 3], [0, 4, 1, 2], []].map((speeds) => section({ speeds }));
    expect(figuresOfTrip(trip(sections)).map(({ median_speed }) => median_speed)).toEqual([1, 1.5, null]);
  });
});
