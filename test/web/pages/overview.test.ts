// Months and weeks in words and links: which pages are linked, and the sums and marks of each day.
import { expect, it } from 'vitest';
import type { Trip } from '../../../src/model/trip.ts';
import type { ShownDay } from '../../../src/web/pages/day-items.ts';
import { markup } from '../../../src/web/pages/markup.ts';
import {
  type DayRow,
  dayRow,
  dayTitle,
  listByWeek,
  monthSteps,
  monthSummary,
  stepHeading,
  weekStrip,
} from '../../../src/web/pages/overview.ts';
import { textsFor } from '../../../src/web/pages/texts/texts.ts';
import { madeTrip } from '../../server/trips.ts';
import { expectFixture } from '../../support/fixture.ts';

const t = textsFor(['en']);
/** The text without the drawings of bars and without the line breaks of templates. */
const textOf = ({ text }: { text: string }): string => text.replaceAll(/<svg width="100%".*?<\/svg>/g, '<svg>');

it.each([
  ['2024-03', '2024-02', '2024-04', ['/m/2024-02', '/m/2024-04']],
  ['2024-03', '2024-03', '2024-03', [undefined, undefined]],
  ['2024-12', '', '2025-02', ['/m/2024-11', '/m/2025-01']],
  ['2024-01', '2023-12', '2024-01', ['/m/2023-12', undefined]],
])('the months beside %s within %s and %s', (month, first, last, hrefs) => {
  const steps = monthSteps(month, '/m', first, last, t);
  expect(steps.map((step) => step?.href)).toEqual(hrefs);
  for (const step of steps) if (step !== null) expect(step.words).toBe(t.month(`${step.href.slice(3)}-01`));
});

it('a heading is between its links, or between empty places', () => {
  const heading = (before: string | null, level?: 'h2') =>
    stepHeading('May', [before === null ? null : { href: before, words: 'April' }, null], level).text;
  const none = '<span class="step"></span>';
  const april = '<a class="step" rel="prev" href="/a" aria-label="April">‹</a>';
  expect(heading(null)).toBe(`<div class="hd">${none}<h1>May</h1>${none}</div>`);
  expect(heading('/a', 'h2')).toBe(`<div class="hd">${april}<h2>May</h2>${none}</div>`);
  const after = stepHeading('May', [null, { href: '/b', words: 'June' }]).text;
  expect(after).toContain('<a class="step" rel="next" href="/b" aria-label="June">›</a>');
});

it('the title of a day keeps its number and month on one line', () => {
  expect(dayTitle('2024-03-12', t).text).toBe(
    '<time datetime="2024-03-12">Tuesday 12\u00a0March <span class="soft yr">2024</span></time>',
  );
});

/** A day of 1,000 s of which `recorded` were. */
const observedOn = (day: string, recorded: number, reason = 'silent') => {
  const sums = { moving_s: 0, staying_s: recorded, unobserved_s: 1000 - recorded };
  const stay = { kind: 'staying', from: 0, to: recorded };
  const gap = { kind: 'unobserved', from: recorded, to: 1000, reason };
  return { day, from: 0, to: 1000, ...sums, spans: [stay, gap] };
};

it('a week marks the chosen day, today, and days that are not final or were not recorded', () => {
  const observed = ['2024-03-11', '2024-03-12', '2024-03-13', '2024-03-14'].map((name, i) => ({
    observed: observedOn(name, [1000, 500, 0, 0][i]!) as never,
    metres: 1234 * i,
    isFinal: i === 0,
  }));
  const options = { day: '2024-03-12', today: '2024-03-13', href: (own: string) => `/d/${own}`, now: 2000 };
  expectFixture('overview/week.html', weekStrip(observed, options, t).text);
});

const trip = (mode: string, distance: number, duration: number): Trip =>
  ({ distance, duration, sections: [{ sensed_mode: `PredictedModeTypes.${mode}`, distance }] }) as unknown as Trip;

/** The row of a day of which 800 of 1,000 s were recorded. */
function rowOf(name: string, flags: number, began: Trip[], more: object = {}): DayRow {
  const around = { trips: [], before: madeTrip(-250, [{ mode: 'CAR' }], 'UTC').trip, after: null };
  const placeAt = () => ({ name: 'A', mark: 'A', look: 'place' });
  const flagged = Array(flags).fill({});
  const day = { observed: observedOn(name, 800), began, ...around, completeUntil: 1000, flagged, now: 5000, placeAt };
  return dayRow({ ...day, ...more } as unknown as ShownDay, `/d/${name}`, t);
}

it('the row of a day has its length, trips and marks', () => {
  const plain = rowOf('2024-03-12', 0, [trip('BUS', 1500, 60), trip('CAR', 900, 30)]);
  expect(textOf(plain.row)).toBe(
    '<li><a href="/d/2024-03-12"><span class="vh">Tuesday 12 March, 2.4 km, 80 % recorded, 2 trips</span>' +
      '<span aria-hidden="true">Tue 12 Mar </span><svg><span class="n" aria-hidden="true">2.4</span>' +
      '<span class="n soft" aria-hidden="true">80 %</span></a></li>',
  );
  const { row, trips, ...sums } = rowOf('2024-03-12', 1, []);
  expect([sums, trips]).toEqual([{ day: '2024-03-12', metres: 0, past: 1000, recorded: 800, flags: 1 }, []]);
  for (const part of ['0 trips, 1 thing to check</span>', '<b class="mk">!</b>']) expect(row.text).toContain(part);
});

it.each<[object, mark: string | undefined, past: number, recorded: number]>([
  [{ completeUntil: 1000 }, '80 %', 1000, 800],
  [{ completeUntil: 999 }, '80 %', 1000, 800],
  [{ completeUntil: 998 }, 'draft', 1000, 800],
  [{ completeUntil: null }, 'draft', 1000, 800],
  [{ observed: observedOn('2024-03-12', 1000) }, '', 1000, 1000],
  [{ observed: observedOn('2024-03-12', 0, 'after leaving') }, '', 0, 0],
  [{ observed: observedOn('2024-03-12', 400, 'phone off'), now: 500 }, '80 %', 500, 400],
  [{ observed: observedOn('2024-03-12', 0, 'not yet'), completeUntil: 0, now: -1 }, undefined, 0, 0],
])('the row of a day of 1,000 s with %o is marked "%s"', (more, mark, ...times) => {
  const { row, past, recorded } = rowOf('2024-03-12', 0, [], more);
  expect([/"n soft" aria-hidden="true">(.*?)</.exec(row.text)?.[1], past, recorded]).toEqual([mark, ...times]);
});

it('a month has the sums of its days, and a legend of bars', () => {
  const rows = [rowOf('2024-03-12', 1, [trip('BUS', 1500, 60)]), rowOf('2024-03-13', 2, [trip('CAR', 9000, 600)])];
  const { text } = monthSummary(rows, t);
  const key = (look: string, name: string) =>
    `<li><svg class="key" viewBox="0 0 34 10" aria-hidden="true"><rect class="${look}" x="1" y="1" width="32" height="8"/></svg>${name}</li>`;
  expect(text).toContain('<p class="lead"><b>2 trips, 10.5 km, 11 min on the way.</b></p>');
  expect(text).toContain('<p class="small soft">Recorded: 27 min of 33 min (80 %). 3 things to check.</p>');
  const names = [t.me.home, t.me.workKind, t.me.placeKind, 'not recorded'];
  const looks = ['band home', 'band work', 'band place', 'hole'];
  expect(text).toContain(looks.map((look, i) => key(look, names[i]!)).join(''));
  expect(text).toMatch(/fill="url\(#draft\)"[^<]*\/><\/svg>draft<\/li>/);
  expect(text.indexOf('9.0 km')).toBeLessThan(text.indexOf('1.5 km'));
  expect(monthSummary([], t).text).toContain('<p class="small soft"> </p>');
});

it('a list has the newest week first, with the sum of each week and a scale of hours', () => {
  const sums = { trips: [], past: 0, recorded: 0, flags: 0 };
  const row = (day: string, metres: number): DayRow => ({ day, metres, row: markup`<li>${day}</li>`, ...sums });
  const { text } = listByWeek([row('2024-03-10', 500), row('2024-03-11', 1000), row('2024-03-12', 2000)], t);
  expectFixture('overview/weeks.html', text);
});
