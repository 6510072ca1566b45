// Local times and days against the runtime's own calendar, at the places where clocks and calendars are odd.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addDays,
  addUtc,
  dayRange,
  formatForPeople,
  formatTime,
  isDay,
  isTimeZone,
  justAfter,
  justBefore,
  localDateTime,
  localDay,
  maxTime,
  minTime,
  startOfDay,
  utcPeriod,
  zoneOffset,
} from '../../src/model/time.ts';
import { words } from '../support/words.ts';

const zones = words(`
  UTC Europe/Berlin Europe/Dublin America/Los_Angeles America/St_Johns America/Sao_Paulo America/Havana
  Asia/Kolkata Asia/Kathmandu Asia/Beirut Asia/Tehran Asia/Gaza Australia/Lord_Howe Pacific/Apia
  Pacific/Chatham Pacific/Kiritimati Antarctica/Casey Antarctica/Troll Africa/Casablanca Africa/Monrovia
  Etc/GMT+7 Etc/GMT-14 America/Scoresbysund Pacific/Guam
`);
const anyZone = fc.constantFrom(...zones);
/** 1970 to 2037, with parts of a second. */
const anyTime = fc.double({ min: 0, max: 2_145_916_800, noNaN: true });

const formatterOf = (timeZone: string) =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
const formatters = new Map(zones.map((zone) => [zone, formatterOf(zone)]));

/** Local fields by the runtime, and the offset that follows from them. */
function reference(ts: number, zone: string) {
  const whole = Math.floor(ts);
  const text = formatters.get(zone)!.format(whole * 1000);
  const offset = Date.parse(`${text.replace(' ', 'T')}Z`) / 1000 - whole;
  return { day: text.slice(0, 10), clock: text.slice(11), offset };
}

/** Seconds at which the offset of a zone changes, `from` to `to`. */
function changes(zone: string, from: number, to: number): number[] {
  const found: number[] = [];
  const offsetAt = (ts: number) => reference(ts, zone).offset;
  for (let low = from; low < to; low += 5 * 86_400) {
    let before = low;
    let after = low + 5 * 86_400;
    if (offsetAt(before) === offsetAt(after)) continue;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (offsetAt(middle) === offsetAt(before)) before = middle;
      else after = middle;
    }
    found.push(after);
  }
  return found;
}

const year = (y: number): number => Date.UTC(y, 0, 1) / 1000;

function expectAgreement(ts: number, zone: string): void {
  const { day, clock, offset } = reference(ts, zone);
  expect(zoneOffset(zone, ts)).toBe(offset);
  expect(localDay(ts, zone)).toBe(day);
  expect(formatTime(ts, zone).slice(0, 19)).toBe(`${day}T${clock}`);
  const [year, month, date] = day.split('-').map(Number);
  const [hour, minute, second] = clock.split(':').map(Number);
  const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7;
  const fields = { year, month, day: date, hour, minute, second, weekday, timezone: zone };
  expect(localDateTime(ts, zone)).toMatchObject(fields);
}

describe('local times', () => {
  it('agree with the runtime at any time in any zone', () => {
    fc.assert(fc.property(anyTime, anyZone, expectAgreement), { numRuns: 3000 });
  });

  it('agree with the runtime around every change of the clocks', () => {
    const spans: [zone: string, from: number, to: number][] = [
      ['Europe/Berlin', 2016, 2019],
      ['Australia/Lord_Howe', 2016, 2018],
      ['Africa/Casablanca', 2018, 2020],
      ['America/St_Johns', 2009, 2012], // clocks changed at 00:01
      ['Antarctica/Casey', 2018, 2024], // and here again
      ['Asia/Gaza', 2010, 2013],
      ['Pacific/Apia', 2011, 2013],
      ['Africa/Monrovia', 1971, 1973], // by 44 min 30 s
    ];
    for (const [zone, from, to] of spans) {
      const found = changes(zone, year(from), year(to));
      expect(found.length).toBeGreaterThan(0);
      for (const change of found) {
        for (const shift of [-901, -900, -899, -61, -60, -1, -0.5, 0, 0.5, 1, 59, 60, 840, 899, 900]) {
          expectAgreement(change + shift, zone);
        }
      }
    }
  });

  it('have a numeric offset, and a fraction of six digits only when there is one', () => {
    expect(formatTime(1463501999.8, 'America/Los_Angeles')).toBe('2016-05-17T09:19:59.800000-07:00');
    expect(formatTime(1463502000, 'America/Los_Angeles')).toBe('2016-05-17T09:20:00-07:00');
    expect(formatTime(1463502000.000001, 'Asia/Kathmandu')).toBe('2016-05-17T22:05:00.000001+05:45');
    expect(formatTime(1463502000, 'America/St_Johns')).toBe('2016-05-17T13:50:00-02:30');
    expect(formatTime(0, 'UTC')).toBe('1970-01-01T00:00:00+00:00');
    expect(formatTime(-0.25, 'UTC')).toBe('1969-12-31T23:59:59.750000+00:00');
    expect(formatTime(-3_000_000_000, 'Europe/Berlin')).toBe('1874-12-07T19:33:28+00:53:28');
  });

  it('never round up into the next second', () => {
    const ts = justBefore(1463522400); // midnight in Berlin
    expect(formatTime(ts, 'Europe/Berlin')).toBe('2016-05-17T23:59:59.999999+02:00');
    expect(localDay(ts, 'Europe/Berlin')).toBe('2016-05-17');
    expect(localDateTime(ts, 'Europe/Berlin').second).toBe(59);
  });
});

describe('the ends of the calendar', () => {
  it('are years 1 and 9999', () => {
    expect(formatTime(minTime, 'UTC')).toBe('0001-01-01T00:00:00+00:00');
    expect(formatTime(maxTime + 0.5, 'UTC')).toBe('9999-12-31T23:59:59.500000+00:00');
    expect(localDateTime(maxTime, 'UTC')).toMatchObject({ year: 9999, month: 12, day: 31, weekday: 4 });
    expect(localDay(minTime, 'UTC')).toBe('0001-01-01');
  });

  it('have no local time beyond them, in any zone', () => {
    for (const local of [localDay, localDateTime, formatTime]) {
      for (const ts of [minTime - 1, maxTime + 1, Number.NaN, Infinity, -Infinity, 1e300])
        expect(() => local(ts, 'UTC'), `${ts}`).toThrow(RangeError);
      expect(() => local(maxTime, 'Asia/Tokyo')).toThrow(RangeError);
      expect(() => local(minTime, 'America/New_York')).toThrow(RangeError);
      expect(() => local(minTime, 'Asia/Tokyo')).not.toThrow();
    }
  });

  it('have whole days', () => {
    expect(dayRange('9999-12-31', 'UTC')).toEqual({ from: maxTime - 86_399, to: maxTime + 1 });
    expect(dayRange('0001-01-01', 'UTC')).toEqual({ from: minTime, to: minTime + 86_400 });
    expect(startOfDay('9999-12-31', 'Asia/Tokyo')).toBe(maxTime - 86_399 - 9 * 3600);
    expect(() => addDays('9999-12-31', 1)).toThrow(RangeError);
    expect(() => addDays('0001-01-01', -1)).toThrow(RangeError);
  });
});

describe('time zones', () => {
  it('are the names of the database in any case, also after and before names that nearly are one', () => {
    const zones = words('UTC Etc/GMT+7 Etc/GMT-14 america/new_york US/Pacific America/Argentina/Buenos_Aires');
    const none = words('none Europe/Nowhere +01:00 GMT+7 __proto__ Europe/Berlin/ Europe/Berli');
    for (let i = 0; i < 2; i++) {
      for (const name of [...none, '', ' UTC', 'Europe/Berlin ', 'x'.repeat(65), 5, null, undefined, {}])
        expect(isTimeZone(name), `${name}`).toBe(false);
      for (const zone of [...zones, 'Europe/Berlin']) expect(isTimeZone(zone), zone).toBe(true);
    }
    for (const zone of ['none', 'Europe/Nowhere', 'x'.repeat(100)])
      expect(() => zoneOffset(zone, 0)).toThrow(RangeError);
    expect(() => startOfDay('2016-05-17', 'none')).toThrow(RangeError);
  });

  it('keep working while thousands of unknown ones are requested', () => {
    for (let i = 0; i < 5000; i++) expect(isTimeZone(`No/Zone${i}`)).toBe(false);
    expect(formatTime(1463502000, 'Asia/Kolkata')).toBe('2016-05-17T21:50:00+05:30');
  });

  it('have the right offsets beyond the cached ones', () => {
    for (let i = 0; i < 30_000; i++) zoneOffset('Asia/Kolkata', i * 900);
    fc.assert(fc.property(anyTime, anyZone, expectAgreement), { numRuns: 100 });
  });
});

describe('local days', () => {
  const anyDay = fc
    .integer({ min: 5 * 365, max: 67 * 365 })
    .map((days) => new Date(days * 86_400_000).toISOString().slice(0, 10));

  it('begin at the first instant that has their date', () => {
    fc.assert(
      fc.property(anyDay, anyZone, (day, zone) => {
        const start = startOfDay(day, zone);
        expect(reference(start - 1, zone).day < day).toBe(true);
        expect(reference(start, zone).day >= day).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('follow each other without gap or overlap, and hold the instants with their date', () => {
    // Where clocks go back at 00:01, an hour of the day before comes after the day's first minute.
    const unsteady = words('America/St_Johns Antarctica/Casey Asia/Gaza Pacific/Guam');
    const steady = fc.constantFrom(...zones.filter((zone) => !unsteady.includes(zone)));
    fc.assert(
      fc.property(anyDay, steady, fc.double({ min: -3600, max: 26 * 3600, noNaN: true }), (day, zone, shift) => {
        const { from, to } = dayRange(day, zone);
        expect(to).toBe(dayRange(addDays(day, 1), zone).from);
        const ts = from + shift;
        expect(ts >= from && ts < to).toBe(localDay(ts, zone) === day);
      }),
      { numRuns: 2000 },
    );
  });

  it.each<[zone: string, day: string, start: string, hours: number]>([
    ['America/Sao_Paulo', '2017-10-15', '2017-10-15T03:00:00.000Z', 23], // begins at 01:00
    ['America/Sao_Paulo', '2018-02-17', '2018-02-17T02:00:00.000Z', 25], // ends with 23:00 twice
    ['America/Havana', '2016-11-06', '2016-11-06T04:00:00.000Z', 25], // begins with 00:00 twice
    ['America/Havana', '2017-03-12', '2017-03-12T05:00:00.000Z', 23], // begins at 01:00
    ['Europe/Berlin', '2016-10-30', '2016-10-29T22:00:00.000Z', 25],
    ['Australia/Lord_Howe', '2016-10-02', '2016-10-01T13:30:00.000Z', 23.5],
    ['Australia/Lord_Howe', '2017-04-02', '2017-04-01T13:00:00.000Z', 24.5],
    ['America/St_Johns', '2011-03-13', '2011-03-13T03:30:00.000Z', 23], // 00:01 becomes 01:01
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z', 0], // skipped
    ['Africa/Monrovia', '1972-01-07', '1972-01-07T00:44:30.000Z', 23 + 15.5 / 60], // begins at 00:44:30
  ])('%s %s begins %s and has %d hours', (zone, day, start, hours) => {
    const { from, to } = dayRange(day, zone);
    expect(new Date(from * 1000).toISOString()).toBe(start);
    expect((to - from) / 3600).toBeCloseTo(hours, 9);
  });

  it('are days of the calendar', () => {
    for (const day of ['2016-02-29', '2000-02-29', '0001-01-01', '9999-12-31']) expect(isDay(day)).toBe(true);
    const none = words('2015-02-29 1900-02-29 2016-13-01 2016-00-10 2016-04-31 0000-12-31 10000-01-01 2016-1-1');
    for (const day of [...none, '', '2016-05-17 ', '2016-05-17\n', 'today', 20160517, null])
      expect(isDay(day)).toBe(false);
  });

  it('can be counted on and back', () => {
    expect(addDays('2016-02-28', 2)).toBe('2016-03-01');
    expect(addDays('2016-03-01', -1)).toBe('2016-02-29');
    expect(addDays('0099-12-31', 1)).toBe('0100-01-01');
    fc.assert(
      fc.property(anyDay, fc.integer({ min: -5000, max: 5000 }), (day, count) => {
        const expected = new Date(Date.parse(day) + count * 86_400_000).toISOString().slice(0, 10);
        expect(addDays(day, count)).toBe(expected);
        expect(addDays(expected, -count)).toBe(day);
      }),
    );
  });
});

describe('periods of UTC', () => {
  const iso = (ts: number): string => new Date(ts * 1000).toISOString().slice(0, 10);
  const units = ['day', 'week', 'month', 'year'] as const;

  it.each<[string, (typeof units)[number], string, string]>([
    ['2016-05-17', 'day', '2016-05-17', '2016-05-17'],
    ['2016-05-17', 'week', '2016-05-16', '2016-05-22'],
    ['2016-05-22', 'week', '2016-05-16', '2016-05-22'],
    ['2016-02-10', 'month', '2016-02-01', '2016-02-29'],
    ['2016-12-31', 'month', '2016-12-01', '2016-12-31'],
    ['2016-05-17', 'year', '2016-01-01', '2016-12-31'],
    ['0050-05-17', 'year', '0050-01-01', '0050-12-31'],
    ['1969-12-31', 'week', '1969-12-29', '1970-01-04'],
  ])('the one around %s by %s is %s to %s', (day, unit, start, lastDay) => {
    const period = utcPeriod(Date.parse(`${day}T23:59:59.5Z`) / 1000, unit);
    expect([iso(period.start), iso(period.lastDay)]).toEqual([start, lastDay]);
  });

  it('follow each other', () => {
    fc.assert(
      fc.property(fc.double({ min: minTime, max: maxTime, noNaN: true }), fc.constantFrom(...units), (ts, unit) => {
        const { start, lastDay } = utcPeriod(ts, unit);
        expect(ts >= start && ts < lastDay + 86_400).toBe(true);
        expect(utcPeriod(lastDay + 86_400, unit).start).toBe(lastDay + 86_400);
        expect(addUtc(start, 1, unit)).toBe(lastDay + 86_400);
      }),
    );
  });

  it('can be moved by, to the last day of a month that is too short', () => {
    const moved = (day: string, count: number, unit: (typeof units)[number]) =>
      iso(addUtc(Date.parse(day) / 1000, count, unit));
    expect(moved('2016-01-31', 1, 'month')).toBe('2016-02-29');
    expect(moved('2016-01-31', -2, 'month')).toBe('2015-11-30');
    expect(moved('2016-02-29', 1, 'year')).toBe('2017-02-28');
    expect(moved('2016-05-17', -2, 'week')).toBe('2016-05-03');
    expect(addUtc(0.5, 1, 'month')).toBe(31 * 86_400 + 0.5);
  });
});

it('texts for people are in the zone', () => {
  expect(formatForPeople(1463502000, 'America/New_York', 'MMM D, YYYY h:mm:ss A')).toBe('May 17, 2016 12:20:00 PM');
  expect(formatForPeople(1463502000, 'Asia/Kolkata', 'HH:mm')).toBe('21:50');
});

it('no number lies between a number and the next', () => {
  expect(justAfter(1)).toBe(1 + Number.EPSILON);
  expect(justBefore(1)).toBe(1 - Number.EPSILON / 2);
  expect([justAfter(0), justAfter(-0), justBefore(0)]).toEqual([5e-324, 5e-324, -5e-324]);
  expect(justAfter(Number.MAX_VALUE)).toBe(Infinity);
  expect([justAfter(Infinity), justBefore(-Infinity)]).toEqual([Infinity, -Infinity]);
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (x) => {
      const next = justAfter(x);
      expect(next).toBeGreaterThan(x);
      const middle = x / 2 + next / 2;
      if (Math.abs(x) > 1e-300) expect(middle === x || middle === next).toBe(true);
      if (Number.isFinite(next)) expect(justBefore(next) + 0).toBe(x + 0);
    }),
  );
});
