// Finds the local days whose documents the phone gets.
import { addDays, localDay } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';

/** Days before the end of the last trip. Phones keep documents of that time. */
const windowDays = 7;

/** The local days with documents, both included. */
export interface DocumentWindow {
  from: string;
  to: string;
}

/** The days with documents: the days of the last trip and of the week before it. null: the user has no trips. */
export function documentWindow(last: TripRecord | null): DocumentWindow | null {
  if (!last?.trip) return null;
  const { start_ts, end_ts, end_zone } = last.trip;
  // The week before the end of the trip. If the trip began earlier than that, the week before its start.
  const window = windowUntil(end_ts, end_zone);
  return last.day >= window.from ? window : windowUntil(start_ts, end_zone);
}

/**
 * The window ends a day later: after travelling west over the date line, a user may have trips that start on a local
 * day that has not begun at their present place.
 */
function windowUntil(ts: number, zone: string): DocumentWindow {
  const day = localDay(ts, zone);
  return { from: addDays(day, -windowDays), to: addDays(day, 1) };
}
