// When clocks show a time: computed for each local day, however long the time that is searched.
import { day, localDay, startOfDay, type TimeRange, zoneOffset } from './time.ts';

/** Offsets change by less than this. No day is without a clock time but where clocks skip it, so three days do. */
const daysTried = 3;

/** The first time in `[from, to)` when clocks of the zone show `HH:mm`; null: they never do. */
export function firstTimeShowing(clock: string, { from, to }: TimeRange, zone: string): number | null {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(clock) ?? [];
  if (hours === undefined) return null;
  const firstMidnight = Math.floor((from + zoneOffset(zone, from)) / day) * day; // on local clocks
  const found: number[] = [];
  for (let i = 0; i < daysTried; i += 1) {
    const shown = firstMidnight + i * day + Number(hours) * 3600 + Number(minutes) * 60;
    // Where clocks are put back, they show a time twice: with the offset before and with the one after.
    for (const near of [shown - day, shown + day]) {
      const ts = shown - zoneOffset(zone, near);
      if (ts >= from && ts < to && ts + zoneOffset(zone, ts) === shown) found.push(ts);
    }
  }
  return found.length === 0 ? null : Math.min(...found);
}

/** How many local days have the time `afterMidnight`, in s after their start, within `[from, to)`. */
export function daysWithTime(afterMidnight: number, { from, to }: TimeRange, zone: string): number {
  if (from >= to) return 0;
  const timeOn = (one: string): number => startOfDay(one, zone) + afterMidnight;
  const [first, last] = [localDay(from, zone), localDay(to, zone)];
  const days = (startOfDay(last, 'UTC') - startOfDay(first, 'UTC')) / day + 1;
  return Math.max(0, days - (timeOn(first) < from ? 1 : 0) - (timeOn(last) >= to ? 1 : 0));
}
