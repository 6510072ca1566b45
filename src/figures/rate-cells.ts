// Estimates 95 % intervals of rates by resampling (bootstrap). Days of one person resemble each
// other, so people are drawn, not days.
//
//     trips a day of three people 2, 4, 6  ->  draws (2, 2, 6), (4, 6, 6), …  ->  4, from 2 to 6
import { randomNumbers } from '../util/random-numbers.ts';
import type { MonthFigures } from './month-report.ts';
import { add, compareCells, type Dimension, divisorOf, type Figures, type PersonTally } from './tally.ts';

export interface WeightedPerson {
  weight: number;
  days: Map<string, number>; // observed days of 24 h, by weekday; `all`: the sum of all weekdays
  tally: PersonTally; // figures by cell; `all`: the figures of all trips
}

export type RateInterval = readonly [estimate: number, low: number, high: number] | null;

export interface RatedCell {
  cell: string;
  people: number;
  trips_per_day: RateInterval;
  km_per_day: RateInterval;
  share_of_km: RateInterval; // the part of all kilometres, 0 to 1
}

/** More draws would move the bounds of an interval by less than a tenth of its length. */
const draws = 1000;
const seed = 20_240_312; // the seed is fixed, so that the same figures have the same intervals

export function rateCells(people: readonly WeightedPerson[], by: Dimension): RatedCell[] {
  const names = new Set(people.flatMap(({ tally }) => [...tally.keys()]));
  names.delete('all');
  const cells = [...[...names].sort(compareCells(by)), 'all'];
  const next = randomNumbers(seed);
  const samples = Array.from({ length: draws }, () => people.map(() => people[Math.floor(next() * people.length)]!));
  return cells.map((cell) => {
    const divisor = divisorOf(by, cell);
    const interval = (rate: (sample: readonly WeightedPerson[]) => number | null): RateInterval => {
      const estimate = rate(people);
      if (estimate === null) return null;
      const drawn = samples.flatMap((sample) => rate(sample) ?? []).sort((a, b) => a - b);
      const at = (share: number): number => drawn[Math.round(share * (drawn.length - 1))]!;
      return [estimate, at(0.025), at(0.975)];
    };
    return {
      cell,
      people: people.filter(({ tally }) => tally.has(cell)).length,
      trips_per_day: interval((sample) => ratio(sum(sample, cell, 'trips'), days(sample, divisor))),
      km_per_day: interval((sample) => ratio(sum(sample, cell, 'metres') / 1000, days(sample, divisor))),
      share_of_km: interval((sample) => ratio(sum(sample, cell, 'metres'), sum(sample, 'all', 'metres'))),
    };
  });
}

export function personFigures(months: readonly MonthFigures[]): Map<string, Omit<WeightedPerson, 'weight'>> {
  const people = new Map<string, Omit<WeightedPerson, 'weight'>>();
  const of = (userId: string) => {
    const person = people.get(userId) ?? { days: new Map(), tally: new Map() };
    people.set(userId, person);
    return person;
  };
  for (const { tallies, everybody, observed } of months) {
    for (const [userId, own] of observed)
      for (const [cell, seconds] of own) of(userId).days.set(cell, (of(userId).days.get(cell) ?? 0) + seconds / 86_400);
    for (const [userId, tally] of tallies) for (const [cell, figures] of tally) add(of(userId).tally, cell, figures);
    for (const [userId, figures] of everybody) add(of(userId).tally, 'all', figures);
  }
  return people;
}

const sum = (sample: readonly WeightedPerson[], cell: string, name: keyof Figures): number =>
  sample.reduce((total, { weight, tally }) => total + weight * (tally.get(cell)?.[name] ?? 0), 0);
const days = (sample: readonly WeightedPerson[], cell: string): number =>
  sample.reduce((total, { weight, days: own }) => total + weight * (own.get(cell) ?? 0), 0);
const ratio = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);
