// Metrics: compute one value per mode from the sections of a period.
import { quantile } from '../model/geo/quantile.ts';
import type { Trip } from '../model/trip.ts';
import { addToList } from '../util/add-to-list.ts';

/** The fields of a section that the metrics need. */
export interface SectionFigures {
  start_ts: number; // seconds since the epoch
  zone: string; // time zone of the trip's start, which decides the local day
  mode: string; // the part after the dot of `sensed_mode`, such as `WALKING`
  distance: number; // m
  duration: number; // s
  median_speed: number | null; // m/s; null for a section without speeds
}

export function figuresOfTrip(trip: Trip): SectionFigures[] {
  return trip.sections.map((section) => ({
    start_ts: section.start_ts,
    zone: trip.start_zone,
    mode: section.sensed_mode.slice(section.sensed_mode.indexOf('.') + 1),
    distance: section.distance,
    duration: section.duration,
    median_speed: median(section.speeds.filter(Number.isFinite)),
  }));
}

type Formula = (sections: readonly SectionFigures[]) => number | null;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const mean = (values: readonly number[]): number | null => (values.length === 0 ? null : sum(values) / values.length);

const median = (values: readonly number[]): number | null => (values.length === 0 ? null : quantile(values, 0.5));

/** The formulas. null: the value is undefined, and the mode is left out. */
const formulas: ReadonlyMap<string, Formula> = new Map<string, Formula>([
  ['count', (sections) => sections.length],
  ['distance', (sections) => sum(sections.map((section) => section.distance))],
  ['duration', (sections) => sum(sections.map((section) => section.duration))],
  ['median_speed', (sections) => median(sections.flatMap(({ median_speed: speed }) => speed ?? []))],
  ['mean_speed', (sections) => mean(sections.flatMap((s) => (s.duration > 0 ? s.distance / s.duration : [])))],
]);

/** The names of the metrics. Their units: count, m, s, m/s, m/s. */
export const metricNames: readonly string[] = [...formulas.keys()];

/** The metric of a request whose `metric` is empty and that has no `metric_list`. */
export const defaultMetric = 'distance';

/** True for the name of a metric. */
export function isMetric(name: string): boolean {
  return formulas.has(name);
}

/** The metric of `sections` by mode, in alphabetical order. Modes with an undefined value are left out. */
export function metricByMode(metric: string, sections: readonly SectionFigures[]): Record<string, number> {
  const formula = formulas.get(metric);
  if (formula === undefined) throw new TypeError(`expected one of ${metricNames.join(', ')}, found ${metric}`);
  const byMode = groupBy(sections, ({ mode }) => mode);
  const modes = [...byMode.keys()].sort();
  return Object.fromEntries(
    modes.flatMap((mode) => {
      const value = formula(byMode.get(mode)!);
      return value === null ? [] : [[mode, value]];
    }),
  );
}

export function groupBy<Key>(
  sections: readonly SectionFigures[],
  keyOf: (section: SectionFigures) => Key,
): Map<Key, SectionFigures[]> {
  const groups = new Map<Key, SectionFigures[]>();
  for (const section of sections) addToList(groups, keyOf(section), section);
  return groups;
}
