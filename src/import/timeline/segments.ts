// Google Timeline as phones export it since 2024: segments (visits, movements, paths) and, from Android, raw signals.
import { locationEntry, motionEntry, numberFrom, type OtherFix, secondsFrom } from '../../formats/other-entry.ts';
import { isJsonObject, type JsonObject, type JsonValue, parseJsonObject } from '../../model/json.ts';
import { type MotionType, motionTypes } from '../../model/payloads.ts';
import type { FileFormat, Found, SourceReadOptions } from '../format.ts';
import { jsonElements } from '../read/json-elements.ts';
import type { SourceFile } from '../source.ts';
import { zoned } from '../tracks/point.ts';
import { motionOf } from './activities.ts';

/** The import format `google-timeline`. */
export const googleTimeline: FileFormat = {
  name: 'google-timeline',
  title: 'Google Timeline, exported on an Android phone or an iPhone',
  recognises: ({ head }) => {
    const text = head.toString('utf8');
    if (/^\s*\{/.test(text)) return /"(semanticSegments|rawSignals)"\s*:\s*\[/.test(text);
    return (
      /^\s*\[/.test(text) &&
      /"startTime"\s*:/.test(text) &&
      /"(visit|activity|timelinePath|timelineMemory)"\s*:/.test(text)
    );
  },
  read: readTimeline,
};

const origin = { program: 'google-timeline' };

async function* readTimeline(file: SourceFile, { onBytes }: SourceReadOptions): AsyncGenerator<Found> {
  for await (const { of, listed, text, reason, offset } of jsonElements(file.bytes(onBytes))) {
    const where = `byte ${offset}`;
    if (!listed || !(of === null || of === 'semanticSegments' || of === 'rawSignals')) continue; // such as what Google makes of it all
    const value = text === null ? null : parseJsonObject(text);
    if (value === null) yield { unread: `expected a JSON object at ${where}, found ${reason ?? 'something else'}` };
    else if (of === 'rawSignals') yield* signalFound(value, where);
    else yield* segmentFound(value, where);
  }
}

function* segmentFound(segment: JsonObject, where: string): Generator<Found> {
  const start = secondsFrom(segment.startTime);
  const end = secondsFrom(segment.endTime);
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

/** Android gives the time of each point, iPhones the minutes since the segment began. */
function pathPoint(
  { point, time, durationMinutesOffsetFromStartTime: minutes }: JsonObject,
  start: number,
  where: string,
): Found {
  const ts = time === undefined ? start + 60 * Number(minutes) : secondsFrom(time);
  return fixFound(point, ts, where);
}

/**
 * Somebody is at the place from the beginning to the end, and still. A visit within a visit tells nothing new of it.
 */
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
  yield fixFound(place, start, where);
  yield fixFound(place, end, where);
  yield { of: null, entry: motionEntry(start, motionTypes.STILL, origin) };
}

function* activityFound(
  { start: from, end: to, topCandidate }: JsonObject,
  start: number,
  end: number,
  where: string,
): Generator<Found> {
  yield fixFound(from, start, where);
  yield fixFound(to, end, where);
  const { type: word, probability } = isJsonObject(topCandidate) ? topCandidate : {};
  const type = motionOf(word);
  if (type === null || type === motionTypes.UNKNOWN) return;
  const share = Number(probability);
  const confidence = share >= 0 && share <= 1 ? Math.round(share * 100) : undefined;
  yield { of: null, entry: motionEntry(start, type, origin, confidence) };
}

function* signalFound({ position, activityRecord }: JsonObject, where: string): Generator<Found> {
  if (isJsonObject(position)) {
    const { LatLng, timestamp, accuracyMeters, altitudeMeters, speedMetersPerSecond } = position;
    yield fixFound(LatLng, secondsFrom(timestamp), where, {
      accuracy: numberFrom(accuracyMeters, 0),
      altitude: numberFrom(altitudeMeters),
      sensed_speed: numberFrom(speedMetersPerSecond, 0),
    });
  } else if (isJsonObject(activityRecord)) {
    const { probableActivities, timestamp } = activityRecord;
    const found = surest(probableActivities);
    const ts = secondsFrom(timestamp);
    if (found === null || ts === null) yield { left: 'an activity that is not known' };
    else yield { of: null, entry: motionEntry(ts, found.type, origin, found.percent) };
  } else {
    yield { left: 'a signal that tells no place, such as a scan for networks' };
  }
}

/**
 * The surest of several activities, `confidence` as a share or in percent; the first of equals. Null where none is
 * known.
 */
export function surest(activities: JsonValue | undefined): { type: MotionType; percent: number } | null {
  let best: ReturnType<typeof surest> = null;
  for (const one of Array.isArray(activities) ? activities : []) {
    if (!isJsonObject(one)) continue;
    const type = motionOf(one.type);
    const told = Number(one.confidence ?? 0);
    const percent = Math.round(told <= 1 && !Number.isInteger(told) ? told * 100 : told);
    if (type === null || !(percent >= 0 && percent <= 100)) continue;
    if (best === null || percent > best.percent) best = { type, percent };
  }
  return best;
}

function fixFound(place: JsonValue | undefined, ts: number | null, where: string, more: Partial<OtherFix> = {}): Found {
  const spot = spotOf(place);
  if (spot === null)
    return { unread: `expected a place such as "12.3°, 45.6°" or "geo:12.3,45.6" at ${where}, found something else` };
  if (ts === null || !Number.isFinite(ts))
    return { unread: `expected a time with its offset at ${where}, found something else` };
  const fix = { ts, ...spot, ...more };
  return { of: null, entry: zoned(locationEntry(fix, origin), fix) };
}

/** `"12.3°, 45.6°"`, `"geo:12.3,45.6"`, or an object with one of them as `latLng`. */
function spotOf(place: JsonValue | undefined): { latitude: number; longitude: number } | null {
  const text = isJsonObject(place) ? (place.latLng ?? place.LatLng) : place;
  if (typeof text !== 'string') return null;
  const match = /^(?:geo:)?\s*(-?[\d.]+)°?\s*,\s*(-?[\d.]+)°?/.exec(text);
  if (match === null) return null;
  const [latitude, longitude] = [Number(match[1]), Number(match[2])];
  return Number.isFinite(latitude) && Number.isFinite(longitude) ? { latitude, longitude } : null;
}
