// Withholds figures that could reveal a person: of too few people, dominated by one person, or found by subtraction.
import { createHash } from 'node:crypto';
import { add, compareCells, type Dimension, type Figures, type PersonTally } from './tally.ts';

/**
 * Published figures of a cell, with noise of at most what the busiest person adds. Trips are rounded to the least
 * number of people, kilometres and minutes to two digits.
 */
export interface DisclosedCell {
  cell: string;
  /** Number of people, rounded down to a multiple of the least number. */
  people_at_least: number;
  trips: number;
  km: number;
  minutes: number;
}

/** A published table. */
export interface Disclosed {
  /** Everybody together; null if they are too few. */
  all: DisclosedCell | null;
  cells: DisclosedCell[];
  /** Cells that are combined as the rest, because each has too few people. */
  withheld: number;
  /** The withheld cells together; null if there are none, or if they have too few people. */
  rest: DisclosedCell | null;
}

interface Cell {
  name: string;
  people: Map<string, Figures>;
}

/** What to publish. `everybody`: each person's figures as a whole, if they are not the sum of the cells. */
export interface Question {
  by: Dimension;
  least: number;
  occasion: string;
  everybody?: ReadonlyMap<string, Figures>;
}

/** The least number of people, unless somebody asks for more. */
export const usualLeast = 5;

/** One person may make up at most this share of a figure. */
const mostOfOnePerson = 0.5;

/**
 * Returns the figures of `tallies` that can be published. A cell needs `least` people, none of whom makes up more than
 * half of it. The other cells are combined; if these are still too few people, the smallest cells join them, so that
 * subtracting the published cells from all never leaves a few people.
 *
 * The noise derives from `occasion` (such as the month) and the people of the cell. Repeating the question gives the
 * same answer, so there is nothing to average. With one person more or less the noise is another, so that the
 * difference of two answers does not reveal what that person did.
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
  const publish = (cell: Cell): DisclosedCell => publishedCell(cell, least, occasion);
  return {
    all: isSafe(all, least) ? publish(all) : null,
    cells: shown.sort((a, b) => compareCells(by)(a.name, b.name)).map(publish),
    withheld: hidden.length,
    rest: hidden.length > 0 && isSafe(rest, least) ? publish(rest) : null,
  };
}

function merge(into: Cell, from: Cell): void {
  for (const [person, figures] of from.people) add(into.people, person, figures);
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
    return most <= mostOfOnePerson * sum;
  });
}

function publishedCell({ name, people }: Cell, least: number, occasion: string): DisclosedCell {
  const seed = JSON.stringify([occasion, ...[...people.keys()].sort()]);
  const noise = createHash('sha256').update(seed).digest();
  const noisy = (figure: (typeof figureNames)[number]): number => {
    const each = [...people.values()].map((figures) => figures[figure]);
    const sum = each.reduce((total, one) => total + one, 0);
    const share = noise.readUInt32LE(4 * figureNames.indexOf(figure)) / 2 ** 31 - 1; // -1 to 1
    return Math.max(0, sum + share * Math.max(...each));
  };
  return {
    cell: name,
    people_at_least: Math.floor(people.size / least) * least,
    trips: Math.round(noisy('trips') / least) * least,
    km: twoDigits(noisy('metres') / 1000),
    minutes: twoDigits(noisy('seconds') / 60),
  };
}

/** Two significant digits, which hide what one person adds to a figure of many. */
const twoDigits = (x: number): number => Number(x.toPrecision(2));
