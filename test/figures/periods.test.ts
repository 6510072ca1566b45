// Periods that sections fall into: bins of UTC, and local days, months and years.
import { describe, expect, it } from 'vitest';
import type { SectionFigures } from '../../src/figures/metrics.ts';
import { localPeriods, summarize, utcPeriods } from '../../src/figures/periods.ts';

const at = (iso: string, fields: Partial<SectionFigures> = {}): SectionFigures => ({
  start_ts: Date.parse(iso) / 1000,
  zone: 'America/Los_Angeles',
  mode: 'WALKING',
  distance: 100,
  duration: 50,
  median_speed: 2,
  ...fields,
});
const labels = (periods: { fmt_time: string; sections: readonly unknown[] }[]) =>
  periods.map(({ fmt_time, sections }) => [fmt_time.slice(0, 10), sections.length]);

describe('UTC bins', () => {
  it('days are labelled by their start, and days without sections in between are listed', () => {
    const periods = utcPeriods([at('2016-05-19T23:59:59Z'), at('2016-05-17T00:00:00Z')], 'D');
    expect(labels(periods)).toEqual([
      ['2016-05-17', 1],
      ['2016-05-18', 0],
      ['2016-05-19', 1],
    ]);
    expect(periods[0]).toMatchObject({
      ts: 1463443200,
      fmt_time: '2016-05-17T00:00:00+00:00',
      local_dt: { year: 2016, month: 5, day: 17, hour: 0, minute: 0, second: 0, weekday: 1, timezone: 'UTC' },
    });
  });

  it('a week runs from Monday to Sunday and is labelled by its Sunday', () => {
    const sections = [at('2016-05-16T00:00:00Z'), at('2016-05-22T23:00:00Z'), at('2016-05-23T00:00:00Z')];
    expect(labels(utcPeriods(sections, 'W'))).toEqual([
      ['2016-05-22', 2],
      ['2016-05-29', 1],
    ]);
  });

  it('two weeks end on the Sunday of the week of the first section, and then every other Sunday', () => {
    const sections = ['2016-05-18', '2016-05-22', '2016-05-23', '2016-06-05', '2016-06-06', '2016-07-04'].map((day) =>
      at(`${day}T10:00:00Z`),
    );
    expect(labels(utcPeriods(sections, '2W'))).toEqual([
      ['2016-05-22', 2],
      ['2016-06-05', 2],
      ['2016-06-19', 1],
      ['2016-07-03', 0],
      ['2016-07-17', 1],
    ]);
  });

  it('months and years are labelled by their last day', () => {
    const sections = [at('2016-01-31T12:00:00Z'), at('2016-02-29T23:00:00Z'), at('2017-12-31T23:59:59Z')];
    expect(labels(utcPeriods(sections.slice(0, 2), 'M'))).toEqual([
      ['2016-01-31', 1],
      ['2016-02-29', 1],
    ]);
    for (const frequency of ['A', 'Y'] as const) {
      expect(labels(utcPeriods(sections, frequency))).toEqual([
        ['2016-12-31', 2],
        ['2017-12-31', 1],
      ]);
    }
  });

  it('no sections make no bins', () => {
    expect(utcPeriods([], 'D')).toEqual([]);
  });

  it('a section with a wrong clock does not fill the answer with empty days', () => {
    const periods = utcPeriods([at('1970-01-02T00:00:00Z'), at('2099-01-01T00:00:00Z')], 'D');
    expect(labels(periods)).toEqual([
      ['1970-01-02', 1],
      ['2099-01-01', 1],
    ]);
  });
});

describe('groups by local date', () => {
  it('a section belongs to the day on which it starts where the user was', () => {
    const sections = [at('2016-05-18T06:59:00Z'), at('2016-05-18T07:00:00Z')];
    const periods = localPeriods(sections, 'DAILY');
    expect(labels(periods)).toEqual([
      ['2016-05-17', 1],
      ['2016-05-18', 1],
    ]);
    expect(periods[1]).toMatchObject({
      ts: Date.parse('2016-05-18T07:00:00Z') / 1000,
      local_dt: { year: 2016, month: 5, day: 18, timezone: 'America/Los_Angeles' },
    });
  });

  it('months and years start in the zone of their first section and name only their own fields', () => {
    const sections = [at('2016-06-10T12:00:00Z'), at('2016-05-31T22:30:00Z', { zone: 'Europe/Berlin' })];
    const [june] = localPeriods(sections, 'MONTHLY');
    expect(june).toMatchObject({ fmt_time: '2016-06', ts: Date.parse('2016-06-01T00:00:00+02:00') / 1000 });
    expect(june!.local_dt).toEqual({ year: 2016, month: 6, timezone: 'Europe/Berlin' });
    const [year] = localPeriods(sections, 'YEARLY');
    expect(year).toMatchObject({ fmt_time: '2016', ts: Date.parse('2016-01-01T00:00:00+01:00') / 1000 });
    expect(year!.local_dt).toEqual({ year: 2016, timezone: 'Europe/Berlin' });
  });

  it('groups without sections are not listed', () => {
    expect(labels(localPeriods([at('2016-05-17T20:00:00Z'), at('2016-05-20T20:00:00Z')], 'DAILY'))).toHaveLength(2);
  });
});

describe('summaries', () => {
  it('modes are fields beside the label, and an empty period has no modes', () => {
    const periods = utcPeriods([at('2016-05-17T10:00:00Z'), at('2016-05-19T10:00:00Z', { mode: 'CAR' })], 'D');
    const [first, empty, last] = summarize('distance', periods);
    expect(first).toMatchObject({ nUsers: 1, WALKING: 100 });
    expect(Object.keys(empty!).sort()).toEqual(['fmt_time', 'local_dt', 'nUsers', 'ts']);
    expect(empty!.nUsers).toBe(0);
    expect(last).toMatchObject({ nUsers: 1, CAR: 100 });
  });
});
