// Withholds figures of too few people, or mostly of one person, and what subtraction could reveal.
import { createHash } from 'node:crypto';
import { day } from '../model/time.ts';
import { add, compareCells, type Dimension, type Figures, type PersonTally, weekdays } from './tally.ts';

/** Noise changes each sum by at most the part of the person who contributes most. */
export interface DisclosedCell {
  cell: string;
  people_at_least: number; // rounded down to a multiple of the minimum number of people
  trips: number; // rounded to a multiple of the minimum number of people
  km: number; // two significant digits, like minutes and rates
  minutes: number;
  observed_days: number | null; // days of 24 h; if cells are weekdays, only on that weekday
  trips_per_day: number | null; // computed from rounded figures; null without `observed_days`
  km_per_day: number | null;
  minutes_per_day: number | null;
}

export interface Disclosed {
  all: DisclosedCell | null; // all people together; null if they are too few
  cells: DisclosedCell[];
  withheld: number; // number of cells that `rest` combines
  rest: DisclosedCell | null; // all withheld cells together; null: none, or too few people
  observed_days: number | null; // of 24 h, with noise, two significant digits; null: too few people
}

type Cell = { name: string; people: Map<string, Figures> };

/** Observed seconds of people by UUID, then by weekday; `all` is the sum of the weekdays. */
export type ObservedTimes = ReadonlyMap<string, ReadonlyMap<string, number>>;

export interface Question {
  by: Dimension;
  least: number; // the minimum number of people of a published figure
  occasion: string; // the text that the noise is derived from, such as the month
  /** The figures of all trips of each person. Default: the sum of the cells. */
  everybody?: ReadonlyMap<string, Figures>;
  observed?: ObservedTimes; // the observed times, also of people without trips
}

export const usualLeast = 5;

const mostOfOnePerson = 0.5; // the largest share of one person in a figure

/**
 * Returns the figures that can be published. A cell needs at least `least` people, none of whom
 * contributes more than half. Other cells are combined as the rest. If the rest has too few people,
 * the smallest shown cells join it, so that subtraction from all never leaves a few people:
 *
 *   people      bus 40, car 30, ferry 2      least 5
 *   published   all, bus 40, rest 32    `car` joins the rest: all - bus - car would be the ferry
 *
 * The noise is derived from `occasion` and the people of the cell. Repeated questions get the same
 * answer, so their mean is not free of noise. One person more or less changes the noise, so the
 * difference of two answers does not reveal that person.
 */
export function disclose(
  tallies: ReadonlyMap<string, PersonTally>,
  { by, least, occasion, everybody, observed = new Map() }: Question,
): Disclosed {
  const all: Cell = { name: 'all', people: new Map(everybody ?? []) };
  const cells = new Map<string, Cell>();
  for (const [person, tally] of tallies) {
    for (const [name, figures] of tally) {
      const cell = cells.get(name) ?? { name, people: new Map() };
      cells.set(name, cell);
      add(cell.people, person, figures);
      if (everybody === undefined) add(all.people, person, figures);
    }
  }
  const sorted = [...cells.values()].sort((a, b) => b.people.size - a.people.size || (a.name < b.name ? -1 : 1));
  const shown = sorted.filter((cell) => isSafe(cell, least));
  const hidden = sorted.filter((cell) => !isSafe(cell, least));
  const rest: Cell = { name: 'rest', people: new Map() };
  for (const cell of hidden) merge(rest, cell);
  while (hidden.length > 0 && !isSafe(rest, least) && shown.length > 0) {
    const smallest = shown.pop()!;
    hidden.push(smallest);
    merge(rest, smallest);
  }
  shown.sort((a, b) => compareCells(by)(a.name, b.name));
  const days = publishedDays(observedOn(observed, ['all']), least, occasion);
  const names = shown.map(({ name }) => name);
  const byWeekday = by === 'weekday' ? daysByWeekday(names, { observed, least, occasion }) : null;
  const publish = (cell: Cell): DisclosedCell => {
    const observedDays = byWeekday === null || cell === all ? days : byWeekday.get(cell.name)!;
    return publishedCell(cell, observedDays, least, occasion);
  };
  return {
    all: isSafe(all, least) ? publish(all) : null,
    cells: shown.map(publish),
    withheld: hidden.length,
    rest: hidden.length > 0 && isSafe(rest, least) ? publish(rest) : null,
    observed_days: days,
  };
}

function merge(into: Cell, from: Cell): void {
  for (const [person, figures] of from.people) add(into.people, person, figures);
}

const partsOf = (people: Cell['people'], name: keyof Figures): number[] =>
  [...people.values()].map((figures) => figures[name]);

const isSafe = ({ people }: Cell, least: number): boolean =>
  (['trips', 'metres', 'seconds'] as const).every((name) => isBroad(partsOf(people, name), least));

const isBroad = (parts: readonly number[], least: number): boolean =>
  parts.length >= least && Math.max(...parts) <= mostOfOnePerson * sumOf(parts);

const sumOf = (parts: readonly number[]): number => parts.reduce((sum, part) => sum + part, 0);

function publishedCell({ name, people }: Cell, days: number | null, least: number, occasion: string): DisclosedCell {
  const noise = noiseOf(people, occasion);
  const noisy = (figure: keyof Figures, place: number): number => noisySum(partsOf(people, figure), noise, place);
  const rate = (figure: number): number | null => (days ? twoDigits(figure / days) : null);
  const trips = Math.round(noisy('trips', 0) / least) * least;
  const [km, minutes] = [twoDigits(noisy('metres', 1) / 1000), twoDigits(noisy('seconds', 2) / 60)];
  return {
    cell: name,
    people_at_least: Math.floor(people.size / least) * least,
    trips,
    km,
    minutes,
    observed_days: days,
    trips_per_day: rate(trips),
    km_per_day: rate(km),
    minutes_per_day: rate(minutes),
  };
}

function publishedDays(observed: ReadonlyMap<string, number>, least: number, occasion: string): number | null {
  const parts = [...observed.values()];
  if (!isBroad(parts, least)) return null;
  return twoDigits(noisySum(parts, noiseOf(observed, occasion), 3) / day);
}

/** Returns the observed seconds of each person on the weekdays `names`; `all` means all days. */
function observedOn(observed: ObservedTimes, names: readonly string[]): Map<string, number> {
  const on = (own: ReadonlyMap<string, number>) => names.reduce((sum, name) => sum + (own.get(name) ?? 0), 0);
  return new Map([...observed].flatMap(([person, own]) => (on(own) > 0 ? [[person, on(own)]] : [])));
}

/**
 * Returns the observed days of each shown weekday, and of the other weekdays as `rest`. If too few
 * people were observed on one of them, all figures are null, because subtraction would reveal it:
 *
 *     all 100, Monday 50, Tuesday 46  ->  the other weekdays 4
 */
function daysByWeekday(
  shown: readonly string[],
  { observed, least, occasion }: Required<Pick<Question, 'observed' | 'least' | 'occasion'>>,
): Map<string, number | null> {
  const others = weekdays.filter((name) => !shown.includes(name));
  const parts = new Map(shown.map((name) => [name, observedOn(observed, [name])]));
  parts.set('rest', observedOn(observed, others));
  const isSafe = [...parts.values()].every((people) => people.size === 0 || isBroad([...people.values()], least));
  return new Map([...parts].map(([name, people]) => [name, isSafe ? publishedDays(people, least, occasion) : null]));
}

function noiseOf(people: ReadonlyMap<string, unknown>, occasion: string): Buffer {
  const text = JSON.stringify([occasion, ...[...people.keys()].sort()]);
  return createHash('sha256').update(text).digest();
}

/** Returns the sum, changed by at most the largest part. `place` selects 4 bytes of the noise. */
function noisySum(parts: readonly number[], noise: Buffer, place: number): number {
  const share = noise.readUInt32LE(4 * place) / 2 ** 31 - 1; // -1 to 1
  return Math.max(0, sumOf(parts) + share * Math.max(...parts));
}

/** Rounds to two significant digits, to hide the part of one person among many. */
const twoDigits = (x: number): number => Number(x.toPrecision(2));
