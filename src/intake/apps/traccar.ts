// Converts JSON of Traccar Client (version 9 and later), and the OsmAnd protocol of many trackers.
import type { Origin } from '../../model/entry.ts';
import { isJsonObject, type JsonObject, type JsonValue, kindOf } from '../../model/json.ts';
import { type BatteryStatus, batteryStatuses, type MotionType, motionTypes } from '../../model/payloads.ts';
import { isPossibleTime, numberFrom, percentFrom, pickFields, timeFrom } from './message-fields.ts';
import type { Mapped, OtherLocation } from './other-entry.ts';
import { badTime, batteryEntry, locationEntry, motionEntry, newMapped, unusable } from './other-entry.ts';

const origin: Origin = { program: 'traccar' };

/** Fields of the JSON that `data.reported` keeps. */
const reportedNames = new Set(['is_moving', 'odometer', 'event', 'mock', 'manual', 'age']);
const shownNames = new Set([...reportedNames, 'timestamp', 'coords', 'activity', 'battery']);

const motions: Readonly<Record<string, MotionType>> = {
  still: motionTypes.STILL,
  walking: motionTypes.WALKING,
  on_foot: motionTypes.ON_FOOT,
  running: motionTypes.RUNNING,
  on_bicycle: motionTypes.BICYCLING,
  in_vehicle: motionTypes.IN_VEHICLE,
  unknown: motionTypes.UNKNOWN,
};

/**
 * Each location may have a motion and a battery reading. Without a position, it becomes only a
 * battery reading. `arrived`: the time of a location that has none. Never throws.
 */
export function fromTraccar(locations: readonly JsonValue[], arrived?: number): Mapped {
  const mapped = newMapped();
  for (const location of locations) {
    if (!isJsonObject(location)) {
      const text = `expected a location of Traccar Client, an object with coords, found ${kindOf(location)}`;
      mapped.unusable.push(unusable(location, 'format_not_an_object', text));
      continue;
    }
    const ts = timeFrom(location.timestamp ?? arrived);
    if (ts === null || !isPossibleTime(ts)) {
      mapped.unusable.push(badTime(shown(location), ts, 'timestamp'));
    } else if (!isJsonObject(location.coords)) {
      const battery = batteryOf(location, ts);
      mapped.entries.push(...battery);
      if (battery.length > 0) continue;
      const text = `expected an object in coords, found ${kindOf(location.coords)}`;
      mapped.unusable.push(unusable(shown(location), 'format_unknown', text));
    } else {
      mapped.entries.push(...entriesOf(location, location.coords, ts));
    }
  }
  return mapped;
}

/** Parameters of OsmAnd's protocol that `data.reported` keeps. */
const reportedParameters = new Set(
  'valid hdop pdop vdop sat alarm event motion is_moving odometer steps mock power source'.split(' '),
);

const knot = 1852 / 3600; // m/s

/** Home Assistant and others send these texts for an unknown value. */
const noValue = /^(none|null|nan|unknown|unavailable)?$/i;

/**
 * `parameters`: of a query or form, with the speed in knots. PhoneTrack and similar apps use the
 * names `acc`, `alt` and `bat`, and send m/s. A message without a time gets the time `arrived`, so
 * if repeated it becomes another location. Without a position it gives only a battery reading.
 */
export function fromOsmAnd(parameters: Readonly<Record<string, string>>, arrived: number): Mapped {
  const query = Object.fromEntries(Object.entries(parameters).filter(([, value]) => !noValue.test(value)));
  const { timestamp = query.time, location = '', batt = query.bat ?? query.battery, charge } = query;
  const [north, east] = location.split(',');
  const { lat = north, lon = east } = query;
  const ts = timestamp ? timeFrom(timestamp) : arrived;
  const reported = pickFields(query, reportedParameters);
  if (ts === null || !isPossibleTime(ts)) {
    const sent = { ...reported, timestamp: timestamp ?? null, lat: lat ?? null, lon: lon ?? null };
    return newMapped({ unusable: [badTime(sent, ts, 'timestamp')] });
  }
  const entries = lat || lon ? [locationEntry(locationOf({ ...query, lat, lon }, ts), origin, reported)] : [];
  const level = numberFrom(batt, 0);
  if (level !== undefined) entries.push(batteryEntry(ts, level, statusOf(charge), origin));
  return newMapped({ entries, skipped: entries.length === 0 ? 1 : 0 });
}

function locationOf({ lat, lon, ...query }: Readonly<Record<string, string | undefined>>, ts: number): OtherLocation {
  const speed = numberFrom(query.speed, 0);
  return {
    ts,
    latitude: numberFrom(lat) ?? lat,
    longitude: numberFrom(lon) ?? lon,
    altitude: numberFrom(query.altitude ?? query.alt),
    accuracy: numberFrom(query.accuracy ?? query.acc, 0) || undefined,
    sensed_speed: speed === undefined ? undefined : speed * (query.acc === undefined ? knot : 1),
    bearing: numberFrom(query.bearing ?? query.heading, 0),
  };
}

/** Leaves out the field in which the app repeats the token. */
const shown = (location: JsonObject): JsonObject => pickFields(location, shownNames);

/** A negative accuracy, speed or heading means "unknown". */
function entriesOf(location: JsonObject, coords: JsonObject, ts: number): Mapped['entries'] {
  const fields = {
    ts,
    latitude: numberFrom(coords.latitude) ?? coords.latitude,
    longitude: numberFrom(coords.longitude) ?? coords.longitude,
    altitude: numberFrom(coords.altitude),
    accuracy: numberFrom(coords.accuracy, 0),
    sensed_speed: numberFrom(coords.speed, 0),
    bearing: numberFrom(coords.heading, 0),
  };
  const entries = [locationEntry(fields, origin, pickFields(location, reportedNames))];
  const activity = isJsonObject(location.activity) ? location.activity : {};
  const type =
    typeof activity.type === 'string' && Object.hasOwn(motions, activity.type) ? motions[activity.type]! : null;
  if (type !== null) entries.push(motionEntry(ts, type, origin, confidenceOf(activity)));
  return [...entries, ...batteryOf(location, ts)];
}

function batteryOf(location: JsonObject, ts: number): Mapped['entries'] {
  const battery = isJsonObject(location.battery) ? location.battery : {};
  const level = numberFrom(battery.level, 0);
  if (level === undefined) return [];
  return [batteryEntry(ts, percentFrom(level), statusOf(battery.is_charging), origin)];
}

function confidenceOf({ confidence }: JsonObject): number | undefined {
  const percent = numberFrom(confidence, 0);
  return percent === undefined ? undefined : Math.min(percent, 100);
}

function statusOf(charging: JsonValue | undefined): BatteryStatus {
  if (charging === true || charging === 'true') return batteryStatuses.CHARGING;
  return charging === false || charging === 'false' ? batteryStatuses.DISCHARGING : batteryStatuses.UNKNOWN;
}
