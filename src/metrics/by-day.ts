// Figures of trips by local day and by what the user said about them: what the dashboard of today's app shows.

/** What the figures need to know of one trip. */
export interface DayTrip {
  /** Local day of its start, `YYYY-MM-DD`. */
  day: string;
  /** m */
  distance: number;
  /** s */
  duration: number;
  /** What was said about it, by the name of the key. */
  said: Readonly<Record<string, unknown>>;
}

/** Figures by day: the sum over trips; a trip counts as one. */
const values = {
  distance: ({ distance }: DayTrip): number => distance,
  duration: ({ duration }: DayTrip): number => duration,
  count: (): number => 1,
} as const;

/** Metrics there are by day. */
export const dayMetrics: readonly string[] = Object.keys(values);

/** What trips may be grouped by: labels of one word. */
export const dayGroupings: readonly string[] = ['mode_confirm', 'purpose_confirm', 'replaced_mode'];

/**
 * One day of one metric: beside the fixed fields a sum for each label, `mode_confirm_bike`; trips without one are
 * `UNLABELED`.
 */
export interface DayFigures {
  date: string;
  /** People with a trip on that day. */
  nUsers: number;
  [label: string]: string | number;
}

/**
 * For each metric asked for the days that have trips, ascending. `people` holds the trips of each person; a day on
 * which fewer than `least` of them travelled is left out, and so is a label that fewer than `least` of them have that
 * day: figures over few people tell about each of them.
 */
export function figuresByDay(
  people: readonly (readonly DayTrip[])[],
  asked: Readonly<Record<string, readonly string[]>>,
  least = 1,
): Record<string, DayFigures[]> {
  const days = [...new Set(people.flatMap((trips) => trips.map(({ day }) => day)))].sort();
  const found: Record<string, DayFigures[]> = {};
  for (const [metric, groupings] of Object.entries(asked)) {
    if (!dayMetrics.includes(metric)) continue;
    found[metric] = days.flatMap((date) => {
      const travelled = people
        .map((trips) => trips.filter(({ day }) => day === date))
        .filter(({ length }) => length > 0);
      if (travelled.length < least) return [];
      const sums = groupings
        .filter((grouping) => dayGroupings.includes(grouping))
        .map((grouping) => sumsByLabel(travelled, grouping, values[metric as keyof typeof values], least));
      return [Object.assign({ date, nUsers: travelled.length }, ...sums) as DayFigures];
    });
  }
  return found;
}

function sumsByLabel(
  people: readonly (readonly DayTrip[])[],
  grouping: string,
  measure: (trip: DayTrip) => number,
  least: number,
): Record<string, number> {
  const sums = new Map<string, { sum: number; people: Set<number> }>();
  for (const [person, trips] of people.entries()) {
    for (const trip of trips) {
      const label = trip.said[grouping];
      const name = `${grouping}_${typeof label === 'string' ? label : 'UNLABELED'}`;
      const own = sums.get(name) ?? { sum: 0, people: new Set() };
      sums.set(name, { sum: own.sum + measure(trip), people: own.people.add(person) });
    }
  }
  const told = [...sums].filter(([, { people: of }]) => of.size >= least).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(told.map(([name, { sum }]) => [name, sum]));
}
