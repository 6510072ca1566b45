// Sums trips by local day and by label, for the dashboard of today's e-mission app.

export interface DayTrip {
  day: string; // local day of its start, `YYYY-MM-DD`
  distance: number; // m
  duration: number; // s
  userInput: Readonly<Record<string, unknown>>; // user inputs by the name of their key
}

/** The value of a trip for each metric. The metric of a day is the sum over its trips. */
const values = {
  distance: ({ distance }: DayTrip): number => distance,
  duration: ({ duration }: DayTrip): number => duration,
  count: (): number => 1,
} as const;

const dayGroupings: readonly string[] = ['mode_confirm', 'purpose_confirm', 'replaced_mode'];

/** A day of one metric, with a sum for each label, `mode_confirm_bike`; trips without it count as `UNLABELED`. */
export interface DayFigures {
  date: string;
  nUsers: number; // always 1, because the figures are about the caller only
  [label: string]: string | number;
}

type Metric = keyof typeof values;

const isMetric = (name: string): name is Metric => Object.hasOwn(values, name);

/** For each metric the days with trips, ascending. `asked`: the labels by which each metric is grouped. */
export function figuresByDay(
  trips: readonly DayTrip[],
  asked: Readonly<Record<string, readonly string[]>>,
): Record<string, DayFigures[]> {
  const found: Record<string, DayFigures[]> = {};
  for (const [metric, groupings] of Object.entries(asked)) {
    if (!isMetric(metric)) continue;
    const known = dayGroupings.filter((grouping) => groupings.includes(grouping));
    found[metric] = sumByDay(trips, values[metric], known);
  }
  return found;
}

function sumByDay(
  trips: readonly DayTrip[],
  measure: (trip: DayTrip) => number,
  groupings: readonly string[],
): DayFigures[] {
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
  const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1);
  return [...days].sort(byName).map(([date, sums]) => ({
    date,
    nUsers: 1,
    ...Object.fromEntries([...sums].sort(byName)),
  }));
}
