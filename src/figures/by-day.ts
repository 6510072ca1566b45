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

/** Figures by day: sums over trips; each trip counts as one. */
const values = {
  distance: ({ distance }: DayTrip): number => distance,
  duration: ({ duration }: DayTrip): number => duration,
  count: (): number => 1,
} as const;

/** What trips may be grouped by: labels of one word. */
const dayGroupings: readonly string[] = ['mode_confirm', 'purpose_confirm', 'replaced_mode'];

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

/** What the figures of several people may tell; absent: of one person, who sees their own. */
export interface Disclosure {
  /** Days, and labels of a day, of fewer people are left out. */
  least: number;
}

/** Beside `date` and `nUsers` the sums of a day by label. */
interface Day {
  people: number;
  cells: Map<string, Cell>;
}

/** The sums of one label on one day. */
interface Cell {
  people: number;
  sums: Record<Metric, number>;
  /** The greatest part of one person. */
  most: Record<Metric, number>;
}

type Metric = keyof typeof values;

const metricNames = Object.keys(values) as Metric[];

/** Sums of trips by day and label, person after person: what it holds does not grow with their number. */
export class DaySums {
  readonly #days = new Map<string, Day>();

  /** Adds all trips of one person. */
  add(trips: readonly DayTrip[]): void {
    const own = new Map<string, Map<string, Record<Metric, number>>>();
    for (const trip of trips) {
      const cells = own.get(trip.day) ?? new Map<string, Record<Metric, number>>();
      own.set(trip.day, cells);
      for (const grouping of dayGroupings) {
        const label = trip.said[grouping];
        const name = `${grouping}_${typeof label === 'string' ? label : 'UNLABELED'}`;
        const sums = cells.get(name) ?? noSums();
        cells.set(name, sums);
        for (const metric of metricNames) sums[metric] += values[metric](trip);
      }
    }
    for (const [date, cells] of own) {
      const day = this.#days.get(date) ?? { people: 0, cells: new Map<string, Cell>() };
      this.#days.set(date, day);
      day.people += 1;
      for (const [name, sums] of cells) {
        const cell = day.cells.get(name) ?? { people: 0, sums: noSums(), most: noSums() };
        day.cells.set(name, cell);
        cell.people += 1;
        for (const metric of metricNames) {
          cell.sums[metric] += sums[metric];
          cell.most[metric] = Math.max(cell.most[metric], sums[metric]);
        }
      }
    }
  }

  /**
   * For each metric asked for the days that have trips, ascending. Figures over few people tell about each of them: of
   * several people a day or a label with fewer than `least` is left out, and so is a sum that one person makes more
   * than half of; what remains has two digits, so that what one more trip adds is not seen.
   */
  figures(asked: Readonly<Record<string, readonly string[]>>, disclosure?: Disclosure): Record<string, DayFigures[]> {
    const days = [...this.#days].sort(([a], [b]) => (a < b ? -1 : 1));
    const found: Record<string, DayFigures[]> = {};
    for (const [metric, groupings] of Object.entries(asked)) {
      if (!isMetric(metric)) continue;
      found[metric] = days.flatMap(([date, { people, cells }]) => {
        if (people < (disclosure?.least ?? 1)) return [];
        const told = [...cells]
          .filter(([name]) => groupings.some((one) => dayGroupings.includes(one) && name.startsWith(`${one}_`)))
          .flatMap(([name, cell]) => {
            const value = toldValue(cell, metric, disclosure);
            return value === null ? [] : [[name, value] as const];
          })
          .sort(([a], [b]) => (a < b ? -1 : 1));
        return [{ date, nUsers: people, ...Object.fromEntries(told) }];
      });
    }
    return found;
  }
}

const noSums = (): Record<Metric, number> => ({ distance: 0, duration: 0, count: 0 });

const isMetric = (name: string): name is Metric => Object.hasOwn(values, name);

function toldValue({ people, sums, most }: Cell, metric: Metric, disclosure?: Disclosure): number | null {
  if (disclosure === undefined) return sums[metric];
  if (people < disclosure.least || most[metric] > sums[metric] / 2) return null;
  return Number(sums[metric].toPrecision(2));
}
