// Made-up trips, stored as the pipeline would.
import { idOf } from '../../src/model/ids.ts';
import { localDay } from '../../src/model/time.ts';
import type { Place, Section, Trip, TripRecord } from '../../src/model/trip.ts';
import type { Store } from '../../src/store/store.ts';
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
  const made = sections.map((section, i) => sectionOf(ts, section, i));
  const end = Math.max(...made.map((section) => section.end_ts));
  const trip: Trip = {
    id: idOf('trip', ts),
    raw_trip: idOf('raw', ts),
    source: 'made-up',
    start_ts: ts,
    end_ts: end,
    start_zone: zone,
    end_zone: zone,
    zone_guessed: false,
    start_loc: [-122.27, 37.87],
    end_loc: [-122.26, 37.88],
    duration: end - ts,
    distance: made.reduce((sum, { distance }) => sum + distance, 0),
    start_place: placeAt(ts - 3600, zone),
    end_place: placeAt(end, zone),
    sections: made,
    stops: [],
  };
  return {
    id: trip.id,
    kind: 'trip',
    chain_ts: ts,
    start_ts: ts,
    end_ts: end,
    day: localDay(ts, zone),
    settled_ts: end + 600,
    trip,
    untracked: null,
    carry: { resume_ts: end, started: false, raw_place: null, place: null },
  };
}

function sectionOf(start: number, made: MadeSection, index: number): Section {
  const { mode, after = index * 1000, distance = 500, duration = 250, speeds = [0, 2, 2] } = made;
  return {
    id: idOf('section', start, index),
    start_ts: start + after,
    end_ts: start + after + duration,
    sensed_mode: `PredictedModeTypes.${mode}`,
    duration,
    distance,
    coordinates: [
      [-122.27, 37.87],
      [-122.26, 37.88],
    ],
    altitudes: [null, null],
    times: [start + after, start + after + duration],
    speeds,
    distances: [0, distance],
    source: 'made-up',
  };
}

function placeAt(ts: number, zone: string): Place {
  return {
    id: idOf('place', ts),
    location: [-122.27, 37.87],
    raw_places: [],
    enter_ts: ts,
    enter_zone: zone,
    ending_trip: null,
    source: 'made-up',
  };
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
