// The report of one calendar month over a study: the figures of every person, and the part that can be published.
import { addDays } from '../model/time.ts';
import { everyUser } from '../store/pages.ts';
import type { Store } from '../store/store.ts';
import { type Disclosed, disclose } from './disclose.ts';
import { add, addTrip, type Dimension, type Figures, type PersonTally } from './tally.ts';

/** One month by one dimension. */
export interface MonthReport extends Disclosed {
  /** `YYYY-MM` */
  month: string;
  by: Dimension;
}

/** Days read at once. */
const daysAtOnce = 8;

/** Days after the end of a month in which phones may still push what belongs to it. */
export const daysToSettle = 7;

/** Whether a month may be reported: while it fills, two reports would differ by those who travelled in between. */
export const isSettled = (month: string, today: string): boolean =>
  addDays(`${addDays(`${month}-01`, 31).slice(0, 7)}-01`, daysToSettle) <= today;

/**
 * The report of a month, over all people. Months are whole and never overlap, and nobody can be left out: two reports
 * have no difference that stands for a person.
 */
export async function monthReport(store: Store, month: string, by: Dimension, least: number): Promise<MonthReport> {
  const tallies = new Map<string, PersonTally>();
  const everybody = new Map<string, Figures>();
  const first = `${month}-01`;
  const after = `${addDays(first, 31).slice(0, 7)}-01`;
  for await (const { uuid } of everyUser(store)) {
    const tally: PersonTally = new Map();
    for (let from = first; from < after; from = addDays(from, daysAtOnce)) {
      const to = [addDays(from, daysAtOnce - 1), addDays(after, -1)].sort()[0]!;
      for (const record of await store.trips.byDay(uuid, { from, to })) {
        addTrip(tally, record, by);
        if (record.trip === null) continue;
        const { distance: metres, duration: seconds } = record.trip;
        add(everybody, uuid, { trips: 1, metres, seconds }); // once, also where it counts to several modes
      }
    }
    if (tally.size > 0) tallies.set(uuid, tally);
  }
  return { month, by, ...disclose(tallies, { by, least, occasion: month, everybody }) };
}
