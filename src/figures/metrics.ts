import { quantile } from '../model/geo/quantile.ts';
import type { Trip } from '../model/trip.ts';
import { addToList } from '../util/add-to-list.ts';

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

const formulas: ReadonlyMap<string, Formula> = new Map<string, Formula>([
  ['count', (sections) => sections.length],
  ['distance', (sections) => sum(sections.map((section) => section.distance))],
  ['duration', (sections) => sum(sections.map((section) => section.duration))],
  ['median_speed', (sections) => median(sections.flatMap(({ median_speed: speed }) => speed ?? []))],
  ['mean_speed', (sections) => mean(sections.flatMap((s) => (s.duration > 0 ? s.distance / s.duration : [])))],
]);

/** The names of the metrics. Their units, in the same order: none, m, s, m/s, m/s. */
export const metricNames: readonly string[] = [...formulas.keys()];

export const defaultMetric = 'distance';

export const isMetric = (name: string): boolean => formulas.has(name);

/** Returns the metric of each mode, in alphabetical order. Leaves out modes without a value. */
export function metricByMode(metric: string, sections: readonly SectionFigures[]): Record<string, number> {
  const formula = formulas.get(metric);
  if (formula === undefined) throw new TypeError(`expected one of ${metricNames.join(', ')}, found ${metric}`);
  const byMode = [...groupBy(sections, ({ mode }) => mode)].sort(([a], [b]) => (a < b ? -1 : 1));
  const values = byMode.map(([mode, own]) => [mode, formula(own)] as const);
  return Object.fromEntries(values.flatMap(([mode, value]) => (value === null ? [] : [[mode, value]])));
}

export function groupBy<Key>(
  sections: readonly SectionFigures[],
  keyOf: (section: SectionFigures) => Key,
): Map<Key, SectionFigures[]> {
  const groups = new Map<Key, SectionFigures[]>();
  for (const section of sections) addToList(groups, keyOf(section), section);
  return groups;
}
