import { stringify } from 'csv-stringify/sync';
import type { DisclosedCell } from '../figures/disclose.ts';
import type { ExactCell, MonthReport } from '../figures/month-report.ts';

export const publishedRows = ({ all, cells, rest }: MonthReport): DisclosedCell[] =>
  [...cells, rest, all].flatMap((one) => one ?? []);

const rates = ['observed_days', 'trips_per_day', 'km_per_day', 'minutes_per_day'];

export function publishedCsv(months: readonly MonthReport[]): string {
  const rows = months.flatMap((one) => publishedRows(one).map((row) => ({ ...one, ...row })));
  const columns = ['month', 'by', 'cell', 'people_at_least', 'trips', 'km', 'minutes', ...rates];
  return stringify(rows, { header: true, columns, escape_formulas: true });
}

/** The exact figures must not be passed on. */
export function exactCsv(month: string, cells: readonly ExactCell[]): string {
  const all = cells.at(-1)!;
  const rows = cells.map(({ metres, seconds, km_range, ...cell }) => ({
    month,
    ...cell,
    km: metres / 1000,
    share_of_km: metres / all.metres,
    hours: seconds / 3600,
    km_per_day_from: km_range?.[0] ?? null,
    km_per_day_to: km_range?.[1] ?? null,
  }));
  const ranges = ['trips_per_day', 'km_per_day', 'km_per_day_from', 'km_per_day_to'];
  const columns = ['month', 'cell', 'people', 'trips', 'km', 'share_of_km', 'hours', ...ranges];
  // Nine digits are exact to the metre, and hide the rounding errors of sums.
  const cast = { number: (value: number) => String(Number(value.toPrecision(9))) };
  return stringify(rows, { header: true, columns, escape_formulas: true, cast });
}
