// Suppresses figures that could reveal a person: those over too few people, those dominated by one person, and those
// that the difference of two figures would give away.
import { createHash } from 'node:crypto';
import { compareCells, type Dimension, type Figures, type PersonTally } from './tally.ts';

/**
 * A published figure: moved by chance by up to what the busiest person adds; trips are then rounded to the least number
 * of people, kilometres and minutes to two digits.
 */
export interface DisclosedCell {
  cell: string;
  /** People behind it, rounded down to a multiple of the least number. */
  people_at_least: number;
  trips: number;
  km: number;
  minutes: number;
}

/** A published table. */
export interface Disclosed {
  /** Everybody together; null where they are too few. */
  all: DisclosedCell | null;
  cells: DisclosedCell[];
  /** Cells that are combined as the rest, because each has too few people. */
  withheld: number;
  /** The withheld cells together; null where there are none, or too few people behind them. */
  rest: DisclosedCell | null;
}

interface Cell {
  name: string;
  people: Map<string, Figures>;
}

/** What is asked for. */
export interface Question {
  by: Dimension;
  least: number;
  occasion: string;
  everybody?: ReadonlyMap<string, Figures>;
}

/** One person may make up at most this share of a figure. */
const mostOfOne = 0.5;

/**
 * Tells what may be told of `tallies`, figures by person. A cell stands for `least` people or more, none of whom makes
 * up more than half of it. The others are put together; where these are still too few, the smallest cells join them
 * until they are enough, so that all minus the cells told never leaves a few people.
 *
 * Each figure is moved by chance, by up to what its busiest person adds. The chance follows from `occasion` (such as
 * the month) and the people of the cell: asking again, or for the same under another name, has the same answer, so that
 * there is nothing to average; and with one person more or less it is another chance, so that the difference of two
 * answers does not tell what that person did.
 *
 * `everybody` is each person's figures as a whole, where they are not the sum of the cells.
 */
export function disclose(
  tallies: ReadonlyMap<string, PersonTally>,
  { by, least, occasion, everybody }: Question,
): Disclosed {
  const all: Cell = { name: 'all', people: new Map(everybody ?? []) };
  const cells = new Map<string, Cell>();
  for (const [person, tally] of tallies) {
    for (const [name, figures] of tally) {
      const cell = cells.get(name) ?? { name, people: new Map() };
      cells.set(name, cell);
      put(cell, person, figures);
      if (everybody === undefined) put(all, person, figures);
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
  const told = shown.sort((a, b) => compareCells(by)(a.name, b.name)).map((cell) => toldCell(cell, least, occasion));
  return {
    all: isSafe(all, least) ? toldCell(all, least, occasion) : null,
    cells: told,
    withheld: hidden.length,
    rest: hidden.length > 0 && isSafe(rest, least) ? toldCell(rest, least, occasion) : null,
  };
}

function put(cell: Cell, person: string, { trips, metres, seconds }: Figures): void {
  const known = cell.people.get(person) ?? { trips: 0, metres: 0, seconds: 0 };
  const sum = { trips: known.trips + trips, metres: known.metres + metres, seconds: known.seconds + seconds };
  cell.people.set(person, sum);
}

function merge(into: Cell, from: Cell): void {
  for (const [person, figures] of from.people) put(into, person, figures);
}

const figureNames = ['trips', 'metres', 'seconds'] as const;

function isSafe({ people }: Cell, least: number): boolean {
  if (people.size < least) return false;
  return figureNames.every((name) => {
    let [sum, most] = [0, 0];
    for (const figures of people.values()) {
      sum += figures[name];
      most = Math.max(most, figures[name]);
    }
    return most <= mostOfOne * sum;
  });
}

function toldCell({ name, people }: Cell, least: number, occasion: string): DisclosedCell {
  const who = createHash('sha256').update(JSON.stringify([occasion, ...[...people.keys()].sort()]));
  const chances = who.digest();
  const moved = (figure: (typeof figureNames)[number]): number => {
    const each = [...people.values()].map((figures) => figures[figure]);
    const sum = each.reduce((total, one) => total + one, 0);
    const chance = chances.readUInt32LE(4 * figureNames.indexOf(figure)) / 2 ** 31 - 1; // -1 to 1
    return Math.max(0, sum + chance * Math.max(...each));
  };
  return {
    cell: name,
    people_at_least: Math.floor(people.size / least) * least,
    trips: Math.round(moved('trips') / least) * least,
    km: twoDigits(moved('metres') / 1000),
    minutes: twoDigits(moved('seconds') / 60),
  };
}

/** Two significant digits: what one person adds to a figure of many does not show. */
function twoDigits(x: number): number {
  return Number(x.toPrecision(2));
}
