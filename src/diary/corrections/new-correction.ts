// The entry of a correction, as a page or a command makes it.

import type { Correction } from '../../model/correction.ts';
import type { Entry, Origin } from '../../model/entry.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import { day } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import { concernedTrips } from './apply.ts';
import { type ChainStore, correctedTrips, everyCorrectedLink } from './corrected-trips.ts';
import { concernedTime } from './read-corrections.ts';

/** Who states a correction, when, and why. */
export interface CorrectionAuthor {
  /** Seconds since the epoch; two corrections of a user need different ones. */
  now: number;
  origin: Origin;
  zone?: string;
  /** An operator's name; absent: the person. */
  author?: string;
  reason?: string;
}

/** The entry to put: with the trips that its author sees now, so that it is known later if they became others. */
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
    for await (const link of everyCorrectedLink(store, userId, { from: from - day, to: to + day })) around.push(link);
    around.push(await trips.next(userId, to + day));
  }
  const trips = around.filter((link) => link?.kind === 'trip') as TripRecord[];
  const seen = concernedTrips(correction, trips).map(({ start_ts, end_ts }) => [start_ts, end_ts]);
  const said = { ...(author && { author }), ...(reason && { reason }), ...(around.length > 0 && { seen }) };
  return {
    metadata: {
      key: keys.correction,
      type: 'message',
      platform: 'other',
      write_ts: now,
      origin: origin as unknown as JsonValue,
      ...(zone && { time_zone: zone }),
    },
    data: { ...(correction as unknown as JsonObject), ...said },
  };
}
