// Step "observe": converted entries -> the fixes, motions and transitions that the segmentation reads.
import type { Entry } from '../model/entry.ts';
import { maxTime } from '../model/time.ts';
import type { Location, Motion, PhoneEvent, Sampling } from './observations.ts';

/** Limits beyond which the analysis leaves out a location. */
export interface CleanLocationsOptions {
  /** m; locations less sure than this are left out */
  accuracyLimit: number;
  /** s; a location may lie this far ahead of the time it was written, beyond it the phone's clock was wrong */
  futureLimit: number;
  /** s; with time sampling, a location written this late is an old one that the phone remembered (server issue 457) */
  staleLimit: number;
}

/** The limits in use, all set by hand. */
const cleanLocationsDefaults: CleanLocationsOptions = {
  accuracyLimit: 200,
  futureLimit: 86_400,
  staleLimit: 1000,
};

/** The zone of an entry, and whether the entry itself named it. */
export type ZoneOf = (entry: Entry) => { zone: string; guessed: boolean };

/**
 * Locations ascending by `ts`, one per `ts`: of several the surest, then the one written first. Unusable ones are left
 * out. The outcome does not depend on the order of `entries`.
 */
export function cleanLocations(
  entries: readonly Entry[],
  zoneOf: ZoneOf,
  options = cleanLocationsDefaults,
): Location[] {
  const found: WrittenLocation[] = [];
  for (const entry of entries) {
    const { ts, latitude, longitude, altitude, accuracy, sensed_speed, filter } = entry.data;
    if (typeof ts !== 'number' || typeof latitude !== 'number' || typeof longitude !== 'number') continue;
    if (!isDatable(ts)) continue;
    const writeTs = entry.metadata.write_ts;
    const radius = typeof accuracy === 'number' ? accuracy : 0;
    const sampling = samplingOf(filter, entry.metadata.platform);
    if (radius >= options.accuracyLimit || ts > writeTs + options.futureLimit) continue;
    if (sampling === 'time' && writeTs - ts >= options.staleLimit) continue;
    const { zone, guessed } = zoneOf(entry);
    found.push({
      ts,
      latitude,
      longitude,
      altitude: typeof altitude === 'number' ? altitude : null,
      accuracy: radius,
      speed: typeof sensed_speed === 'number' ? sensed_speed : null,
      sampling,
      zone,
      zoneGuessed: guessed,
      writeTs,
    });
  }
  found.sort(compareLocations);
  return found.filter((location, i) => i === 0 || location.ts !== found[i - 1]!.ts);
}

interface WrittenLocation extends Location {
  writeTs: number;
}

const compareLocations = (a: WrittenLocation, b: WrittenLocation): number =>
  a.ts - b.ts ||
  a.accuracy - b.accuracy ||
  a.writeTs - b.writeTs ||
  a.latitude - b.latitude ||
  a.longitude - b.longitude;

/** Phones measure nothing before 1970; and at the end of the calendar local times in some zone would lie beyond it. */
const isDatable = (ts: number): boolean => ts > 0 && ts < maxTime - 7 * 86_400;

function samplingOf(filter: unknown, platform: string | undefined): Sampling {
  if (filter === 'time' || filter === 'distance') return filter;
  return platform?.toLowerCase() === 'android' ? 'time' : 'distance'; // other apps tell of movement too, and rest in silence
}

/** Motion readings ascending by `ts`, exact repeats once. */
export function cleanMotions(entries: readonly Entry[]): Motion[] {
  const motions: Motion[] = [];
  for (const { data } of entries) {
    if (typeof data.ts !== 'number' || typeof data.type !== 'number') continue;
    motions.push({
      ts: data.ts,
      type: data.type,
      confidence: typeof data.confidence === 'number' ? data.confidence : 0,
    });
  }
  motions.sort(compareMotions);
  return motions.filter((m, i) => {
    if (i === 0) return true;
    const before = motions[i - 1]!;
    return m.ts !== before.ts || m.type !== before.type || m.confidence !== before.confidence;
  });
}

const compareMotions = (a: Motion, b: Motion): number => a.ts - b.ts || a.type - b.type || a.confidence - b.confidence;

/** Transitions ascending by `ts`. */
export function cleanEvents(entries: readonly Entry[]): PhoneEvent[] {
  const events: PhoneEvent[] = [];
  for (const { data } of entries) {
    if (typeof data.ts !== 'number') continue;
    events.push({
      ts: data.ts,
      transition: typeof data.transition === 'number' ? data.transition : null,
      state: typeof data.curr_state === 'number' ? data.curr_state : null,
    });
  }
  return events.sort(compareEvents);
}

const compareEvents = (a: PhoneEvent, b: PhoneEvent): number =>
  a.ts - b.ts || (a.transition ?? -1) - (b.transition ?? -1) || (a.state ?? -1) - (b.state ?? -1);
