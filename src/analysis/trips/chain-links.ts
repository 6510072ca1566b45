// Makes links of the trip chain from segmented trips: joins each trip to the place before it, or drops it.
//
//     segmented    08:10 home -> work 4 km    12:00 walk of 60 m       17:30 work -> home 4 km
//     links        trip, starts at home       dropped 'too short'      trip, starts at work
//     place        home -> work               work, 2 raw places       work -> home
import { distance } from '../../model/geo/distance.ts';
import { idOf } from '../../model/ids.ts';
import { localDay } from '../../model/time.ts';
import type { Carry, Place, Position, Trip, TripRecord, Untracked } from '../../model/trip.ts';
import { withFields } from '../../model/with-fields.ts';
import { locationOf, positionOf } from '../positions.ts';
import type { SegmentedTrip } from '../segmenter.ts';
import { type BuiltTrip, buildTrip, startAtPlace } from './build-trip.ts';

/** Thresholds for kept trips, as in e-mission except `leadIn` (by hand). */
export const linkLimits = {
  shortestTrip: 100, // m; a trip with a shorter recorded path is dropped
  nearPlace: 100, // m; a trip that begins this near to the previous place is made to start at that place
  leadIn: 30, // s; a trip that is made to start at the previous place begins this much earlier
};

/**
 * Makes the link of a trip after the state `carry`. `gapFrom`: when the last gap before the trip began. The user was at
 * the place before the trip until then, or longer. If building the trip throws, returns a dropped trip and the error.
 */
export function nextLink(
  userId: string,
  found: SegmentedTrip,
  carry: Carry | null,
  gapFrom?: number,
): { record: TripRecord; error?: unknown } {
  const { first, last, end_ts } = found;
  const rawPlace = { id: idOf(userId, 'raw_place', last.ts), location: positionOf(found.end), enter_ts: end_ts };
  const next = withFields(found.resume, { needs_from: found.needsFrom, raw_place: rawPlace });
  const base = {
    id: idOf(userId, 'trip', first.ts),
    chain_ts: first.ts,
    settled_ts: found.settledTs,
    day: localDay(first.ts, first.zone),
  };
  const { built, error } = tryToBuild(userId, found);
  if (built && found.recorded >= linkLimits.shortestTrip) {
    const { trip, untracked } = keptTrip(userId, found, built, { carry, gapFrom, id: base.id, rawPlace: rawPlace.id });
    const { start_ts, end_ts, start_zone, end_place: place } = trip;
    const day = localDay(start_ts, start_zone);
    const fields = { day, kind: 'trip' as const, start_ts, end_ts, trip, untracked };
    return { record: withFields(base, { ...fields, carry: withFields(next, { place }) }) };
  }
  const before = carry?.place ?? null;
  // The diary does not show a dropped trip. It shows that the user stayed at the place before the trip.
  const place = before && { ...before, raw_places: [...before.raw_places, rawPlace.id].slice(-mostRawPlaces) };
  const away_since = place && awaySince(place, carry!, found);
  const record: TripRecord = withFields(base, {
    kind: 'dropped',
    start_ts: first.ts,
    end_ts: Math.max(first.ts, end_ts),
    dropped: error !== undefined ? 'failed' : built ? 'too short' : 'no travel',
    trip: null,
    untracked: null,
    carry: withFields(next, { place, ...(away_since !== null && { away_since }) }),
  });
  return { record, error };
}

/** A place lists only its latest raw places, because months at home with noisy locations can make thousands. */
const mostRawPlaces = 100;

function awaySince(place: Place, carry: Carry, { first, end }: SegmentedTrip): number | null {
  const home = locationOf(place.location);
  if (distance(home, end) <= linkLimits.nearPlace) return null;
  const unseen = distance(home, first) > linkLimits.nearPlace;
  return carry.away_since ?? (unseen ? carry.raw_place!.enter_ts : first.ts);
}

function tryToBuild(userId: string, found: SegmentedTrip): { built: BuiltTrip | null; error?: unknown } {
  if (found.error !== undefined) return { built: null, error: found.error };
  try {
    return { built: buildTrip(userId, found) };
  } catch (error) {
    return { built: null, error };
  }
}

function keptTrip(
  userId: string,
  found: SegmentedTrip,
  recorded: BuiltTrip,
  { carry, gapFrom, id, rawPlace }: { carry: Carry | null; gapFrom?: number; id: string; rawPlace: string },
): { trip: Trip; untracked: Untracked | null } {
  const { first, last, source } = found;
  let built = recorded;
  const before = carry?.place ?? null;
  const gap = before ? distance(locationOf(before.location), locationOf(built.start_loc)) : 0;
  const untracked =
    before && gap > linkLimits.nearPlace ? untrackedFrom(carry!, before, built.start_loc, found, gapFrom) : null;
  const start =
    before && !untracked
      ? before
      : newPlace(userId, untracked?.end_ts ?? null, untracked ? first.zone : null, built.start_loc, source);
  if (start === before && gap > 0) built = startAtPlace(built, before, linkLimits.leadIn);
  const end: Place = {
    id: idOf(userId, 'place', last.ts),
    location: built.end_loc,
    raw_places: [rawPlace],
    enter_ts: built.end_ts,
    enter_zone: last.zone,
    ending_trip: id,
    source,
  };
  const trip: Trip = {
    id,
    raw_trip: idOf(userId, 'raw_trip', first.ts),
    source,
    start_zone: first.zone,
    end_zone: last.zone,
    zone_guessed: first.zoneGuessed || last.zoneGuessed,
    ...built,
    duration: built.end_ts - built.start_ts,
    evidence: found.evidence,
    start_place: start,
    end_place: end,
  };
  return { trip, untracked };
}

/**
 * The untracked time after a place. It ends when the user is observed again (`unseen`). If trips from the place were
 * dropped, it ends at the arrival of the last dropped trip.
 */
function untrackedFrom(
  carry: Carry,
  place: Place,
  end_loc: Position,
  { unseen }: SegmentedTrip,
  gapFrom = Number.NEGATIVE_INFINITY,
): Untracked {
  const arrived = carry.raw_place!.enter_ts;
  const end_ts = unseen?.end_ts ?? arrived;
  const left = gapFrom < end_ts ? Math.max(arrived, gapFrom) : arrived;
  const start_ts = carry.away_since ?? left;
  return { start_ts, end_ts, start_loc: place.location, end_loc };
}

/** Makes a place that no trip leads to: the user's first place, or the place after untracked time. */
export function newPlace(
  userId: string,
  enterTs: number | null,
  zone: string | null,
  location: Position,
  source: string,
): Place {
  return {
    id: enterTs === null ? idOf(userId, 'place', 'first') : idOf(userId, 'place', 'after untracked', enterTs),
    location,
    raw_places: [],
    enter_ts: enterTs,
    enter_zone: zone,
    ending_trip: null,
    source,
  };
}
