// Stays between trips: whether the way from one was seen, and the places that the diary makes of them.
import { distance } from '../geo/distance.ts';
import { idOf } from '../model/ids.ts';
import type { Carry, Place, Position, Untracked } from '../model/trip.ts';
import { someWithin } from './in-time.ts';
import { isExit, isRestart, type Location, type Motion, type PhoneEvent, restartedBetween } from './observations.ts';
import type { Stay } from './segmenter.ts';

/** Thresholds of the original service, but `late`, `notice` and `awake` (by hand: what phones were seen to do). */
const limits = {
  /** m; nearer than this the user was not away unseen; by sampling */
  distance: { time: 2500, distance: 1200 },
  /** m/s; farther away, an average up to this means time that was not tracked (3 km/h) */
  speed: 3 / 3.6,
  /** m; so far from the stay a phone may be when it notices that the user has left it */
  late: 5000,
  /** s around the first location in which the phone says that it has just noticed */
  notice: 120,
  /** s before that in which an iPhone that is on sends motion readings, also readings of rest */
  awake: 1200,
};

/** `[longitude, latitude]` of a location. */
export const positionOf = (l: { latitude: number; longitude: number }): Position => [l.longitude, l.latitude];

/** The location of `[longitude, latitude]`. */
export const locationOf = ([longitude, latitude]: Position) => ({ latitude, longitude });

/** What the phone told around the first location of a trip, and whether the user moves there. */
interface Seen {
  events: readonly PhoneEvent[];
  motions: readonly Motion[];
  underWay: boolean;
}

/**
 * The way from a stay to the first location of a trip, if nobody saw it: too slow and far, or the phone was restarted.
 * A phone that says at the first location that the user has just left, or told of motion until then, was on: it only
 * noticed late, if the user is still under way.
 */
export function unseenFrom(stay: Stay, first: Location, { events, motions, underWay }: Seen): Untracked | null {
  const metres = distance(stay.location, first);
  const seconds = first.ts - stay.enter_ts;
  const [from, to] = [first.ts - limits.notice, first.ts + limits.notice];
  const isOn =
    someWithin(events, from, to, isExit) ||
    (first.sampling === 'distance' && someWithin(motions, from - limits.awake, from));
  const late = underWay && metres < limits.late && isOn;
  const seen = late || metres < limits.distance[first.sampling] || metres > seconds * limits.speed;
  const restarted = late
    ? someWithin(events, stay.enter_ts, first.ts, isRestart)
    : restartedBetween(events, stay.enter_ts, first.ts);
  if (seen && !restarted) return null;
  return {
    start_ts: stay.enter_ts,
    end_ts: first.ts,
    start_loc: positionOf(stay.location),
    end_loc: positionOf(first),
  };
}

/** A place without a previous trip: the user's first place, or the first after untracked time. */
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

/** The most raw places that a place lists, so that months at home with a noisy receiver do not make it grow. */
const mostRawPlaces = 100;

/** After a dropped trip the diary still has the user at the place where they were. */
export function mergedPlace(place: Place | null, rawPlace: { id: string }): Place | null {
  return place && { ...place, raw_places: [...place.raw_places, rawPlace.id].slice(-mostRawPlaces) };
}

/** Since when the user is away from the place, after a trip that is not kept; null: they are there. `near`: m. */
export function awaySince(
  place: Place,
  carry: Carry,
  first: Location,
  last: { latitude: number; longitude: number },
  near: number,
): number | null {
  const home = locationOf(place.location);
  if (distance(home, last) <= near) return null;
  const unseen = distance(home, first) > near;
  return carry.away_since ?? (unseen ? carry.raw_place!.enter_ts : first.ts);
}
