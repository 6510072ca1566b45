// Makes a case for `mobility evaluate` that can be given to other people: the entries of a day,
// moved to another place and another week, with only the fields that the analysis reads.
//
//   day     Tuesday 2024-05-14, 08:10    37.7793, -122.3940    line N from Embarcadero
//   case    Tuesday 2021-05-04, 08:10    -12.6041, 51.2278     line 3 from stop 4
import { createHash } from 'node:crypto';
import { eventFields, locationFields, motionFields, toPing, whyUnusable } from '../analysis/clean/observations.ts';
import { convert } from '../intake/converters/convert.ts';
import type { Entry } from '../model/entry.ts';
import { distance, type LatLon } from '../model/geo/distance.ts';
import type { JsonObject, JsonValue } from '../model/json.ts';
import { keys } from '../model/keys.ts';
import { usageError } from '../model/mobility-error.ts';
import { iosMotions } from '../model/payloads.ts';
import { sourceOf } from '../model/sources.ts';
import { addDays, type TimeRange, zoneNamed, zoneOffset } from '../model/time.ts';
import type { Trip } from '../model/trip.ts';
import { Aliases, type CarriedEvidence, withoutNames } from './carried-transit.ts';
import type { Truth } from './cases.ts';
import { PackedEntries } from './packed-entries.ts';

const motion = [...motionFields, 'confidence_level', ...Object.keys(iosMotions)];
// The altitude may identify a place, and no trip depends on it.
const location = locationFields.filter((name) => name !== 'altitude');

const keptFields: Record<string, readonly string[]> = {
  [keys.location]: location,
  [keys.filteredLocation]: location,
  [keys.motionActivity]: motion,
  [keys.activity]: motion,
  [keys.transition]: eventFields,
};

export const bundleKeys: readonly string[] = Object.keys(keptFields);

/** The values, other than numbers, that a case may contain. None is a text that a user wrote. */
const keptValues = new Set<JsonValue | undefined>(['time', 'distance', 'low', 'medium', 'high', true, false, null]);

export interface BundleSource {
  entries: Iterable<Entry>;
  day: string;
  range: TimeRange;
  trips: readonly Trip[];
  /** The evidence of transit feeds; null: there are no feeds. */
  transit: readonly CarriedEvidence[] | null;
  now: number; // seconds since the epoch; no moved time is later
  random: () => number; // at least 0 and below 1
  /** 0 to 1: how much the latitude and the direction of north may change. Default: 1. */
  reach?: number;
}

export type Bundle = ReturnType<typeof makeBundle>;

/**
 * Makes a case for `evaluate`, with the diary as truth. Lengths and durations stay; places, dates,
 * ids and names change. `moved` (s from the true to the new times) and `aliases` are secret. Throws
 * `MOBILITY_USAGE` if the day cannot be moved far enough.
 */
export function makeBundle({ entries, day, range, trips, transit, now, random, reach = 1 }: BundleSource) {
  const aliases = new Aliases();
  const kept = new PackedEntries();
  const hours = new Set([range.from, range.to].map(hourOf));
  const [zoneNames, sourceNames] = [new Set<string>(), new Set<string>()];
  for (const raw of entries) {
    const entry = reduceEntry(raw);
    if (entry === null) continue;
    kept.add(entry);
    hours.add(hourOf(entry.metadata.write_ts));
    sourceNames.add(sourceOf(entry));
    const zone = zoneNamed(entry);
    if (zone) zoneNames.add(zone);
  }
  const rotate = moveFarAway(kept, random, reach);
  const zones = [...new Set([...zoneNames, ...trips.map((t) => t.end_zone)])];
  const weeks = weeksBack([...hours], zones, now, random);
  const moved = -weeks * week;
  const sources = [...sourceNames].sort(); // the aliases keep this order: the analysis ranks sources by name
  const move = (entry: Entry): Entry => {
    const { key, write_ts, platform, origin } = entry.metadata;
    const ts = Number(entry.data.ts);
    const at = positionIn(entry.data);
    const nearest = (trips.findLast(({ start_ts }) => start_ts <= ts) ?? trips[0])?.start_zone;
    const time_zone = zoneNamed(entry) ?? nearest ?? 'UTC';
    const program = `app-${String(sources.indexOf(sourceOf(entry))).padStart(2, '0')}`;
    const metadata = { key, write_ts: write_ts + moved, platform: platform!.toLowerCase(), time_zone };
    return {
      metadata: { ...metadata, ...(origin !== undefined && { origin: { program } }) },
      data: { ...entry.data, ts: ts + moved, ...(at !== null && rotate(at)), ...pingOf(entry, moved) },
    };
  };
  const phone_to_server: Iterable<Entry> = {
    *[Symbol.iterator]() {
      for (const entry of kept) yield move(entry);
    },
  };
  const [first] = phone_to_server;
  const platform = first?.metadata.platform ?? 'other';
  const timesOf = ({ start_ts, end_ts }: Pick<Trip, 'start_ts' | 'end_ts'>) => {
    return { start_ts: start_ts + moved, end_ts: end_ts + moved };
  };
  const truth: Truth & { local_days: string[]; time_zone: string } = {
    platform,
    regime: 'debug bundle',
    timeline: 'debug bundle',
    local_days: [addDays(day, -7 * weeks)],
    time_zone: trips[0]?.start_zone ?? zones[0] ?? 'UTC',
    range: timesOf({ start_ts: range.from, end_ts: range.to }),
    ...(transit !== null && { transit: transit.map((one) => withoutNames(one, aliases, moved)) }),
    trips: trips.map((trip) => ({
      ...timesOf(trip),
      reference_distance_m: trip.distance,
      sections: trip.sections.map((section) => ({ mode: section.sensed_mode, ...timesOf(section) })),
    })),
  };
  return { put: { platform, phone_to_server }, truth, moved, aliases };
}

/** Returns an entry with only the fields that the analysis reads; null for an unusable entry. */
function reduceEntry(entry: Entry): Entry | null {
  const fields = keptFields[entry.metadata.key];
  if (fields === undefined) return null;
  try {
    const { metadata, data } = convert(entry);
    if (whyUnusable({ metadata, data }, sourceOf(entry)) === 'not_valid') return null;
    const kept = fields.filter((name) => typeof data[name] === 'number' || keptValues.has(data[name]));
    return { metadata, data: { ...Object.fromEntries(kept.map((name) => [name, data[name]!])), ...pingOf(entry, 0) } };
  } catch {
    return null;
  }
}

/** Returns the field that marks a ping of OwnTracks, with its time moved by `moved` s. */
function pingOf(entry: Entry, moved: number): JsonObject {
  const ping = toPing(entry);
  return ping === null ? {} : { reported: { t: 'p', created_at: ping.created + moved } };
}

function positionIn({ latitude, longitude }: JsonObject): LatLon | null {
  return typeof latitude === 'number' && typeof longitude === 'number' ? { latitude, longitude } : null;
}

const apart = 100_000; // m; the least distance between a moved location and every true location

/**
 * Makes a random rotation that moves all locations far away, but not near a pole. The returned
 * function also shifts each location by up to 0.1 m, because the rounding of the true coordinates
 * would reveal the rotation. Equal locations stay equal.
 */
function moveFarAway(entries: Iterable<Entry>, random: () => number, reach: number): (at: LatLon) => LatLon {
  let first: LatLon | null = null;
  let radius = 0;
  for (const { data } of entries) {
    const at = positionIn(data);
    first ??= at;
    if (at !== null) radius = Math.max(radius, distance(first!, at));
  }
  const from = first ?? { latitude: 0, longitude: 0 };
  for (let i = 0; i < 1000; i += 1) {
    const northDegrees = reach * ((Math.asin(2 * random() - 1) * 180) / Math.PI - from.latitude);
    const rotations = [
      rotation(from, reach * Math.PI * (2 * random() - 1)),
      rotation({ latitude: 0, longitude: from.longitude - 90 }, (northDegrees * Math.PI) / 180),
      rotation({ latitude: 90, longitude: 0 }, 2 * Math.PI * random()),
    ];
    const rotate = (at: LatLon): LatLon => rotations.reduce((rotated, one) => one(rotated), at);
    const to = rotate(from);
    const isNearPole = Math.abs(to.latitude) > Math.max(55, Math.abs(from.latitude));
    if (distance(from, to) < 2 * radius + apart || isNearPole) continue;
    const secret = `${random()} ${random()}`;
    return (at) => {
      const digest = createHash('sha256').update(`${secret} ${at.latitude} ${at.longitude}`).digest();
      const blurred = (degrees: number, place: number): number =>
        Number((degrees + (digest.readUInt32BE(place) / 2 ** 32 - 0.5) * 1e-6).toFixed(9));
      const { latitude, longitude } = rotate(at);
      return { latitude: blurred(latitude, 0), longitude: blurred(longitude, 4) };
    };
  }
  throw usageError(
    'expected a day in one region, found locations too far apart to move them elsewhere: choose another day',
  );
}

const week = 7 * 86_400;
const hourOf = (ts: number): number => Math.floor(ts / 3600) * 3600;
const fewest = 4; // weeks; a day is moved back by at least this time
const most = 520; // weeks; a day is moved back by less than this time
const earliest = 2 ** 30; // s since the epoch; doubles are equally precise from 2 ** 30 to 2 ** 31

/** Returns a random number of weeks to move back to a time when all zones had the same offsets. */
function weeksBack(hours: readonly number[], zones: readonly string[], now: number, random: () => number): number {
  const [first, last] = [Math.min(...hours), Math.max(...hours)];
  const isAlike = (back: number): boolean =>
    zones.every((zone) => hours.every((ts) => zoneOffset(zone, ts) === zoneOffset(zone, ts - back * week)));
  const possible = Array.from({ length: most - fewest }, (_, i) => fewest + i).filter(
    (back) => first - back * week > earliest && last - back * week < now && isAlike(back),
  );
  if (possible.length > 0) return possible[Math.floor(random() * possible.length)]!;
  throw usageError(
    'expected an earlier week with the same offsets of the time zone, to move the day there, found none: choose another day',
  );
}

export interface TripDifference {
  most_s: number; // s; the largest difference of a start or end
  metres: number;
  /** True if zones, modes and lines are equal, times within 1 s, distances within 0.5 % or 1 m. */
  isAlike: boolean;
}

export function compareTrips(
  diary: readonly Trip[],
  found: readonly Trip[],
  { moved, aliases }: Pick<Bundle, 'moved' | 'aliases'>,
): TripDifference[] {
  return Array.from({ length: Math.max(diary.length, found.length) }, (_, i) => {
    const [trip, other] = [diary[i], found[i]];
    if (trip === undefined || other === undefined) return { most_s: Infinity, metres: Infinity, isAlike: false };
    const others = [other, ...other.sections];
    const seconds = [trip, ...trip.sections].flatMap(({ start_ts, end_ts }, k) => [
      Math.abs((others[k]?.start_ts ?? 0) - moved - start_ts),
      Math.abs((others[k]?.end_ts ?? 0) - moved - end_ts),
    ]);
    const [most_s, metres] = [Math.max(...seconds), Math.abs(other.distance - trip.distance)];
    const [a, b] = [trip, other].map(({ sections, start_zone, end_zone }) =>
      [start_zone, end_zone, ...sections.map(({ sensed_mode }) => sensed_mode)].join(),
    );
    const lines = trip.sections.map(({ transit }) => aliases.ofLine(transit)).join();
    const isSameLine =
      lines === other.sections.map(({ transit: t }) => t && `${t.route_short_name} ${t.route_long_name}`).join();
    return {
      most_s,
      metres,
      isAlike: a === b && isSameLine && most_s <= 1 && metres <= Math.max(1, 0.005 * trip.distance),
    };
  });
}

const radians = Math.PI / 180;

/** Rotates by `angle` (rad) around the line through `axis` and the earth's centre (Rodrigues). */
function rotation(axis: LatLon, angle: number): (at: LatLon) => LatLon {
  const [kx, ky, kz] = vectorOf(axis);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return (at) => {
    const [x, y, z] = vectorOf(at);
    const along = (kx * x + ky * y + kz * z) * (1 - cos);
    const a = x * cos + (ky * z - kz * y) * sin + kx * along;
    const b = y * cos + (kz * x - kx * z) * sin + ky * along;
    const c = z * cos + (kx * y - ky * x) * sin + kz * along;
    return { latitude: Math.atan2(c, Math.hypot(a, b)) / radians, longitude: Math.atan2(b, a) / radians };
  };
}

function vectorOf({ latitude, longitude }: LatLon): [x: number, y: number, z: number] {
  const cosLat = Math.cos(latitude * radians);
  return [cosLat * Math.cos(longitude * radians), cosLat * Math.sin(longitude * radians), Math.sin(latitude * radians)];
}
