// Reads Google's location history: exports of phones since 2024, and earlier exports of Takeout.
import { numberFrom } from '../intake/apps/message-fields.ts';
import { locationEntry, motionEntry, type OtherLocation } from '../intake/apps/other-entry.ts';
import { asObject, isJsonObject, type JsonObject, type JsonValue } from '../model/json.ts';
import { type MotionType, motionTypes } from '../model/payloads.ts';
import { type FileFormat, type Found, readsHead, type SourceReadOptions } from './import-format.ts';
import { isJsonList, jsonRecords } from './read/json-records.ts';
import type { SourceFile } from './source.ts';
import { instantIn, withZoneAt } from './tracks/fields.ts';

export const google: FileFormat = {
  name: 'google',
  recognises: (file, reading) => {
    const text = file.head.toString('utf8');
    // Calendars also have lists of objects with a startTime, so the reader must find an entry.
    if (isJsonList(file)) return /"startTime"\s*:/.test(text) && readsHead(readGoogle, file, reading);
    const [, list = ''] = new RegExp(`"(${Object.keys(readers).join('|')})"\\s*:\\s*\\[`).exec(text) ?? [];
    return /^\ufeff?\s*\{/.test(text) && list !== '' && (list !== 'locations' || text.includes('"latitudeE7"'));
  },
  read: readGoogle,
};

const origin = { program: 'google-timeline' };

const readers: Record<string, (value: JsonObject, where: string) => Generator<Found>> = {
  semanticSegments: segmentFound,
  rawSignals: signalFound,
  timelineObjects: monthFound,
  timelineEdits: (value, where) => signalFound(asObject(asObject(value.rawSignal).signal), where),
  locations: recordFound,
};

async function* readGoogle(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const record of jsonRecords(file, onBytes)) {
    const reader = 'unread' in record || record.member === null ? segmentFound : readers[record.member];
    if (reader === undefined) continue; // not read, such as lists that Google derived from other lists
    if ('unread' in record) yield record;
    else if (isJsonObject(record.value)) yield* reader(record.value, record.where);
    else yield { unread: `expected a JSON object at ${record.where}, found another JSON value` };
  }
}

const listOf = (value: JsonValue | undefined): JsonValue[] => (Array.isArray(value) ? value : []);
const motionFound = (ts: number, type: MotionType, percent?: number): Found => ({
  owner: null,
  entry: motionEntry(ts, type, origin, percent),
});

/** Times in monthly files are texts or numbers. A movement may lack its start or end. */
function* monthFound(value: JsonObject, where: string): Generator<Found> {
  const [visit, movement] = [asObject(value.placeVisit), asObject(value.activitySegment)];
  const isVisit = value.placeVisit !== undefined;
  const { duration, simplifiedRawPath } = isVisit ? visit : movement;
  const { startTimestamp, startTimestampMs, endTimestamp, endTimestampMs } = asObject(duration);
  const start = timeOf(startTimestamp ?? startTimestampMs);
  const end = timeOf(endTimestamp ?? endTimestampMs);
  for (const point of listOf(asObject(simplifiedRawPath).points)) {
    const { timestamp, timestampMs, accuracyMeters } = asObject(point);
    yield locate(point, timeOf(timestamp ?? timestampMs), where, { accuracy: numberFrom(accuracyMeters, 0) });
  }
  const waypoints = listOf(asObject(movement.waypointPath).waypoints);
  const candidates = [visit.location, visit, ...listOf(visit.otherCandidateLocations)];
  const place = candidates.find((one) => positionOf(one) !== null);
  const from = isVisit ? place : positionOf(movement.startLocation) ? movement.startLocation : waypoints[0];
  const to = isVisit ? place : positionOf(movement.endLocation) ? movement.endLocation : waypoints.at(-1);
  yield locate(from, start, where);
  if (to !== undefined && end !== null) yield locate(to, end, where);
  const type = isVisit ? motionTypes.STILL : motionOf(movement.activityType);
  if (type !== null && type !== motionTypes.UNKNOWN && start !== null) yield motionFound(start, type);
}

/** Until 2022, times in `Records.json` were milliseconds since the epoch, as texts. */
function* recordFound(record: JsonObject, where: string): Generator<Found> {
  yield locate(record, timeOf(record.timestamp ?? record.timestampMs), where, {
    altitude: numberFrom(record.altitude),
    accuracy: numberFrom(record.accuracy, 0),
    vaccuracy: numberFrom(record.verticalAccuracy, 0),
    sensed_speed: numberFrom(record.velocity, 0),
    bearing: numberFrom(record.heading, 0),
  });
  for (const reading of listOf(record.activity)) {
    const { timestamp, timestampMs, activity } = asObject(reading);
    const at = timeOf(timestamp ?? timestampMs);
    const found = mostProbable(activity);
    if (at !== null && found !== null) yield motionFound(at, found.type, found.percent);
  }
}

function* segmentFound(segment: JsonObject, where: string): Generator<Found> {
  const start = timeOf(segment.startTime);
  const end = timeOf(segment.endTime);
  const { visit, activity, timelinePath } = segment;
  if (start === null || end === null) {
    yield { unread: `expected startTime and endTime of a segment at ${where}, found a missing or unreadable time` };
  } else if (Array.isArray(timelinePath)) {
    for (const one of timelinePath) {
      // An Android phone exports a time, an iPhone the minutes since the start of the segment.
      const { point, time, durationMinutesOffsetFromStartTime: minutes } = asObject(one);
      yield locate(point, time === undefined ? start + 60 * Number(minutes) : timeOf(time), where);
    }
  } else if (isJsonObject(visit)) {
    yield* visitFound(visit, start, end, where);
  } else if (isJsonObject(activity)) {
    yield locate(activity.start, start, where);
    yield locate(activity.end, end, where);
    const { type: word, probability } = asObject(activity.topCandidate);
    const type = motionOf(word);
    if (type === null || type === motionTypes.UNKNOWN) return;
    const share = Number(probability);
    yield motionFound(start, type, share >= 0 && share <= 1 ? Math.round(share * 100) : undefined);
  } else {
    yield { skipped: 'a segment that is neither a visit, nor a movement, nor a path' };
  }
}

function* visitFound(visit: JsonObject, start: number, end: number, where: string): Generator<Found> {
  if (Number(visit.hierarchyLevel ?? 0) > 0) {
    yield { skipped: 'a visit within a visit' };
    return;
  }
  const { placeLocation } = asObject(visit.topCandidate);
  yield locate(placeLocation, start, where);
  yield locate(placeLocation, end, where);
  yield motionFound(start, motionTypes.STILL);
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
    const found = mostProbable(probableActivities ?? detectedActivities);
    const ts = timeOf(timestamp);
    if (found === null || ts === null) yield { skipped: 'an unknown activity' };
    else yield motionFound(ts, found.type, found.percent);
  } else {
    yield { skipped: 'a signal without a place, such as a scan for networks' };
  }
}

/** Of equally probable activities, the first counts. `confidence` is a fraction or a percentage. */
function mostProbable(activities: JsonValue | undefined): { type: MotionType; percent: number } | null {
  let best: ReturnType<typeof mostProbable> = null;
  for (const one of listOf(activities).filter(isJsonObject)) {
    const type = motionOf(one.type ?? one.activityType);
    const confidence = Number(one.confidence ?? one.probability ?? 0);
    const percent = Math.round(confidence <= 1 && !Number.isInteger(confidence) ? confidence * 100 : confidence);
    if (type === null || !(percent >= 0 && percent <= 100)) continue;
    if (best === null || percent > best.percent) best = { type, percent };
  }
  return best;
}

type More = Partial<OtherLocation>;

function locate(place: JsonValue | undefined, ts: number | null, where: string, more: More = {}): Found {
  const position = positionOf(place);
  if (position === null) {
    const expected = 'a place such as "12.3°, 45.6°" or latitudeE7 and longitudeE7';
    return { unread: `expected ${expected} at ${where}, found a missing or unreadable place` };
  }
  if (ts === null || !Number.isFinite(ts))
    return { unread: `expected a time with its offset at ${where}, found a missing or unreadable time` };
  const location = { ts, ...position, ...more };
  return { owner: null, entry: withZoneAt(locationEntry(location, origin), location) };
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

/** null: `word` is not known. Buses, trains and ferries are vehicles, as in readings of phones. */
function motionOf(word: unknown): MotionType | null {
  if (typeof word !== 'string') return null;
  const name = word.trim().toUpperCase().replaceAll(' ', '_');
  if (Object.hasOwn(motions, name)) return motions[name]!;
  return name.startsWith('IN_') ? motionTypes.IN_VEHICLE : null;
}

/** Converts 10^-7 degrees. Some exports write negative numbers as unsigned numbers of 32 bits. */
function degreesFrom(value: JsonValue | undefined): number | undefined {
  const number = numberFrom(value);
  if (number === undefined) return undefined;
  return (number > 1_800_000_000 ? number - 2 ** 32 : number) / 1e7;
}

/** Reads `"12.3°, 45.6°"`, `"geo:12.3,45.6"`, `{"latLng": …}` or `{"latE7": …, "lngE7": …}`. */
function positionOf(place: JsonValue | undefined): { latitude: number; longitude: number } | null {
  const { latE7, latitudeE7 = latE7, centerLatE7 } = asObject(place);
  const { lngE7, longitudeE7 = lngE7, centerLngE7 } = asObject(place);
  const [north, east] = [degreesFrom(latitudeE7 ?? centerLatE7), degreesFrom(longitudeE7 ?? centerLngE7)];
  const text = isJsonObject(place) ? (place.latLng ?? place.LatLng) : place;
  const match = /^(?:geo:)?\s*(-?[\d.]+)°?\s*,\s*(-?[\d.]+)°?/.exec(typeof text === 'string' ? text : '');
  const [latitude, longitude] = [north ?? Number(match?.[1]), east ?? Number(match?.[2])];
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : null;
}
