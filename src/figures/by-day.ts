// Sums trips by local day and by label, for the dashboard of today's e-mission app.

/** The fields of a trip that the figures need. */
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

/** Labels by which trips can be grouped. */
const dayGroupings: readonly string[] = ['mode_confirm', 'purpose_confirm', 'replaced_mode'];

/**
 * One day of one metric: besides the fixed fields, a sum for each label, such as `mode_confirm_bike`. Trips without a
 * label count as `UNLABELED`.
 */
export interface DayFigures {
  date: string;
  nUsers: number; // always 1, because the figures are about the caller only
  [label: string]: string | number;
}

type Metric = keyof typeof values;

const isMetric = (name: string): name is Metric => Object.hasOwn(values, name);

/**
 * Computes the requested metrics: for each metric the days on which the person has trips, ascending. `asked`: for each
 * metric the labels by which its trips are grouped.
 */
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
