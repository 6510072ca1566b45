// Made-up trips, stored as the pipeline would.
import { idOf } from '../../src/model/ids.ts';
import { localDay } from '../../src/model/time.ts';
import type { TripRecord } from '../../src/model/trip.ts';
import type { Store } from '../../src/store/store.ts';
import { trip } from '../support/equator-trips.ts';
import { leaseOn } from '../support/store.ts';

export interface MadeSection {
  mode: string;
  /** Seconds after the start of the trip. */
  after?: number;
  distance?: number;
  duration?: number;
  speeds?: number[];
}

/** A trip that starts at `ts`, with these sections. */
export function madeTrip(ts: number, sections: MadeSection[], zone = 'America/Los_Angeles'): TripRecord {
  const rides = sections.map(({ mode, after, distance = 500, duration = 250 }, i) => {
    const start = ts + (after ?? i * 1000);
    return { times: [start, start + duration], easts: [0, distance], mode };
  });
  const record = trip(idOf('trip', ts), rides, { day: localDay(ts, zone) }, [zone, zone]);
  const made = record.trip!;
  const ridden = made.sections.map((section, i) => {
    return { ...section, id: idOf('section', ts, i), speeds: sections[i]!.speeds ?? [0, 2, 2] };
  });
  const places = {
    start_place: { ...made.start_place, id: idOf('place', ts) },
    end_place: { ...made.end_place, id: idOf('place', record.end_ts) },
  };
  return { ...record, settled_ts: record.end_ts + 600, trip: { ...made, ...places, sections: ridden, stops: [] } };
}

/** Makes these the user's trips, final up to the end of the last. */
export async function storeTrips(store: Store, userId: string, records: TripRecord[]): Promise<void> {
  const lease = await leaseOn(store, userId);
  const state = { complete_until: records.at(-1)!.end_ts };
  const before = await store.trips.chain(userId, { limit: 10_000 });
  const change = { put: records, remove: before.map(({ chain_ts }) => chain_ts) };
  await store.trips.apply(userId, change, state, lease);
  await store.leases.release(lease);
}
