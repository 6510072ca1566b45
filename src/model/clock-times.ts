import { day, localDay, startOfDay, type TimeRange, zoneOffset } from './time.ts';

const daysTried = 3; // enough, because every day has each clock time, except a day on which clocks skip the time

/** The first time in `[from, to)` when clocks show `HH:mm`; null: they never do. */
export function firstTimeShowing(clock: string, { from, to }: TimeRange, zone: string): number | null {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(clock) ?? [];
  if (hours === undefined) return null;
  const firstMidnight = Math.floor((from + zoneOffset(zone, from)) / day) * day; // in local time
  const found: number[] = [];
  for (let i = 0; i < daysTried; i += 1) {
    const shown = firstMidnight + i * day + Number(hours) * 3600 + Number(minutes) * 60;
    // When clocks go back, they show a time twice: with the old and with the new offset.
    for (const near of [shown - day, shown + day]) {
      const ts = shown - zoneOffset(zone, near);
      if (ts >= from && ts < to && ts + zoneOffset(zone, ts) === shown) found.push(ts);
    }
  }
  return found.length === 0 ? null : Math.min(...found);
}

/** Counts the local days that have their time `afterMidnight` (s from their start) in the range. */
export function daysWithTime(afterMidnight: number, { from, to }: TimeRange, zone: string): number {
  if (from >= to) return 0;
  const timeOn = (one: string): number => startOfDay(one, zone) + afterMidnight;
  const [first, last] = [localDay(from, zone), localDay(to, zone)];
  const days = (startOfDay(last, 'UTC') - startOfDay(first, 'UTC')) / day + 1;
  return Math.max(0, days - (timeOn(first) < from ? 1 : 0) - (timeOn(last) >= to ? 1 : 0));
}
