import type { Correction } from '../../model/correction.ts';
import type { Entry, Origin } from '../../model/entry.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import { day, justAfter } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import { concernedTrips } from './apply.ts';
import { type ChainStore, correctedTrips, everyCorrectedLink } from './corrected-trips.ts';
import { concernedTime } from './read-corrections.ts';

interface CorrectionAuthor {
  now: number; // seconds since the epoch; different for each correction of a user
  origin: Origin;
  zone?: string;
  author?: string; // name of an operator; absent: the user is the author
  reason?: string;
}

/** Makes the entry of a correction. If the trips that its author sees (`seen`) change, it is contradicted. */
export async function correctionEntry(
  store: ChainStore,
  userId: string,
  correction: Correction,
  { now, origin, zone, author, reason }: CorrectionAuthor,
): Promise<Entry> {
  const { from, to } = concernedTime(correction);
  const details: JsonObject = { ...(author && { author }), ...(reason && { reason }) };
  if (Number.isFinite(from) && correction.kind !== 'set_aside' && correction.kind !== 'place_name') {
    const chain = correctedTrips(store);
    const around = [await chain.previous(userId, from - day)];
    for await (const link of everyCorrectedLink(store, userId, { from: from - day, to: justAfter(to + day) }))
      around.push(link);
    around.push(await chain.next(userId, to + day));
    const trips = around.filter((link) => link?.kind === 'trip') as TripRecord[];
    details.seen = concernedTrips(correction, trips).map(({ start_ts, end_ts }) => [start_ts, end_ts]);
  }
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
