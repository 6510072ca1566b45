// Makes usable locations, motion readings and events from converted entries, in order and without repeats.
import type { Entry } from '../../model/entry.ts';
import { isNowhere, type LatLon } from '../../model/geo/distance.ts';
import { motionTypes, states, transitions } from '../../model/payloads.ts';
import { isTimeZone, maxTime } from '../../model/time.ts';
import { isMoving, readingState } from '../motion-states.ts';
import { firstAtOrAfter, firstLater, someWithin } from '../sorted-times.ts';

/** How the phone samples: about every 30 s (`time`, Android), or after a fixed distance (`distance`, iOS). */
export type Sampling = 'time' | 'distance';

export interface Location extends LatLon {
  ts: number; // s since the epoch
  altitude: number | null; // m above sea level; null: the phone sent none
  accuracy: number; // m, radius at 68 %
  /** m/s as sensed by the phone. Unknown is 0 on Android, -1 on iOS; null: the phone sent none. */
  speed: number | null;
  sampling: Sampling;
  zone: string;
  zoneGuessed: boolean;
}

export interface Motion {
  ts: number;
  type: number; // code of `motionTypes`
  confidence: number; // 0 to 100
}

export interface PhoneEvent {
  ts: number;
  transition: number | null; // code of `transitions`
  state: number | null; // code of `states`
}

/** The usable observations of a user, each list ascending by `ts`. */
export interface Observations {
  locations: readonly Location[];
  motions: readonly Motion[];
  events: readonly PhoneEvent[];
}

const restarts = new Set<number | null>([transitions.BOOTED, transitions.STOP_TRACKING]);

/**
 * True if recording was interrupted between two times, by the events that e-mission uses: the phone restarted, its
 * tracking was switched off, or a visit ended while the phone waited for a trip.
 */
export function restartedBetween(events: readonly PhoneEvent[], from: number, to: number): boolean {
  return someWithin(events, from, to, isInterruption);
}

const isInterruption = ({ transition, state }: PhoneEvent): boolean =>
  restarts.has(transition) || (transition === transitions.VISIT_ENDED && state === states.WAITING_FOR_TRIP_START);

/** True if the phone restarted or its tracking was switched off. The end of a visit does not count. */
export const isRestart = ({ transition }: PhoneEvent): boolean => restarts.has(transition);

const exits = new Set<number | null>([transitions.EXITED_GEOFENCE, transitions.VISIT_ENDED]);

const readingGap = 420; // s; the longest gap between readings of one movement: trains stop this long at stations

const sureReading = 75; // 0 to 100; the lowest confidence of a reading that shows movement

/** Start of the continuous movement that readings show up to `to`; `to` itself if they show none. */
export function movingSince(motions: readonly Motion[], to: number): number {
  let since = to;
  for (let i = firstAtOrAfter(motions, to) - 1; i >= 0 && since - motions[i]!.ts <= readingGap; i -= 1)
    if (motions[i]!.confidence >= sureReading && isMoving(readingState(motions[i]!.type))) since = motions[i]!.ts;
  return since;
}

export const movesThrough = (motions: readonly Motion[], from: number, to: number): boolean =>
  movingSince(motions, to) - from <= readingGap;

export const isExit = ({ transition }: PhoneEvent): boolean => exits.has(transition);

const ends = new Set<number | null>([transitions.STOPPED_MOVING, transitions.END_TRIP_TRACKING]);

/** True if the phone noticed rest, or if the recording of an imported trip ends. */
export const isEnd = ({ transition }: PhoneEvent): boolean => ends.has(transition);

export const inexactFrom = 200; // m; locations of this accuracy or worse are not used

const limits = {
  futureLimit: 86_400, // s; if `ts` is this much later than `write_ts`, the clock was wrong
  staleLimit: 1000, // s; if `write_ts` is this much later than `ts`, the location is old (e-mission-server issue 457)
};

export interface ObservedLocation extends Location {
  zone: string; // the zone of the entry; empty, and `zoneGuessed` is true, if the entry has none
  source: string; // see `sourceOf`
  writeTs: number; // `write_ts` of the entry
}

export const locationFields = [
  'ts',
  'latitude',
  'longitude',
  'altitude',
  'accuracy',
  'sensed_speed',
  'filter',
] as const;

/** The reasons why a location is not usable, each code with its meaning. */
export const refusals = {
  no_position: 'no time or no coordinates',
  impossible_time: 'a time before 1970, or more than a day after the phone wrote the entry',
  nowhere: 'latitude and longitude are 0: a receiver without a position',
  not_valid: 'the receiver marked the location as invalid',
  inexact: 'the accuracy is 200 m or worse',
  remembered: 'an old location that the phone sent again',
} as const;

export function whyUnusable({ metadata, data }: Entry, source: string): keyof typeof refusals | null {
  const { ts, latitude, longitude, accuracy, filter } = data;
  if (typeof ts !== 'number' || typeof latitude !== 'number' || typeof longitude !== 'number') return 'no_position';
  if (!isDatable(ts) || ts > metadata.write_ts + limits.futureLimit) return 'impossible_time';
  if (isNowhere({ latitude, longitude })) return 'nowhere';
  if (isInvalid(data.reported)) return 'not_valid';
  if (typeof accuracy === 'number' && accuracy >= inexactFrom) return 'inexact';
  const isOld = samplingOf(filter, source) === 'time' && metadata.write_ts - ts >= limits.staleLimit;
  return isOld ? 'remembered' : null;
}

export function toLocation(entry: Entry, source: string): ObservedLocation | null {
  if (whyUnusable(entry, source) !== null) return null;
  const { metadata, data } = entry;
  const { altitude, accuracy, sensed_speed, filter } = data;
  const { ts, latitude, longitude } = data as Record<'ts' | 'latitude' | 'longitude', number>;
  const { write_ts: writeTs, time_zone } = metadata;
  const isNamed = isTimeZone(time_zone);
  return {
    ts,
    latitude,
    longitude,
    altitude: typeof altitude === 'number' ? altitude : null,
    accuracy: typeof accuracy === 'number' ? accuracy : 0,
    speed: typeof sensed_speed === 'number' ? sensed_speed : null,
    sampling: samplingOf(filter, source),
    zone: isNamed ? time_zone : '',
    zoneGuessed: !isNamed,
    source,
    writeTs,
  };
}

/** True for `valid=false` in OsmAnd's protocol: the receiver does not trust the position. */
const isInvalid = (reported: unknown): boolean =>
  typeof reported === 'object' && String((reported as { valid?: unknown } | null)?.valid) === 'false';

/**
 * Sorts locations by `ts` and keeps the most accurate location of each `ts`; of equally accurate locations, the first
 * written. `zoneOf` guesses missing zones. The result does not depend on the order of `found`.
 */
export function cleanLocations(
  found: readonly ObservedLocation[],
  zoneOf: (location: ObservedLocation) => string,
): Location[] {
  if (areInOrder(found) && !found.some(({ zoneGuessed }) => zoneGuessed)) return [...found];
  const clean: Location[] = [];
  for (const location of found.toSorted(compareLocations)) {
    if (location.ts === clean.at(-1)?.ts) continue;
    clean.push(location.zoneGuessed ? { ...location, zone: zoneOf(location) } : location);
  }
  return clean;
}

function areInOrder(found: readonly { ts: number }[]): boolean {
  for (let i = 1; i < found.length; i += 1) if (!(found[i - 1]!.ts < found[i]!.ts)) return false;
  return true;
}

const compareLocations = (a: ObservedLocation, b: ObservedLocation): number =>
  a.ts - b.ts ||
  a.accuracy - b.accuracy ||
  a.writeTs - b.writeTs ||
  a.latitude - b.latitude ||
  a.longitude - b.longitude;

/** False before 1970, and in the last week before `maxTime`, where a local time could be later than `maxTime`. */
const isDatable = (ts: number): boolean => ts > 0 && ts < maxTime - 7 * 86_400;

function samplingOf(filter: unknown, source: string): Sampling {
  if (filter === 'time' || filter === 'distance') return filter;
  return source === 'android' ? 'time' : 'distance'; // other apps send only while the user moves
}

export const motionFields = ['ts', 'type', 'confidence'] as const;

export function toMotion({ data: { ts, type, confidence } }: Entry): Motion | null {
  if (typeof ts !== 'number' || typeof type !== 'number') return null;
  return { ts, type, confidence: typeof confidence === 'number' ? confidence : 0 };
}

/** A ping of OwnTracks repeats the last location. */
export interface Ping {
  ts: number; // time of the repeated location
  created: number; // time when the phone sent the ping
}

/** s; the longest time for which a phone repeats a location (by hand) */
const longestRepeat = 7 * 86_400;

/** Reads the ping in the entry of a location; null: the entry is not a ping, or it has a speed. */
export function toPing({ data: { ts, reported, sensed_speed } }: Entry): Ping | null {
  if (typeof reported !== 'object' || reported === null || typeof ts !== 'number' || sensed_speed) return null;
  const { t, created_at = ts } = reported as { t?: unknown; created_at?: unknown };
  const created = Number(created_at);
  return t === 'p' && created >= ts && created - ts <= longestRepeat ? { ts, created } : null;
}

/**
 * Returns a motion reading "still" for each ping, with the time when the phone sent the ping. Leaves out a ping if the
 * phone recorded a later location before it, or if a motion reading has the time of the location that the ping repeats.
 */
export function restOfPings(
  pings: readonly Ping[],
  { locations, motions, loadedUntil }: Pick<Observations, 'locations' | 'motions'> & { loadedUntil: number },
): Motion[] {
  const counts = ({ ts, created }: Ping): boolean =>
    created < loadedUntil &&
    (locations[firstLater(locations, ts)]?.ts ?? loadedUntil) > created &&
    motions[firstAtOrAfter(motions, ts)]?.ts !== ts;
  return pings.filter(counts).map(({ created }) => ({ ts: created, type: motionTypes.STILL, confidence: 100 }));
}

/** Sorts motion readings by `ts` and removes exact repeats. */
export function cleanMotions(found: readonly Motion[]): Motion[] {
  if (areInOrder(found)) return [...found];
  const sorted = found.toSorted(compareMotions);
  return sorted.filter((motion, i) => i === 0 || compareMotions(sorted[i - 1]!, motion) !== 0);
}

const compareMotions = (a: Motion, b: Motion): number => a.ts - b.ts || a.type - b.type || a.confidence - b.confidence;

export const eventFields = ['ts', 'transition', 'curr_state'] as const;

/** The event of an entry; null if it has no time. */
export function toEvent({ data: { ts, transition, curr_state } }: Entry): PhoneEvent | null {
  if (typeof ts !== 'number') return null;
  return {
    ts,
    transition: typeof transition === 'number' ? transition : null,
    state: typeof curr_state === 'number' ? curr_state : null,
  };
}

/** Sorts events by `ts`. */
export function cleanEvents(found: readonly PhoneEvent[]): PhoneEvent[] {
  return areInOrder(found) ? [...found] : found.toSorted(compareEvents);
}

const compareEvents = (a: PhoneEvent, b: PhoneEvent): number =>
  a.ts - b.ts || (a.transition ?? -1) - (b.transition ?? -1) || (a.state ?? -1) - (b.state ?? -1);

/** s; a location is excluded if a source of higher rank has a location at most this long before or after it */
export const sourceReach = 300;

export type BySource = ReadonlyMap<string, readonly Location[]>;

/**
 * Chooses among several phones and apps of one person, ranked by name: a location of a lower ranking source is used
 * only if no higher ranking source has a location within `sourceReach`.
 *
 *   phone   o o o o o              o o o
 *   watch     x x x x x x  w w  x x x x x x      x: excluded by a near location of the phone
 *   chosen  o o o o o      w w     o o o
 */
export function chooseLocations(found: BySource): Location[] {
  const sources = [...found.keys()].sort(); // sorted, so that the result does not depend on the order of arrival
  let before: Location[] = []; // locations of all higher ranking sources, used or not
  const chosen: Location[] = [];
  for (const source of sources) {
    const own = found.get(source)!;
    for (const location of own) {
      if (!someWithin(before, location.ts - sourceReach, location.ts + sourceReach)) chosen.push(location);
    }
    before = [...before, ...own].sort((a, b) => a.ts - b.ts);
  }
  return chosen.sort((a, b) => a.ts - b.ts);
}
