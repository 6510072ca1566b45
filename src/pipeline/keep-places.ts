// Keeps the places of a long life up to a time, so that a page need not group all of its stays again.
//
//   trips    |------------ places are kept ------------|--- read and added at each look ---|
//                                                    until                             last trip

import type { ChainStore } from '../diary/corrections/corrected-trips.ts';
import { readCorrections } from '../diary/corrections/read-corrections.ts';
import { keptKey, placesUntil } from '../diary/places.ts';
import type { JsonObject } from '../model/json.ts';
import type { TripRecord } from '../model/trip.ts';
import type { RunContext } from './stage.ts';

/** s; the time moves on by so much, and lies once to twice as long before the last trip: late data are rare there. */
const step = 28 * 86_400;

/** Keeps the places again where time moved on, earlier trips changed, or corrections did. `moved`: see `movedOnly`. */
export async function keepPlaces(context: RunContext, moved: ChainStore, last: TripRecord | null): Promise<void> {
  const { store, userId, state, lease, changedTrips } = context;
  const { observed, retained, places } = state;
  if (last === null || observed === null) return;
  const until = (Math.floor(last.end_ts / step) - 1) * step;
  if (places === null && observed.from >= until) return; // there is nothing before
  const key = keptKey(until, retained, await readCorrections(moved, userId));
  const isCurrent = key === places && changedTrips?.every(({ chain_ts }) => chain_ts >= until);
  if (isCurrent) return;
  const kept = await placesUntil(moved, userId, { until, retained });
  const change = { put: [], remove: [], places: kept as unknown as JsonObject };
  await store.trips.apply(userId, change, { places: key }, lease());
  state.places = key;
}
