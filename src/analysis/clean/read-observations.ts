// Step "observe": converted entries -> the fixes, motions and transitions that the segmentation reads. Entries are read
// one by one, and nothing of them is kept; what is made of many is put in order.
import type { Entry } from '../../model/entry.ts';
import { isTimeZone, maxTime } from '../../model/time.ts';
import type { Location, Motion, PhoneEvent, Sampling } from './observations.ts';

/** Limits beyond which the analysis leaves out a location. */
const limits = {
  /** m; locations less sure than this are left out */
  accuracyLimit: 200,
  /** s; a location may lie this far ahead of the time it was written, beyond it the phone's clock was wrong */
  futureLimit: 86_400,
  /** s; with time sampling, a location written this late is an old one that the phone remembered (server issue 457) */
  staleLimit: 1000,
};

/** A usable location before its zone is known. */
export interface ObservedLocation extends Location {
  /** That of the entry; where it names none, empty, and `zoneGuessed` is true. */
  zone: string;
  /** See `sourceOf`. */
  source: string;
  /** `write_ts` of the entry. */
  writeTs: number;
}

/** The fields of the payload that `locationIn` reads. */
export const locationRead = ['ts', 'latitude', 'longitude', 'altitude', 'accuracy', 'sensed_speed', 'filter'] as const;

/** The location that an entry tells; null for an unusable one. */
export function locationIn({ metadata, data }: Entry, source: string): ObservedLocation | null {
  const { ts, latitude, longitude, altitude, accuracy, sensed_speed, filter } = data;
  if (typeof ts !== 'number' || typeof latitude !== 'number' || typeof longitude !== 'number') return null;
  if (!isDatable(ts)) return null;
  const { write_ts: writeTs, time_zone } = metadata;
  const radius = typeof accuracy === 'number' ? accuracy : 0;
  const sampling = samplingOf(filter, source);
  if (radius >= limits.accuracyLimit || ts > writeTs + limits.futureLimit) return null;
  if (sampling === 'time' && writeTs - ts >= limits.staleLimit) return null;
  const isNamed = isTimeZone(time_zone);
  return {
    ts,
    latitude,
    longitude,
    altitude: typeof altitude === 'number' ? altitude : null,
    accuracy: radius,
    speed: typeof sensed_speed === 'number' ? sensed_speed : null,
    sampling,
    zone: isNamed ? time_zone : '',
    zoneGuessed: !isNamed,
    source,
    writeTs,
  };
}

/**
 * Locations ascending by `ts`, one per `ts`: of several the surest, then the one written first. `zoneOf` guesses the
 * zone of a location that was written without one. The outcome does not depend on the order of `found`.
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

/** True where each comes later than the one before it, as nearly always. */
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

/** Phones measure nothing before 1970; and at the end of the calendar local times in some zone would lie beyond it. */
const isDatable = (ts: number): boolean => ts > 0 && ts < maxTime - 7 * 86_400;

function samplingOf(filter: unknown, source: string): Sampling {
  if (filter === 'time' || filter === 'distance') return filter;
  return source === 'android' ? 'time' : 'distance'; // other apps tell of movement too, and rest in silence
}

/** The fields of the payload that `motionIn` reads. */
export const motionRead = ['ts', 'type', 'confidence'] as const;

/** The motion reading that an entry tells; null for an unusable one. */
export function motionIn({ data: { ts, type, confidence } }: Entry): Motion | null {
  if (typeof ts !== 'number' || typeof type !== 'number') return null;
  return { ts, type, confidence: typeof confidence === 'number' ? confidence : 0 };
}

/** Motion readings ascending by `ts`, exact repeats once. */
export function cleanMotions(found: readonly Motion[]): Motion[] {
  if (areInOrder(found)) return [...found];
  const sorted = found.toSorted(compareMotions);
  return sorted.filter((motion, i) => i === 0 || compareMotions(sorted[i - 1]!, motion) !== 0);
}

const compareMotions = (a: Motion, b: Motion): number => a.ts - b.ts || a.type - b.type || a.confidence - b.confidence;

/** The fields of the payload that `eventIn` reads. */
export const eventRead = ['ts', 'transition', 'curr_state'] as const;

/** The transition that an entry tells; null for one without a time. */
export function eventIn({ data: { ts, transition, curr_state } }: Entry): PhoneEvent | null {
  if (typeof ts !== 'number') return null;
  return {
    ts,
    transition: typeof transition === 'number' ? transition : null,
    state: typeof curr_state === 'number' ? curr_state : null,
  };
}

/** Transitions ascending by `ts`. */
export function cleanEvents(found: readonly PhoneEvent[]): PhoneEvent[] {
  return areInOrder(found) ? [...found] : found.toSorted(compareEvents);
}

const compareEvents = (a: PhoneEvent, b: PhoneEvent): number =>
  a.ts - b.ts || (a.transition ?? -1) - (b.transition ?? -1) || (a.state ?? -1) - (b.state ?? -1);
