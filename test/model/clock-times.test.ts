// Times of clocks are computed: they are those that a search minute by minute finds, and take no longer over centuries.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { daysWithTime, firstTimeShowing } from '../../src/model/clock-times.ts';
import { addDays, formatForPeople, localDay, startOfDay, type TimeRange } from '../../src/model/time.ts';

const zones = ['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/St_Johns', 'Asia/Beirut'];
/** About changes of clocks. */
const changes = [1_711_846_800, 1_729_990_800, 1_712_415_600, 1_728_143_400, 1_711_836_000];
const cases = fc.record({
  zone: fc.constantFrom(...zones),
  from: fc.tuple(fc.constantFrom(...changes), fc.integer({ min: -3000, max: 3000 })).map(([ts, off]) => ts + off * 60),
  minutes: fc.oneof(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 5000 })),
  clock: fc.tuple(fc.nat(23), fc.nat(59)).map((parts) => parts.map((one) => String(one).padStart(2, '0')).join(':')),
});

function searched(clock: string, { from, to }: TimeRange, zone: string): number | null {
  for (let ts = from; ts < to; ts += 60) if (formatForPeople(ts, zone, 'HH:mm') === clock) return ts;
  return null;
}

function counted(after: number, { from, to }: TimeRange, zone: string): number {
  let count = 0;
  for (let day = localDay(from, zone); day <= localDay(to, zone); day = addDays(day, 1)) {
    const ts = startOfDay(day, zone) + after;
    if (from <= ts && ts < to) count += 1;
  }
  return count;
}

it('finds the first time at which clocks show this, and counts days with a time, as a search does', () => {
  fc.assert(
    fc.property(cases, ({ zone, from, minutes, clock }) => {
      const range = { from, to: from + minutes * 60 };
      expect(firstTimeShowing(clock, range, zone)).toBe(searched(clock, range, zone));
      if (minutes > 0) expect(daysWithTime(10_800, range, zone)).toBe(counted(10_800, range, zone));
    }),
    { numRuns: 2000 },
  );
});

it('finds no time for clock times that never occur, in two thousand years as in a day', () => {
  const ages = { from: -62_000_000_000, to: 1_700_000_000 };
  for (const clock of ['99:99', '24:00', '12:60', '1:00', '']) expect(firstTimeShowing(clock, ages, 'UTC')).toBe(null);
  expect(firstTimeShowing('00:01', ages, 'Europe/Berlin')).toBeLessThan(ages.from + 86_400);
  expect(daysWithTime(10_800, ages, 'UTC')).toBe(737_268);
});
