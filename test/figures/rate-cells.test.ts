// Rates of people with 95 % intervals, and weights by UUID, name or pseudonym.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { rateCells, type WeightedPerson } from '../../src/figures/rate-cells.ts';
import { add, type PersonTally } from '../../src/figures/tally.ts';
import { freshProgram } from '../cli/kit.ts';

const person = (trips: number, weight = 1, cell = 'walking'): WeightedPerson => {
  const tally: PersonTally = new Map();
  for (const name of [cell, 'all']) add(tally, name, { trips, metres: trips * 1000, seconds: 600 });
  return { weight, days: new Map(Object.entries({ all: 1, Monday: 0.5 })), tally };
};

it('rates are weighted means, with the intervals of a mean over independent people', () => {
  // Trips a day of 200 people, uniform from 0 to 9: mean 4.5, standard error 2.87 / sqrt(200) = 0.203.
  const people = Array.from({ length: 200 }, (_, i) => person(i % 10));
  const [estimate, low, high] = rateCells(people, 'mode').at(-1)!.trips_per_day!;
  expect(estimate).toBeCloseTo(4.5, 10);
  for (const half of [4.5 - low!, high! - 4.5]) expect(Math.abs(half / 0.203 - 2)).toBeLessThan(0.4);
  expect(rateCells([person(2, 3), person(6, 1)], 'mode').at(-1)!.trips_per_day![0]).toBe(3);
});

it('people without trips count in the denominator, and shares sum to one', () => {
  const idle: WeightedPerson = { weight: 1, days: new Map([['all', 3]]), tally: new Map() };
  const cells = rateCells([person(4), person(4, 1, 'bus'), idle], 'mode');
  expect(cells.map(({ cell, people }) => [cell, people])).toEqual([
    ['bus', 1],
    ['walking', 1],
    ['all', 2],
  ]);
  expect(cells.at(-1)!.trips_per_day![0]).toBeCloseTo(8 / 5, 10);
  expect(cells[0]!.share_of_km![0] + cells[1]!.share_of_km![0]).toBeCloseTo(1, 10);
});

it('trips on a weekday are divided by the observed days of that weekday', () => {
  expect(rateCells([person(4, 1, 'Monday')], 'weekday').map(({ trips_per_day }) => trips_per_day![0])).toEqual([8, 4]);
});

it('a cell without observed people has no rate, and equal figures have equal intervals', () => {
  expect(rateCells([], 'mode')).toEqual([
    { cell: 'all', people: 0, trips_per_day: null, km_per_day: null, share_of_km: null },
  ]);
  const people = [person(1), person(5), person(9)];
  expect(rateCells(people, 'mode')).toEqual(rateCells(people, 'mode'));
});

it('report --exact accepts weights by name or pseudonym, and names people without one', async () => {
  const { run, folder } = await freshProgram();
  await run(['simulate', '--users', '3', '--days', '2', '--seed', 'weights', '--from', '2024-03-11']);
  await run(['pipeline', '--all']);
  const key = join(folder, 'key.txt');
  await writeFile(key, 'a key of more than sixteen characters');
  const out = join(folder, 'out');
  await run(['export', '--all', '--format', 'csv', '--kind', 'people', '--pseudonyms', key, '--out', out]);
  const people = await readFile(join(out, 'people.csv'), 'utf8');
  const pseudonyms = people.match(/^[^,\n]+/gm)!.slice(1, 4);
  const names = (await run(['users', 'list', '--json'])).stdout.match(/sim-weights-\d@example.org/g)!;
  const report = ['report', '--from', '2024-03', '--exact', '--json'];
  const cells = async (header: string, of: string[], weight: string, ...flags: string[]) => {
    const file = join(folder, `${of.length}${flags.length}.csv`);
    await writeFile(file, `${header}\n${of.map((name) => `${name}${weight}\n`).join('')}`);
    return run([...report, '--weights', file, ...flags]);
  };
  const plain = (await run(report)).json();
  const byName = await cells('user_email;weight', names, ';1');
  const byPseudonym = await cells('user_id,weight', pseudonyms, ',1', '--pseudonyms', key);
  expect([byName.json().cells, byPseudonym.json().cells]).toEqual([plain.cells, plain.cells]);
  const two = await cells('user_email,weight', names.slice(0, 2), ',2');
  expect([two.json().people, two.stderr]).toEqual([2, expect.stringMatching(/1 person has no weight: left out/)]);
  expect(await cells('user_email,weight', names.slice(0, 1), ',heavy')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/expected a weight of 0 or more in row 1, found .*heavy/),
  });
});
