// How distances, durations and times read.

import { expect, it } from 'vitest';
import { workTimeText } from '../../src/cli/output.ts';
import { agoText, distanceText, durationText, minuteText } from '../../src/diary/number-text.ts';

it('distances', () => {
  expect([0, 4, 994, 996, 4249, 99_900, 128_400].map(distanceText)).toEqual([
    '0 m',
    '0 m',
    '990 m',
    '1.0 km',
    '4.2 km',
    '99.9 km',
    '128 km',
  ]);
});

it('durations', () => {
  expect([0, 59.4, 59.6, 3570, 3600, 3900, 172_799, 180_000].map(durationText)).toEqual([
    '0 s',
    '59 s',
    '1 min',
    '1 h',
    '1 h',
    '1 h 5 min',
    '2 d 0 h',
    '2 d 2 h',
  ]);
});

it('seconds of work', () => {
  expect([0.004, 1.234, 9.999, 61].map(workTimeText)).toEqual(['0.00 s', '1.23 s', '10 s', '61 s']);
});

it('times', () => {
  expect(minuteText(1_710_230_400, 'Europe/Lisbon')).toBe('2024-03-12 08:00');
  expect([minuteText(1e300, 'UTC'), minuteText(-1e12, 'UTC')]).toEqual(['1e+300 s', '-1000000000000 s']);
  expect([agoText(0, 90), agoText(0, 15 * 86_400), agoText(10, 5)]).toEqual([
    '2 min ago',
    '15 days ago',
    'in the future',
  ]);
});
