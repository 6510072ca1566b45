// The report of one calendar month over a study: the figures of every person, and the part that can be published.
import { noLabels, readLabels } from '../diary/labels/load-labels.ts';
import { readObservedDays } from '../diary/observed-time.ts';
import { addDays, daysOfMonth } from '../model/time.ts';
import { everyUser } from '../store/paging.ts';
import type { Store } from '../store/store.ts';
import { startSlices } from '../util/slices.ts';
import { type Disclosed, disclose } from './disclose.ts';
import { add, addTrip, compareCells, type Dimension, type Figures, type PersonTally } from './tally.ts';

/** One month by one dimension. */
export interface MonthReport extends Disclosed {
  /** `YYYY-MM` */
  month: string;
  by: Dimension;
}

/** Days after the end of a month in which phones may still push what belongs to it. */
export const daysToSettle = 7;

/** Whether a month may be reported: while it fills, two reports would differ by the people who travelled in between. */
export const isSettled = (month: string, today: string): boolean =>
  addDays(daysOfMonth(month).to, daysToSettle) < today;

/** What each person comes to in a month, in the cells of one dimension and as a whole. */
export interface MonthFigures {
  month: string;
  by: Dimension;
  /** By UUID, without people who made no trip. */
  tallies: ReadonlyMap<string, PersonTally>;
  everybody: ReadonlyMap<string, Figures>;
  /** s in which each person was observed, by UUID; people who were not observed are left out. */
  observed: ReadonlyMap<string, number>;
}

/** Reads the figures of a month, of all people or of one study. */
export async function readMonth(store: Store, month: string, by: Dimension, study?: string): Promise<MonthFigures> {
  const tallies = new Map<string, PersonTally>();
  const everybody = new Map<string, Figures>();
  const observed = new Map<string, number>();
  const { from, to } = daysOfMonth(month);
  const slices = startSlices();
  for await (const user of everyUser(store)) {
    if (study !== undefined && user.study !== study) continue;
    if (slices.isOver()) await slices.next();
    const tally: PersonTally = new Map();
    const { days, links } = await readObservedDays(store, user.uuid, { from, to });
    const trips = links.filter(({ day, trip }) => trip !== null && day >= from && day <= to);
    const span = { from: trips[0]?.start_ts ?? 0, to: trips.at(-1)?.end_ts ?? 0 };
    const labels = by === 'mode' && trips.length > 0 ? await readLabels(store, user.uuid, span) : noLabels;
    for (const record of trips) {
      addTrip(tally, { ...record, trip: record.trip && labels.stated(record.trip) }, by);
      if (record.trip === null) continue;
      const { distance: metres, duration: seconds } = record.trip;
      add(everybody, user.uuid, { trips: 1, metres, seconds }); // once, also where it counts to several modes
    }
    if (tally.size > 0) tallies.set(user.uuid, tally);
    const seconds = days.reduce((sum, { moving_s, staying_s }) => sum + moving_s + staying_s, 0);
    if (seconds > 0) observed.set(user.uuid, seconds);
  }
  return { month, by, tallies, everybody, observed };
}

/**
 * The part of a month that can be published. Months are whole and never overlap, and no person can be left out: the
 * difference of two reports reveals no person.
 */
export const monthReport = ({ month, by, tallies, ...whole }: MonthFigures, least: number): MonthReport => ({
  month,
  by,
  ...disclose(tallies, { by, least, occasion: month, ...whole }),
});

/** Exact figures of a cell; they can reveal what single people did. */
export interface ExactCell extends Figures {
  cell: string;
  people: number;
}

/** The exact figures of a month: its cells, and all of them together as `all`. */
export function exactCells({ by, tallies, everybody }: MonthFigures): ExactCell[] {
  const sums = new Map<string, Figures>();
  const people = new Map<string, number>();
  const count = (cell: string, figures: Figures): void => {
    add(sums, cell, figures);
    people.set(cell, (people.get(cell) ?? 0) + 1);
  };
  for (const tally of tallies.values()) for (const [cell, figures] of tally) count(cell, figures);
  const cells = [...sums.keys()].sort(compareCells(by));
  for (const figures of everybody.values()) count('all', figures);
  return [...cells, ...(everybody.size > 0 ? ['all'] : [])].map((cell) => ({
    cell,
    people: people.get(cell)!,
    ...sums.get(cell)!,
  }));
}
