import {
  addUtc,
  day,
  formatTime,
  type LocalDateTime,
  localDateTime,
  localDay,
  startOfDay,
  utcPeriod,
} from '../model/time.ts';
import { groupBy, metricByMode, type SectionFigures } from './metrics.ts';

export interface Period {
  ts: number; // label of the period, seconds since the epoch
  /** A local period has only the fields that define it, such as `year` and `month`, and its time zone. */
  local_dt: Partial<LocalDateTime>;
  fmt_time: string;
  sections: readonly SectionFigures[];
}

export interface MetricSummary extends Omit<Period, 'sections'> {
  nUsers: number; // 1, or 0 for a period without sections
  [mode: string]: unknown;
}

export function summarize(metric: string, periods: readonly Period[]): MetricSummary[] {
  return periods.map(({ sections, ...label }) => ({
    ...metricByMode(metric, sections),
    ...label,
    nUsers: sections.length > 0 ? 1 : 0,
  }));
}

/** Periods of `/result/metrics/timestamp`. `A` and `Y` both mean a year, `2W` two weeks. */
export const utcFrequencies = ['D', 'W', '2W', 'M', 'A', 'Y'] as const;
export type UtcFrequency = (typeof utcFrequencies)[number];

const units = { D: 'day', W: 'week', '2W': 'week', M: 'month', A: 'year', Y: 'year' } as const;

/** If more bins than this are empty, all empty bins are left out. */
const maxListedBins = 20_000;

/**
 * The label of a period is the midnight (UTC) that begins its last day. Weeks end on Sunday.
 * The first period of two weeks ends with the week of the first section. Periods may be empty.
 */
export function utcPeriods(sections: readonly SectionFigures[], frequency: UtcFrequency): Period[] {
  const sorted = [...sections].sort((a, b) => a.start_ts - b.start_ts);
  if (sorted.length === 0) return [];
  const label = labeller(frequency, sorted[0]!.start_ts);
  const bins = groupBy(sorted, (section) => label(section.start_ts));
  const last = label(sorted.at(-1)!.start_ts);
  const empty: number[] = [];
  // A label is the midnight that begins the last day of its bin: the next day is in the next bin.
  for (let ts = label(sorted[0]!.start_ts); ts < last; ts = label(addUtc(ts, 1, frequency === '2W' ? 'week' : 'day'))) {
    if (!bins.has(ts)) empty.push(ts);
    if (empty.length > maxListedBins) break;
  }
  if (empty.length <= maxListedBins) for (const ts of empty) bins.set(ts, []);
  return [...bins]
    .sort(([a], [b]) => a - b)
    .map(([ts, own]) => ({ ts, local_dt: localDateTime(ts, 'UTC'), fmt_time: formatTime(ts, 'UTC'), sections: own }));
}

function labeller(frequency: UtcFrequency, first: number): (ts: number) => number {
  if (frequency === 'D') return (ts) => utcPeriod(ts, 'day').start;
  if (frequency !== '2W') return (ts) => utcPeriod(ts, units[frequency]).lastDay;
  const anchor = utcPeriod(first, 'week').lastDay;
  return (ts) => {
    const sunday = utcPeriod(ts, 'week').lastDay;
    const odd = Math.round((sunday - anchor) / (7 * day)) % 2;
    return odd === 0 ? sunday : addUtc(sunday, 1, 'week');
  };
}

export const localFrequencies = ['DAILY', 'MONTHLY', 'YEARLY'] as const;
export type LocalFrequency = (typeof localFrequencies)[number];

const lengths: Record<LocalFrequency, number> = { DAILY: 10, MONTHLY: 7, YEARLY: 4 };

/** Labels each local day, month or year by its start in the time zone of its first section. */
export function localPeriods(sections: readonly SectionFigures[], frequency: LocalFrequency): Period[] {
  const sorted = [...sections].sort((a, b) => a.start_ts - b.start_ts);
  const groups = [...groupBy(sorted, (section) => localDayOf(section).slice(0, lengths[frequency]))];
  groups.sort(([a], [b]) => (a < b ? -1 : 1));
  return groups.map(([name, members]) => {
    const zone = members[0]!.zone;
    const [year, month, dayOfMonth] = name.split('-').map(Number);
    return {
      ts: startOfDay(`${name}-01-01`.slice(0, 10), zone),
      local_dt: { year: year!, ...(month && { month }), ...(dayOfMonth && { day: dayOfMonth }), timezone: zone },
      fmt_time: name,
      sections: members,
    };
  });
}

export const localDayOf = ({ start_ts, zone }: SectionFigures): string => localDay(start_ts, zone);
