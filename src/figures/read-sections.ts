import { type DayRange, day, startOfDay, type TimeRange } from '../model/time.ts';
import { everyLink } from '../store/paging.ts';
import type { Trips } from '../store/store.ts';
import { figuresOfTrip, type SectionFigures } from './metrics.ts';
import { localDayOf } from './periods.ts';

type Chain = Pick<Trips, 'chain' | 'previous'>;

const pageSize = 200; // links of the chain in memory at one time

export async function readSections(trips: Chain, userId: string, range: TimeRange): Promise<SectionFigures[]> {
  if (!(range.from < range.to)) return [];
  const found: SectionFigures[] = [];
  // A trip may start up to a day before the `chain_ts` of its link.
  const to = range.to + day;
  // Trips do not overlap, so only the last trip before the range can reach into it.
  const from = (await trips.previous(userId, range.from))?.chain_ts ?? range.from;
  for await (const { trip } of everyLink({ trips }, userId, { from, to, limit: pageSize })) {
    if (trip === null) continue;
    found.push(...figuresOfTrip(trip).filter(({ start_ts }) => start_ts >= range.from && start_ts < range.to));
  }
  return found.sort((a, b) => a.start_ts - b.start_ts);
}

export async function readSectionsOfDays(trips: Chain, userId: string, days: DayRange): Promise<SectionFigures[]> {
  if (days.from > days.to) return [];
  // No time zone differs from UTC by more than a day.
  const range = { from: startOfDay(days.from, 'UTC') - day, to: startOfDay(days.to, 'UTC') + 2 * day };
  const sections = await readSections(trips, userId, range);
  return sections.filter((section) => localDayOf(section) >= days.from && localDayOf(section) <= days.to);
}
