// Trips of the store -> the local days that have documents on the phone.
import { addDays, justAfter, localDay } from '../model/time.ts';
import type { Trip, TripRecord } from '../model/trip.ts';
import type { Store } from '../store/store.ts';

/** Days before the end of the last trip that phones keep documents of. */
const windowDays = 7;

/** s; who made no trip for longer than this and then turns up again may be a phone with a wrong clock. */
const longSilence = 366 * 86_400;

/** s; trips after a long silence are believed once they span this much. */
const proof = 30 * 86_400;

/** Weeks of documents beside the newest one: clocks are wrong now and then, not always. */
const mostEarlierWindows = 3;

/** The local days that have documents, both ends included. */
export interface DocumentWindow {
  from: string;
  to: string;
}

/**
 * The days that have documents: those of the last trip and of the week before it. Trips after a silence of more than a year may
 * come from a clock that was wrong, and must not push the days that people live in out of their phones: until they span a month, the
 * last week before the silence keeps its documents, too. Newest first; none while there is no trip.
 */
export async function documentWindows(store: Pick<Store, 'trips'>, userId: string): Promise<DocumentWindow[]> {
  const { end_ts } = await store.trips.summary(userId);
  const windows: DocumentWindow[] = [];
  for (let end = end_ts; end !== null && windows.length <= mostEarlierWindows; ) {
    const last = await lastTrip(store, userId, end);
    if (!last?.trip) break;
    windows.push(windowUpTo(last.trip, last.day));
    end = await endBeforeSilence(store, userId, last);
  }
  return windows;
}

/** Whole days before the trip's end; where it lasted so long that it began before these, before its start. */
function windowUpTo({ start_ts, end_ts, end_zone }: Trip, day: string): DocumentWindow {
  const window = windowUntil(end_ts, end_zone);
  return day >= window.from ? window : windowUntil(start_ts, end_zone);
}

/** Ends a day late: who came west over the date line has begun trips on a day that is yet to come where they are. */
function windowUntil(ts: number, zone: string): DocumentWindow {
  const day = localDay(ts, zone);
  return { from: addDays(day, -windowDays), to: addDays(day, 1) };
}

/** The last trip, one having ended at `end`, or a trip too short to keep having followed it then. */
async function lastTrip({ trips }: Pick<Store, 'trips'>, userId: string, end: number): Promise<TripRecord | null> {
  const to = addDays(localDay(end, 'UTC'), 2);
  // Nearly every trip began within days of its end.
  for (const reach of [4, 40, 400]) {
    const records = await trips.byDay(userId, { from: addDays(to, -reach), to });
    if (records.length > 0) return records.reduce((a, b) => (a.chain_ts > b.chain_ts ? a : b));
  }
  return null;
}

/** When the last link ended before the long silence that the trips up to `last` follow; null: there is none, or it is long past. */
async function endBeforeSilence(
  { trips }: Pick<Store, 'trips'>,
  userId: string,
  last: TripRecord,
): Promise<number | null> {
  const [first] = await trips.chain(userId, { from: last.end_ts - proof, limit: 1 });
  if (!first || first.chain_ts > last.chain_ts) return null;
  const since = { from: first.chain_ts - longSilence, to: first.chain_ts };
  if ((await trips.chain(userId, { ...since, limit: 1 })).length > 0) return null; // nearly always
  return (await trips.lastSettledBefore(userId, justAfter(first.chain_ts)))?.end_ts ?? null;
}
