// Sums trips by local day and by label, for the dashboard of today's e-mission app.
import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { readLabels } from '../diary/labels/load-labels.ts';
import type { LabelStore } from '../diary/labels/read-inputs.ts';
import type { DayRange } from '../model/time.ts';
import { isTripLink, rangeOfTrips } from '../model/trip-fields.ts';

type DayTrip = Awaited<ReturnType<typeof readDayTrips>>[number];

type Measure = (trip: DayTrip) => number;

const measures: ReadonlyMap<string, Measure> = new Map<string, Measure>([
  ['distance', ({ distance }) => distance],
  ['duration', ({ duration }) => duration],
  ['count', () => 1],
]);

const dayGroupings: readonly string[] = ['mode_confirm', 'purpose_confirm', 'replaced_mode'];

/** Sums of a day by label, such as `mode_confirm_bike`, or `mode_confirm_UNLABELED`. */
export interface DayFigures {
  date: string;
  nUsers: number; // always 1, because the figures are about the caller only
  [label: string]: string | number;
}

export async function readDayTrips(store: LabelStore, userId: string, days: DayRange) {
  if (days.from > days.to) return [];
  const links = (await correctedTrips(store).byDay(userId, days)).filter(isTripLink);
  if (links.length === 0) return [];
  const labels = await readLabels(store, userId, rangeOfTrips(links.map(({ trip }) => trip)));
  return links.map(({ day, trip: { start_ts, distance, duration } }) => {
    return { day, distance, duration, userInput: labels.ofTrip(start_ts).user_input };
  });
}

/** Returns the days with trips, ascending. `asked`: the kinds of label to group each metric by. */
export function figuresByDay(
  trips: readonly DayTrip[],
  asked: Readonly<Record<string, readonly string[]>>,
): Record<string, DayFigures[]> {
  const found: Record<string, DayFigures[]> = {};
  for (const [metric, groupings] of Object.entries(asked)) {
    const measure = measures.get(metric);
    if (measure === undefined) continue;
    const known = dayGroupings.filter((grouping) => groupings.includes(grouping));
    found[metric] = sumByDay(trips, measure, known);
  }
  return found;
}

function sumByDay(trips: readonly DayTrip[], measure: Measure, groupings: readonly string[]): DayFigures[] {
  const days = new Map<string, Map<string, number>>();
  for (const trip of trips) {
    const sums = days.get(trip.day) ?? new Map<string, number>();
    days.set(trip.day, sums);
    for (const grouping of groupings) {
      const label = trip.userInput[grouping];
      const name = `${grouping}_${typeof label === 'string' ? label : 'UNLABELED'}`;
      sums.set(name, (sums.get(name) ?? 0) + measure(trip));
    }
  }
  const sorted = <T>(map: ReadonlyMap<string, T>): [string, T][] => [...map].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted(days).map(([date, sums]) => ({ date, nUsers: 1, ...Object.fromEntries(sorted(sums)) }));
}
