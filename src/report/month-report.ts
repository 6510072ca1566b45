// The report of one calendar month over a study: every person's figures, then what of them may be told.
import { addDays } from '../model/time.ts';
import { everyUser } from '../store/pages.ts';
import type { Store } from '../store/store.ts';
import { type Disclosed, disclose } from './disclose.ts';
import { addTrip, type Dimension, type PersonTally } from './tally.ts';

/** One month by one dimension. */
export interface MonthReport extends Disclosed {
  /** `YYYY-MM` */
  month: string;
  by: Dimension;
}

/** Days read at once. */
const daysAtOnce = 8;

/**
 * The report of a month, over all people. Months are whole and never overlap, and nobody can be left out: two reports
 * have no difference that stands for a person.
 */
export async function monthReport(store: Store, month: string, by: Dimension, least: number): Promise<MonthReport> {
  const tallies = new Map<string, PersonTally>();
  const first = `${month}-01`;
  const after = `${addDays(first, 31).slice(0, 7)}-01`;
  for await (const { uuid } of everyUser(store)) {
    const tally: PersonTally = new Map();
    for (let from = first; from < after; from = addDays(from, daysAtOnce)) {
      const to = [addDays(from, daysAtOnce - 1), addDays(after, -1)].sort()[0]!;
      for (const record of await store.trips.byDay(uuid, { from, to })) addTrip(tally, record, by);
    }
    if (tally.size > 0) tallies.set(uuid, tally);
  }
  return { month, by, ...disclose(tallies, by, least) };
}
