// Reads the trips of a user that start on some local days, with their user inputs.
import { correctedTrips } from '../diary/corrections/corrected-trips.ts';
import { readLabels } from '../diary/labels/load-labels.ts';
import type { LabelStore } from '../diary/labels/read-inputs.ts';
import type { DayTrip } from './by-day.ts';

/** Reads the trips whose local start day is in `days`, both ends included, ascending. */
export async function readDayTrips(
  store: LabelStore,
  userId: string,
  days: { from: string; to: string },
): Promise<DayTrip[]> {
  if (days.from > days.to) return [];
  const records = (await correctedTrips(store).byDay(userId, days)).flatMap(({ day, trip }) =>
    trip === null ? [] : [{ day, trip }],
  );
  if (records.length === 0) return [];
  const from = records.reduce((least, { trip }) => Math.min(least, trip.start_ts), Number.POSITIVE_INFINITY);
  const to = records.reduce((most, { trip }) => Math.max(most, trip.end_ts), Number.NEGATIVE_INFINITY);
  const labels = await readLabels(store, userId, { from, to });
  return records.map(({ day, trip: { start_ts, distance, duration } }) => ({
    day,
    distance,
    duration,
    userInput: labels.ofTrip(start_ts).user_input,
  }));
}
