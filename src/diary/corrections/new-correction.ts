// Makes the entry of a correction, for pages and commands.
import type { Correction } from '../../model/correction.ts';
import type { Entry, Origin } from '../../model/entry.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import { day, justAfter } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import { concernedTrips } from './apply.ts';
import { type ChainStore, correctedTrips, everyCorrectedLink } from './corrected-trips.ts';
import { concernedTime } from './read-corrections.ts';

export interface CorrectionAuthor {
  /** Seconds since the epoch. Must be different for each correction of a user. */
  now: number;
  origin: Origin;
  zone?: string;
  author?: string; // name of an operator; absent: the user is the author
  reason?: string;
}

/** Makes the entry, with the times of the trips that the author sees: `seen` later shows whether they changed. */
export async function correctionEntry(
  store: ChainStore,
  userId: string,
  correction: Correction,
  { now, origin, zone, author, reason }: CorrectionAuthor,
): Promise<Entry> {
  const { from, to } = concernedTime(correction);
  const around: (TripRecord | null)[] = [];
  if (Number.isFinite(from) && correction.kind !== 'set_aside' && correction.kind !== 'place_name') {
    const trips = correctedTrips(store);
    around.push(await trips.previous(userId, from - day));
    for await (const link of everyCorrectedLink(store, userId, { from: from - day, to: justAfter(to + day) }))
      around.push(link);
    around.push(await trips.next(userId, to + day));
  }
  const trips = around.filter((link) => link?.kind === 'trip') as TripRecord[];
  const seen = concernedTrips(correction, trips).map(({ start_ts, end_ts }) => [start_ts, end_ts]);
  const details = { ...(author && { author }), ...(reason && { reason }), ...(around.length > 0 && { seen }) };
  return {
    metadata: {
      key: keys.correction,
      type: 'message',
      platform: 'other',
      write_ts: now,
      origin: origin as unknown as JsonValue,
      ...(zone && { time_zone: zone }),
    },
    data: { ...(correction as unknown as JsonObject), ...details },
  };
}
