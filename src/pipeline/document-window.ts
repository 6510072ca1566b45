// Finds the local days whose documents the phone gets.
import { addDays, localDay } from '../model/time.ts';
import type { TripRecord } from '../model/trip.ts';

const windowDays = 7; // Days before the end of the last trip. Phones keep documents for as long.

export interface DocumentWindow {
  from: string;
  to: string;
}

/** The days with documents: the days of the last trip and of the week before it. null: the user has no trips. */
export function documentWindow(last: TripRecord | null): DocumentWindow | null {
  if (!last?.trip) return null;
  const { start_ts, end_ts, end_zone } = last.trip;
  // Normally the week before the end of the trip. A trip of over a week: the week before its start, so that the window
  // contains the document of the trip.
  const window = windowUntil(end_ts, end_zone);
  return last.day >= window.from ? window : windowUntil(start_ts, end_zone);
}

/**
 * The window that ends a day after `ts`. The extra day: after a user travelled west over the date line, some trips
 * start on a local day that is later than the day at the user's present place.
 */
function windowUntil(ts: number, zone: string): DocumentWindow {
  const day = localDay(ts, zone);
  return { from: addDays(day, -windowDays), to: addDays(day, 1) };
}
