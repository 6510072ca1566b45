// A point of a recorded track -> an entry, with the zone of where it lies.
import { locationEntry, type OtherFix, secondsFrom } from '../../formats/other-entry.ts';
import { zoneAt } from '../../geo/zone.ts';
import type { Entry, Origin } from '../../model/entry.ts';
import type { JsonObject } from '../../model/json.ts';
import type { Found } from '../format.ts';

/** A point as texts from the file. */
export interface TrackPoint {
  latitude: string | undefined;
  longitude: string | undefined;
  /** ISO 8601; without an offset it is UTC. */
  time: string | undefined;
  altitude?: string | undefined;
  accuracy?: string | undefined;
  speed?: string | undefined;
  bearing?: string | undefined;
}

/** The location, or the reason why there is none. `where`: the place in the file, for the message. */
export function pointFound(point: TrackPoint, origin: Origin, where: string, reported: JsonObject = {}): Found {
  const latitude = numberIn(point.latitude);
  const longitude = numberIn(point.longitude);
  if (latitude === undefined || longitude === undefined) {
    return { unread: `expected latitude and longitude as numbers at ${where}, found something else` };
  }
  const ts = timeIn(point.time);
  if (ts === null)
    return { unread: `expected a time at ${where}, found ${point.time === undefined ? 'none' : 'another text'}` };
  const fix = {
    ts,
    latitude,
    longitude,
    altitude: numberIn(point.altitude),
    accuracy: atLeast(0, numberIn(point.accuracy)),
    sensed_speed: atLeast(0, numberIn(point.speed)),
    bearing: atLeast(0, numberIn(point.bearing)),
  };
  return { of: null, entry: zoned(locationEntry(fix, origin, reported), fix) };
}

/** The entry with the zone at its coordinate: a file does not name one, and other entries may be from elsewhere. */
export function zoned(entry: Entry, { latitude, longitude }: Pick<OtherFix, 'latitude' | 'longitude'>): Entry {
  const time_zone = zoneAt({ latitude: Number(latitude), longitude: Number(longitude) });
  return { ...entry, metadata: { ...entry.metadata, time_zone } };
}

/** Seconds since the epoch; null for what is no time. */
export function timeIn(text: string | undefined): number | null {
  if (text === undefined) return null;
  return secondsFrom(/(?:z|[+-]\d\d:?\d\d)$/i.test(text) ? text : `${text}Z`);
}

function numberIn(text: string | undefined): number | undefined {
  if (text === undefined || text.trim() === '') return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

const atLeast = (min: number, value: number | undefined): number | undefined =>
  value !== undefined && value >= min ? value : undefined;
