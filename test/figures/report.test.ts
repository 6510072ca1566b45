import fc from 'fast-check';
import { expect, it } from 'vitest';
import { disclose } from '../../src/figures/disclose.ts';
import { isSettled, type MonthReport, monthReport, readMonth } from '../../src/figures/month-report.ts';
import { add, addTrip, type Dimension, type PersonTally } from '../../src/figures/tally.ts';
import { seededRandom } from '../../src/simulate/random.ts';
import { freshProgram } from '../cli/kit.ts';
import { chainAfter } from '../support/diary.ts';
import { android, pushedRide } from '../support/pushes.ts';
import { newStore, newUser } from '../support/store.ts';
import { workday } from '../support/trips.ts';

const least = 5;
const asked = { by: 'mode', least, occasion: '2024-03' } as const;
const byZone = { ...asked, by: 'zone' } as const;

/** What a person did, by cell. */
const tallyOf = (cells: Record<string, Parameters<typeof add>[2]>): PersonTally => {
  const tally: PersonTally = new Map();
  for (const [cell, figures] of Object.entries(cells)) add(tally, cell, figures);
  return tally;
};

/** People with some trips in some of six cells. */
const someTrips = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.integer({ min: 1, max: 40 }));
const studies = fc.array(fc.array(someTrips, { maxLength: 6 }), { maxLength: 25 }).map((people) => {
  const tallies = new Map<string, PersonTally>();
  for (const [i, parts] of people.entries()) {
    const tally: PersonTally = new Map();
    for (const [cell, trips] of parts) add(tally, cell, { trips, metres: trips * 900, seconds: trips * 300 });
    if (tally.size > 0) tallies.set(`person ${i}`, tally);
  }
  return tallies;
});

const peopleIn = (study: ReadonlyMap<string, PersonTally>, cells: ReadonlySet<string>): number =>
  [...study.values()].filter((tally) => [...tally.keys()].some((cell) => cells.has(cell))).length;

it('no figure covers fewer people than the minimum, and neither does the withheld part', () => {
  fc.assert(
    fc.property(studies, (study) => {
      const { all, cells, rest, withheld } = disclose(study, byZone);
      const names = new Set([...study.values()].flatMap((tally) => [...tally.keys()]));
      for (const { cell } of cells) expect(peopleIn(study, new Set([cell]))).toBeGreaterThanOrEqual(least);
      const untold = new Set([...names].filter((name) => !cells.some(({ cell }) => cell === name)));
      expect(untold.size).toBe(withheld);
      // All minus what is shown is hidden: it covers no person, or enough, or nothing is shown beside it.
      if (all !== null && cells.length > 0 && untold.size > 0)
        expect(peopleIn(study, untold)).toBeGreaterThanOrEqual(least);
      if (rest !== null) expect(peopleIn(study, untold)).toBeGreaterThanOrEqual(least);
      for (const { trips } of cells) expect(trips % least).toBe(0);
    }),
  );
});

/** A study in which each person travels in each cell, by chance. */
function busyStudy(people: number, seed: number, cells = ['car', 'walking', 'bus']): Map<string, PersonTally> {
  const study = new Map<string, PersonTally>();
  const { next: random } = seededRandom(seed);
  for (let i = 0; i < people; i++) {
    const tally: PersonTally = new Map();
    for (const cell of cells) {
      const trips = 5 + Math.floor(random() * 20);
      add(tally, cell, { trips, metres: trips * 3000 * (1 + random()), seconds: trips * 600 });
    }
    study.set(`${seed}-${i}`, tally);
  }
  return study;
}

it('an attacker who has the report with and without a person learns little more than chance of what they did', () => {
  // The guess: the difference of two reports is what the person did. Without the movement by chance it is right.
  for (const people of [6, 12, 40]) {
    let [wrong, guesses] = [0, 0];
    for (let seed = 1; seed <= 60; seed++) {
      const study = busyStudy(people, seed);
      const [left] = study.keys();
      const without = new Map([...study].filter(([person]) => person !== left));
      const [before, after] = [disclose(study, asked), disclose(without, asked)];
      for (const [cell, { metres }] of study.get(left!)!) {
        const [a, b] = [before, after].map(({ cells }) => cells.find((one) => one.cell === cell)?.km);
        if (a === undefined || b === undefined) continue;
        guesses += 1;
        if (Math.abs(a - b - metres / 1000) > metres / 2000) wrong += 1;
      }
    }
    expect(guesses).toBeGreaterThan(50);
    expect([people, wrong / guesses > 0.4]).toEqual([people, true]); // further off than half of the truth
  }
});

it('repeated requests, in another order or under another name, have the same answer, so averaging reveals nothing', () => {
  const study = busyStudy(9, 3);
  const backwards = new Map([...study].reverse());
  expect(disclose(backwards, asked)).toEqual(disclose(study, asked));
  // One zone for all is the same question as all.
  const everybody = new Map(
    [...study].map(([person, tally]) => {
      const whole: PersonTally = new Map();
      for (const figures of tally.values()) add(whole, 'Europe/Oslo', figures);
      return [person, whole] as const;
    }),
  );
  const { all, cells } = disclose(everybody, byZone);
  expect({ ...cells[0], cell: 'all' }).toEqual(all);
  expect(all).toEqual(disclose(study, asked).all);
});

it('tables with a larger minimum show no cell that a smaller minimum hides', () => {
  fc.assert(
    fc.property(studies, fc.integer({ min: 3, max: 6 }), fc.integer({ min: 0, max: 6 }), (study, few, more) => {
      const names = (n: number) => disclose(study, { ...byZone, least: n }).cells.map(({ cell }) => cell);
      const shown = new Set(names(few));
      for (const cell of names(few + more)) expect(shown.has(cell)).toBe(true);
    }),
  );
});

it('a figure to which one person contributes more than half is withheld', () => {
  const metres = [90_000, ...Array(7).fill(1000)];
  const people = metres.map((own) => tallyOf({ 'Europe/Oslo': { trips: 1, metres: own, seconds: 600 } }));
  const withheld = { all: null, cells: [], rest: null, withheld: 1, observed_days: null };
  expect(disclose(new Map(people.map((tally, i) => [`person ${i}`, tally])), byZone)).toEqual(withheld);
});

const onMondays = { ...asked, by: 'weekday' } as const;
const busyMondays = busyStudy(12, 1, ['Monday']);
/** Days on Mondays of each person, and on Sundays of the last ones. */
const observedBy = (days: readonly number[], seed = 1, sundays: readonly number[] = []) =>
  new Map(
    days.map((each, i) => {
      const sunday = (sundays[days.length - 1 - i] ?? 0) * 86_400;
      const own = { all: each * 86_400 + sunday, Monday: each * 86_400, Sunday: sunday };
      return [`${seed}-${i}`, new Map(Object.entries(own))];
    }),
  );

it('observed days cover people without a trip, too, and figures per person follow from published ones', () => {
  const observed = observedBy(Array(40).fill(20));
  const { all, cells, observed_days: days } = disclose(busyStudy(12, 1), { ...asked, observed });
  expect(Math.abs(days! - 800)).toBeLessThanOrEqual(20 + 10); // one person, and rounding
  for (const { trips, km, minutes, ...rates } of [all!, ...cells]) {
    const expected = [trips, km, minutes].map((figure) => Number((figure / days!).toPrecision(2)));
    expect([rates.trips_per_day, rates.km_per_day, rates.minutes_per_day]).toEqual(expected);
  }
});

it('observed days of a month are withheld for too few people, or if one contributes more than half', () => {
  for (const few of [Array(least - 1).fill(30), [...Array(least).fill(1), 30]]) {
    const { all, observed_days } = disclose(busyStudy(12, 1), { ...asked, observed: observedBy(few) });
    expect([observed_days, all!.km_per_day]).toEqual([null, null]);
  }
});

it.each([
  ['are of the weekday', [], 'shown'],
  ['are of the weekday, if enough people were observed on others', Array(5).fill(2), 'shown'],
  ['are withheld by weekday, if subtraction reveals the other days of a few people', [3, 3], 'withheld'],
  ['are withheld by weekday, if one person has most of the other days', [1, 1, 1, 1, 5], 'withheld'],
] as const)('%s', (_, sundays, mondays) => {
  const observed = observedBy(Array(12).fill(4), 1, sundays);
  const { all, cells, observed_days: days } = disclose(busyMondays, { ...onMondays, observed });
  const [monday] = cells;
  if (mondays === 'withheld')
    expect(monday).toMatchObject({ observed_days: null, trips_per_day: null, km_per_day: null });
  else {
    expect(Math.abs(monday!.observed_days! - 12 * 4)).toBeLessThanOrEqual(4 + 1); // one person, and rounding
    expect(monday!.km_per_day).toBe(Number((monday!.km / monday!.observed_days!).toPrecision(2)));
  }
  expect(all!.km_per_day).toBe(Number((all!.km / days!).toPrecision(2)));
});

it('observed days of a month count all weekdays that are not shown separately for the rest', () => {
  const study = busyStudy(12, 1, ['Monday']);
  const weekends = [...study.values()].slice(0, 8);
  for (const [i, tally] of weekends.entries())
    add(tally, i < 4 ? 'Saturday' : 'Sunday', { trips: 5, metres: 5000, seconds: 900 });
  const observed = observedBy(Array(12).fill(4), 1, Array(12).fill(2)); // no person on Saturdays
  const { cells, rest } = disclose(study, { ...onMondays, observed });
  expect(cells.map(({ cell }) => cell)).toEqual(['Monday']);
  expect(Math.abs(rest!.observed_days! - 12 * 2)).toBeLessThanOrEqual(2 + 1);
  expect(rest!.trips_per_day).toBe(Number((rest!.trips / rest!.observed_days!).toPrecision(2)));
});

it('observed days of a month reveal little more than chance about a person by whom two reports differ', () => {
  let [wrong, wrongMondays] = [0, 0];
  for (let seed = 1; seed <= 100; seed++) {
    const days = Array.from({ length: 6 }, (_, i) => 5 + ((seed * 7 + i * 11) % 26));
    const observed = observedBy(days, seed);
    const without = new Map([...observed].slice(1));
    const study = busyStudy(6, seed, ['Monday']);
    const [a, b] = [observed, without].map((one) => disclose(study, { ...onMondays, observed: one }));
    const isWrong = (guess: number): boolean => Math.abs(guess - days[0]!) > days[0]! / 2;
    if (isWrong(a!.observed_days! - b!.observed_days!)) wrong += 1;
    if (isWrong(a!.cells[0]!.observed_days! - b!.cells[0]!.observed_days!)) wrongMondays += 1;
  }
  expect(Math.min(wrong, wrongMondays)).toBeGreaterThan(40);
});

it('a trip counts to the mode of each section, and to the hour, weekday, zone and cell of the grid where it began', () => {
  const cellsOf = (by: Dimension): object => {
    const tally: PersonTally = new Map();
    for (const record of workday()) addTrip(tally, record, by);
    return Object.fromEntries([...tally].map(([cell, { trips }]) => [cell, trips]));
  };
  expect(cellsOf('mode')).toMatchObject({ walking: 1, car: 1 }); // on foot to work, and home
  expect(cellsOf('hour')).toEqual({ '07': 1, 13: 1 });
  expect(cellsOf('weekday')).toEqual({ Tuesday: 2 });
  expect(cellsOf('zone')).toEqual({ 'Europe/Berlin': 2 });
  expect(cellsOf('cell')).toEqual({ '52.50 13.40': 1, '52.50 13.53': 1 });
});

it('a figure is shown if one person contributes exactly half, and the rest is the sum of the withheld figures', () => {
  const people = [9e6, ...Array(9).fill(1e6)].map((metres, i) =>
    tallyOf({
      'Europe/Oslo': { trips: 100, metres, seconds: 6e4 },
      [i % 2 === 0 ? 'Europe/Rome' : 'Europe/Paris']: { trips: 1000, metres: 1e6, seconds: 6e4 },
    }),
  );
  const study = new Map(people.map((tally, i) => [`person ${i}`, tally]));
  const { cells, rest, withheld } = disclose(study, { ...byZone, least: 6 });
  expect(cells.map(({ cell }) => cell)).toEqual(['Europe/Oslo']);
  // Two cells of five people each, 10,000 trips together, and noise of at most one person's.
  expect([withheld, rest?.people_at_least]).toEqual([2, 6]);
  expect(Math.abs(rest!.trips - 10_000)).toBeLessThanOrEqual(1006);
});

it('months are whole and never overlap, and settle on the seventh day after their end', async () => {
  const store = await newStore();
  const [october31, november30, december1] = [-14, 16, 17].map((day) => day * 86_400); // after 14 November 2023
  for (let i = 0; i < least; i++) {
    const ride = (seconds: number) => pushedRide(android, seconds, i * 5000);
    await chainAfter(store, await newUser(store), [october31!, november30!, december1!].flatMap(ride));
  }
  const cells = async (month: string, by: 'mode' | 'hour' | 'zone' | 'weekday') =>
    (await monthReport(await readMonth(store, month, by), least)).cells.map(({ cell, trips }) => `${cell} ${trips}`);
  expect(await cells('2023-10', 'weekday')).toEqual(['Tuesday 5']);
  expect(await cells('2023-11', 'weekday')).toEqual(['Thursday 5']);
  expect(await cells('2023-12', 'weekday')).toEqual(['Friday 5']);
  const november = await Promise.all((['mode', 'hour', 'zone'] as const).map((by) => cells('2023-11', by)));
  expect(november).toEqual([['car 5'], ['08 5'], ['Europe/Berlin 5']]);
  expect(['2023-12-07', '2023-12-08'].map((today) => isSettled('2023-11', today))).toEqual([false, true]);
});

it('reports a month of all people as a table and as CSV, and nothing for too few people', async () => {
  const { run, succeed, refuse } = await freshProgram();
  await run(['simulate', '--users', '8', '--days', '2', '--from', '2024-03-04', '--seed', 'report']);
  await run(['pipeline', '--all']);
  const report = async (...flags: string[]) => (await succeed(['report', ...flags])).stdout;
  const march = ['--from', '2024-03'];
  const monthBy = async (by: string): Promise<MonthReport> =>
    JSON.parse(await report(...march, '--by', by, '--json')).months[0];
  const month = await monthBy('mode');
  expect(month).toMatchObject({ month: '2024-03', by: 'mode', all: { people_at_least: 5 } });
  expect(month.cells.length).toBeGreaterThan(0);
  // Eight people for two days, as `days` has it, moved by at most what one of them adds.
  const days = (await run(['days', '--all', '--json'])).json<{ days: { observed_s: number }[] }>().days;
  const observed = days.reduce((sum, { observed_s }) => sum + observed_s / 86_400, 0);
  expect(Math.abs(month.observed_days! - observed)).toBeLessThanOrEqual(2.5);
  expect(await report(...march)).toMatch(/^2024-03 by mode, [\d.]+ person-days observed\n/);
  const two = ['--from', '2024-02', '--to', '2024-03'];
  const csv = await report(...two, '--by', 'weekday', '--csv', '-');
  expect(csv.split('\n')[0]).toBe(
    'month,by,cell,people_at_least,trips,km,minutes,observed_days,trips_per_day,km_per_day,minutes_per_day',
  );
  expect(csv).toContain('2024-03,weekday,Monday,5,');
  const page = await report(...two, '--html', '-');
  expect(page).toContain('<th scope="row" role="rowheader">on foot</th>');
  expect(page).toMatch(/[\d.]+ person-days observed, [\d.]+ km per day on average\./);
  expect(page).toContain('Too few people to show any figures.'); // February
  // The total is the same for any division, and counts a trip of three modes once.
  for (const by of ['hour', 'weekday', 'zone', 'cell']) expect((await monthBy(by)).all, by).toEqual(month.all);
  // A person makes about as many trips on an observed Monday as on any observed day.
  const exact = JSON.parse(await report(...march, '--by', 'weekday', '--exact', '--json'));
  const exactly: { cell: string; trips_per_day: number[] }[] = exact.cells;
  const { cells } = await monthBy('weekday');
  expect(cells.map(({ cell }) => cell)).toEqual(['Monday', 'Tuesday']);
  const both = cells.reduce((sum, { observed_days }) => sum + observed_days!, 0);
  expect(Math.abs(both - observed)).toBeLessThanOrEqual(4); // each with noise of one person
  for (const { cell, trips, observed_days, trips_per_day } of cells) {
    expect(trips_per_day).toBe(Number((trips / observed_days!).toPrecision(2)));
    const [rate] = exactly.find((one) => one.cell === cell)!.trips_per_day;
    expect(Math.abs(trips_per_day! / rate! - 1)).toBeLessThan(0.4); // noise of one of eight people, twice
  }
  await refuse(['report', ...march], 'ended 7 days ago', { now: Date.UTC(2024, 3, 7) / 1000 });
  expect(await report(...march, '--least', '9')).toContain('too few people');
  await refuse(['report', '--from', '2024-13'], '');
});
