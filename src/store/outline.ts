// The outline of a trip from its record, for every store.
import type { TripRecord } from '../model/trip.ts';
import type { TripOutline } from './store.ts';

/** The outline of a link that is a trip. */
export function outlineOf({ chain_ts, start_ts, trip }: TripRecord): TripOutline {
  const { start_zone, start_loc, end_loc } = trip!;
  const sections = trip!.sections.map(({ sensed_mode, distance }) => ({ sensed_mode, distance }));
  return { chain_ts, start_ts, start_zone, start_loc, end_loc, sections };
}
