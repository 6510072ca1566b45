// Stays between trips: whether the way from one was seen, and the places that the diary makes of them.
import { distance } from '../../model/geo/distance.ts';
import { idOf } from '../../model/ids.ts';
import type { Place, Position, Untracked } from '../../model/trip.ts';
import { isExit, isRestart, type Location, type Observations, restartedBetween } from '../clean/observations.ts';
import type { Stay } from '../segmenter.ts';
import { someWithin } from '../sorted-times.ts';

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

/**
 * The way from a stay to the first location of a trip, if nobody saw it: too slow and far, or the phone was restarted.
 * A phone that says at the first location that the user has just left, or told of motion until then, was on: it only
 * noticed late, if the user is still under way there.
 */
export function unseenFrom(
  stay: Stay,
  first: Location,
  { events, motions, underWay }: Pick<Observations, 'events' | 'motions'> & { underWay: boolean },
): Untracked | null {
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
