// Reads Google's location history: exports of phones since 2024 (segments, and raw signals from Android), and of
// Takeout before: `Records.json`, the monthly files `Semantic Location History`, and `Timeline Edits`.
import { locationEntry, motionEntry, numberFrom, type OtherLocation } from '../intake/apps/other-entry.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { type MotionType, motionTypes } from '../model/payloads.ts';
import type { FileFormat, Found, SourceReadOptions } from './import-format.ts';
import { isJsonList, jsonRecords } from './read/json-records.ts';
import { readsHead } from './recognise.ts';
import type { SourceFile } from './source.ts';
import { instantIn, zoned } from './tracks/fields.ts';

export const google: FileFormat = {
  name: 'google',
  recognises: (file, reading) => {
    const text = file.head.toString('utf8');
    // A list has no name to recognise it by, and calendars also have lists of objects with a startTime.
    if (isJsonList(file)) return /"startTime"\s*:/.test(text) && readsHead(readGoogle, file, reading);
    const [, list = ''] = new RegExp(`"(${Object.keys(readers).join('|')})"\\s*:\\s*\\[`).exec(text) ?? [];
    return /^\ufeff?\s*\{/.test(text) && list !== '' && (list !== 'locations' || text.includes('"latitudeE7"'));
  },
  read: readGoogle,
};

const origin = { program: 'google-timeline' };

/** The lists in the files, with the function that reads an element of each. */
const readers: Record<string, (value: JsonObject, where: string) => Generator<Found>> = {
  semanticSegments: segmentFound,
  rawSignals: signalFound,
  timelineObjects: monthFound,
  timelineEdits: (value, where) => signalFound(within(within(value, 'rawSignal'), 'signal'), where),
  locations: recordFound,
};

async function* readGoogle(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const record of jsonRecords(file, onBytes)) {
    const reader = 'unread' in record || record.of === null ? segmentFound : readers[record.of];
    if (reader === undefined) continue; // such as lists that Google derived from the others
    if ('unread' in record) yield record;
    else if (isJsonObject(record.value)) yield* reader(record.value, record.where);
    else yield { unread: `expected a JSON object at ${record.where}, found something else` };
  }
}

const within = (value: JsonObject, name: string): JsonObject => {
  const inner = value[name];
  return isJsonObject(inner) ? inner : {};
};

/** Reads a visit or movement of a monthly file. Times are texts or numbers. A movement may lack its start or end. */
function* monthFound(value: JsonObject, where: string): Generator<Found> {
  const [visit, movement] = [within(value, 'placeVisit'), within(value, 'activitySegment')];
  const isVisit = value.placeVisit !== undefined;
  const part = isVisit ? visit : movement;
  const { startTimestamp, startTimestampMs, endTimestamp, endTimestampMs } = within(part, 'duration');
  const start = timeOf(startTimestamp ?? startTimestampMs);
  const end = timeOf(endTimestamp ?? endTimestampMs);
  const path = within(part, 'simplifiedRawPath').points;
  for (const point of Array.isArray(path) ? path : []) {
    const { timestamp, timestampMs, accuracyMeters } = isJsonObject(point) ? point : {};
    const more = { accuracy: numberFrom(accuracyMeters, 0) };
    yield locate(point, timeOf(timestamp ?? timestampMs), where, more);
  }
  const { waypoints } = within(movement, 'waypointPath');
  const [first, last] = Array.isArray(waypoints) ? [waypoints[0], waypoints.at(-1)] : [];
  const candidates = Array.isArray(visit.otherCandidateLocations) ? visit.otherCandidateLocations : [];
  const places = [visit.location, visit, ...candidates].filter((place) => spotOf(place) !== null);
  const from = isVisit ? places[0] : spotOf(movement.startLocation) ? movement.startLocation : first;
  const to = isVisit ? places[0] : spotOf(movement.endLocation) ? movement.endLocation : last;
  yield locate(from, start, where);
  if (to !== undefined && end !== null) yield locate(to, end, where);
  const type = isVisit ? motionTypes.STILL : motionOf(movement.activityType);
  if (type !== null && type !== motionTypes.UNKNOWN && start !== null)
    yield { of: null, entry: motionEntry(start, type, origin) };
}

/** Reads a location of any phone of the user, with its motion readings. Until 2022, times are texts of milliseconds. */
function* recordFound(record: JsonObject, where: string): Generator<Found> {
  yield locate(record, timeOf(record.timestamp ?? record.timestampMs), where, {
    altitude: numberFrom(record.altitude),
    accuracy: numberFrom(record.accuracy, 0),
    vaccuracy: numberFrom(record.verticalAccuracy, 0),
    sensed_speed: numberFrom(record.velocity, 0),
    bearing: numberFrom(record.heading, 0),
  });
  for (const reading of Array.isArray(record.activity) ? record.activity : []) {
    const { timestamp, timestampMs, activity } = isJsonObject(reading) ? reading : {};
    const at = timeOf(timestamp ?? timestampMs);
    const found = surest(activity);
    if (at !== null && found !== null) yield { of: null, entry: motionEntry(at, found.type, origin, found.percent) };
  }
}

function* segmentFound(segment: JsonObject, where: string): Generator<Found> {
  const start = timeOf(segment.startTime);
  const end = timeOf(segment.endTime);
  const { visit, activity, timelinePath } = segment;
  if (start === null || end === null) {
    yield { unread: `expected startTime and endTime of a segment at ${where}, found something else` };
  } else if (Array.isArray(timelinePath)) {
    for (const point of timelinePath) yield pathPoint(isJsonObject(point) ? point : {}, start, where);
  } else if (isJsonObject(visit)) {
    yield* visitFound(visit, start, end, where);
  } else if (isJsonObject(activity)) {
    yield* activityFound(activity, start, end, where);
  } else {
    yield { left: 'a segment that is neither a visit, nor a movement, nor a path' };
  }
}

/** A point of a path. Android gives its time, iPhones the minutes since the start of the segment. */
function pathPoint(
  { point, time, durationMinutesOffsetFromStartTime: minutes }: JsonObject,
  start: number,
  where: string,
): Found {
  const ts = time === undefined ? start + 60 * Number(minutes) : timeOf(time);
  return locate(point, ts, where);
}

/** A visit: locations at the place at its start and end, without movement. A visit within a visit is skipped. */
function* visitFound(
  { hierarchyLevel, topCandidate }: JsonObject,
  start: number,
  end: number,
  where: string,
): Generator<Found> {
  const level = Number(hierarchyLevel ?? 0);
  const place = isJsonObject(topCandidate) ? topCandidate.placeLocation : undefined;
  if (level > 0) {
    yield { left: 'a visit within a visit' };
    return;
  }
  yield locate(place, start, where);
  yield locate(place, end, where);
  yield { of: null, entry: motionEntry(start, motionTypes.STILL, origin) };
}

function* activityFound(
  { start: from, end: to, topCandidate }: JsonObject,
  start: number,
  end: number,
  where: string,
): Generator<Found> {
  yield locate(from, start, where);
  yield locate(to, end, where);
  const { type: word, probability } = isJsonObject(topCandidate) ? topCandidate : {};
  const type = motionOf(word);
  if (type === null || type === motionTypes.UNKNOWN) return;
  const share = Number(probability);
  const confidence = share >= 0 && share <= 1 ? Math.round(share * 100) : undefined;
  yield { of: null, entry: motionEntry(start, type, origin, confidence) };
}

function* signalFound({ position, activityRecord }: JsonObject, where: string): Generator<Found> {
  if (isJsonObject(position)) {
    const { LatLng, point, timestamp, accuracyMeters, accuracyMm, altitudeMeters, speedMetersPerSecond } = position;
    yield locate(LatLng ?? point, timeOf(timestamp), where, {
      accuracy: numberFrom(accuracyMeters, 0) ?? (Number(accuracyMm) >= 0 ? Number(accuracyMm) / 1000 : undefined),
      altitude: numberFrom(altitudeMeters),
      sensed_speed: numberFrom(speedMetersPerSecond, 0),
    });
  } else if (isJsonObject(activityRecord)) {
    const { probableActivities, detectedActivities, timestamp } = activityRecord;
    const found = surest(probableActivities ?? detectedActivities);
    const ts = timeOf(timestamp);
    if (found === null || ts === null) yield { left: 'an activity that is not known' };
    else yield { of: null, entry: motionEntry(ts, found.type, origin, found.percent) };
  } else {
    yield { left: 'a signal without a place, such as a scan for networks' };
  }
}

/**
 * The most probable of several activities, the first of equal ones. `confidence` may be a fraction or percent. null:
 * none is known.
 */
function surest(activities: JsonValue | undefined): { type: MotionType; percent: number } | null {
  let best: ReturnType<typeof surest> = null;
  for (const one of Array.isArray(activities) ? activities : []) {
    if (!isJsonObject(one)) continue;
    const type = motionOf(one.type ?? one.activityType);
    const confidence = Number(one.confidence ?? one.probability ?? 0);
    const percent = Math.round(confidence <= 1 && !Number.isInteger(confidence) ? confidence * 100 : confidence);
    if (type === null || !(percent >= 0 && percent <= 100)) continue;
    if (best === null || percent > best.percent) best = { type, percent };
  }
  return best;
}

function locate(
  place: JsonValue | undefined,
  ts: number | null,
  where: string,
  more: Partial<OtherLocation> = {},
): Found {
  const spot = spotOf(place);
  if (spot === null)
    return {
      unread: `expected a place such as "12.3°, 45.6°" or latitudeE7 and longitudeE7 at ${where}, found something else`,
    };
  if (ts === null || !Number.isFinite(ts))
    return { unread: `expected a time with its offset at ${where}, found something else` };
  const fix = { ts, ...spot, ...more };
  return { of: null, entry: zoned(locationEntry(fix, origin), fix) };
}

const timeOf = (value: JsonValue | undefined): number | null => instantIn(value, 'UTC');

const motions: Readonly<Record<string, MotionType>> = {
  CYCLING: motionTypes.BICYCLING,
  EXITING_VEHICLE: motionTypes.UNKNOWN,
  FLYING: motionTypes.AIR_OR_HSR,
  MOTORCYCLING: motionTypes.IN_VEHICLE,
  ON_BICYCLE: motionTypes.BICYCLING,
  ON_FOOT: motionTypes.ON_FOOT,
  RUNNING: motionTypes.RUNNING,
  STILL: motionTypes.STILL,
  TILTING: motionTypes.TILTING,
  UNKNOWN: motionTypes.UNKNOWN,
  WALKING: motionTypes.WALKING,
};

/** The code of an activity; null: unknown. Buses, trains and ferries are vehicles here, as on phones. */
function motionOf(word: unknown): MotionType | null {
  if (typeof word !== 'string') return null;
  const name = word.trim().toUpperCase().replaceAll(' ', '_');
  if (Object.hasOwn(motions, name)) return motions[name]!;
  return name.startsWith('IN_') ? motionTypes.IN_VEHICLE : null;
}

/** Some exports have numbers that overflowed 32 bits, recognisable because coordinates are at most 180 degrees. */
function degreesFrom(value: JsonValue | undefined): number | undefined {
  const number = numberFrom(value);
  if (number === undefined) return undefined;
  return (number > 1_800_000_000 ? number - 2 ** 32 : number) / 1e7;
}

/** Reads `"12.3°, 45.6°"`, `"geo:12.3,45.6"`, an object with such a text as `latLng`, or with degrees times 10^7. */
function spotOf(place: JsonValue | undefined): { latitude: number; longitude: number } | null {
  const {
    latE7,
    latitudeE7 = latE7,
    centerLatE7,
    lngE7,
    longitudeE7 = lngE7,
    centerLngE7,
  } = isJsonObject(place) ? place : {};
  const [north, east] = [degreesFrom(latitudeE7 ?? centerLatE7), degreesFrom(longitudeE7 ?? centerLngE7)];
  if (north !== undefined && east !== undefined) return { latitude: north, longitude: east };
  const text = isJsonObject(place) ? (place.latLng ?? place.LatLng) : place;
  if (typeof text !== 'string') return null;
  const match = /^(?:geo:)?\s*(-?[\d.]+)°?\s*,\s*(-?[\d.]+)°?/.exec(text);
  if (match === null) return null;
  const [latitude, longitude] = [Number(match[1]), Number(match[2])];
  return Number.isFinite(latitude) && Number.isFinite(longitude) ? { latitude, longitude } : null;
}
