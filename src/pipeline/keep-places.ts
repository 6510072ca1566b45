// Stores the places of a user up to the time `until`, so that pages of long diaries need not group all stays again.
//
//   trips    |------------ places are stored ------------|--- read and added for a page ---|
//                                                      until                           last trip
import type { ChainStore } from '../diary/corrections/corrected-trips.ts';
import { readCorrections } from '../diary/corrections/read-corrections.ts';
import { keptKey, placesUntil } from '../diary/places.ts';
import type { JsonObject } from '../model/json.ts';
import type { TripRecord } from '../model/trip.ts';
import type { RunContext } from './stage.ts';

/** s; 4 weeks. `until` is a multiple of this, 4 to 8 weeks before the last trip: few entries arrive so late. */
const step = 28 * 86_400;

export async function keepPlaces(context: RunContext, moved: ChainStore, last: TripRecord | null): Promise<void> {
  const { store, userId, state, lease, changedTrips } = context;
  const { observed, retained, places } = state;
  const until = (Math.floor((last?.end_ts ?? 0) / step) - 1) * step;
  const isLong = last !== null && observed !== null && observed.from < until;
  const key = isLong ? keptKey(until, retained, await readCorrections(moved, userId)) : null;
  const isSame = key === null || changedTrips?.every(({ chain_ts }) => chain_ts >= until);
  if (key === places && isSame) return;
  const kept = key === null ? {} : await placesUntil(moved, userId, { until, retained });
  const change = { put: [], remove: [], places: kept as JsonObject };
  await store.trips.apply(userId, change, { places: key }, lease());
  state.places = key;
}
