import { formatTime, maxTime, minTime } from '../model/time.ts';
import type { Row } from './columns.ts';

/** null: the time is not in the years 1 to 9999, so no format can write it. Phones send any number. */
export const instantOf = (ts: number): Date | null =>
  ts >= minTime && ts <= maxTime ? new Date(Math.round(ts * 1000)) : null;

/** Returns a text such as `2024-03-08T06:40:12.500Z`. */
export const instantText = (ts: number): string | null => instantOf(ts)?.toISOString() ?? null;

/** Returns a text such as `2024-03-08T07:40:12.500`; null: the time is outside the calendar. */
export function localText(ts: number | null, zone: string): string | null {
  if (ts === null) return null;
  try {
    // Of `2024-03-31T03:00:00.500000+02:00`, keeps no offset, and three decimals or none.
    const [, seconds, decimals = ''] = /^(.{19})(\.\d{3})?/.exec(formatTime(Math.round(ts * 1000) / 1000, zone))!;
    return decimals === '.000' ? seconds! : `${seconds}${decimals}`;
  } catch {
    return null;
  }
}

export function timesRow(started: number | null, finished: number | null, zone: string, endZone = zone): Row {
  return {
    started_at: started,
    finished_at: finished,
    started_local: localText(started, zone),
    finished_local: localText(finished, endZone),
    time_zone: zone,
  };
}

/** Returns 1 (Monday) to 7 (Sunday). */
export const isoWeekday = (day: string): number => new Date(day).getUTCDay() || 7;
