// The last trip of a user -> the local days that have documents on the phone.
import { addDays, localDay } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';

/** Days before the end of the last trip that phones keep documents of. */
const windowDays = 7;

/** The local days that have documents, both ends included. */
export interface DocumentWindow {
  from: string;
  to: string;
}

/** The days that have documents: the days of the last trip and of the week before it; null without trips. */
export function documentWindow(last: TripRecord | null): DocumentWindow | null {
  if (!last?.trip) return null;
  const { start_ts, end_ts, end_zone } = last.trip;
  // Whole days before the trip's end; where it lasted so long that it began before these, before its start.
  const window = windowUntil(end_ts, end_zone);
  return last.day >= window.from ? window : windowUntil(start_ts, end_zone);
}

/** Ends a day later: a user who came west over the date line has begun trips on a day that has not come there yet. */
function windowUntil(ts: number, zone: string): DocumentWindow {
  const day = localDay(ts, zone);
  return { from: addDays(day, -windowDays), to: addDays(day, 1) };
}
