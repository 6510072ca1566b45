// Times of an export: the instant in UTC, and the same in local time without offset.
import { formatTime, maxTime, minTime } from '../model/time.ts';

/** Milliseconds since the epoch, whole. */
export const milliseconds = (ts: number): number => Math.round(ts * 1000);

/** `2024-03-08T06:40:12.500Z`; null outside of the years 1 to 9999. */
export function instantText(ts: number): string | null {
  return ts >= minTime && ts <= maxTime ? new Date(milliseconds(ts)).toISOString() : null;
}

/** `2024-03-08T07:40:12.500` in `zone`; null outside the calendar. */
export function localText(ts: number | null, zone: string): string | null {
  if (ts === null) return null;
  try {
    // `2024-03-31T03:00:00.500000+02:00`: without the offset, and with three decimals or none.
    const [, seconds, decimals = ''] = /^(.{19})(\.\d{3})?/.exec(formatTime(ts, zone))!;
    return decimals === '.000' ? seconds! : `${seconds}${decimals}`;
  } catch {
    return null;
  }
}
