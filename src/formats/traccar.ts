// Traccar Client (its JSON, since version 9): one or more locations -> entries.
import type { Origin } from '../model/entry.ts';
import { isJsonObject, type JsonObject, type JsonValue, kindOf } from '../model/json.ts';
import { type BatteryStatus, batteryStatuses, type MotionType, motionTypes } from '../model/payloads.ts';
import {
  batteryEntry,
  firstTime,
  locationEntry,
  type Mapped,
  motionEntry,
  numberFrom,
  restOf,
  secondsFrom,
  unusable,
} from './other-entry.ts';

const origin: Origin = { program: 'traccar' };

/** Told by other fields of the entry; `_` repeats the token. */
const notReported = new Set(['timestamp', 'coords', 'battery', 'activity', '_']);

const motions: Readonly<Record<string, MotionType>> = {
  still: motionTypes.STILL,
  walking: motionTypes.WALKING,
  on_foot: motionTypes.ON_FOOT,
  running: motionTypes.RUNNING,
  on_bicycle: motionTypes.BICYCLING,
  in_vehicle: motionTypes.IN_VEHICLE,
  unknown: motionTypes.UNKNOWN,
};

/** The locations of one message, each with its motion and battery reading, if any. Never throws. */
export function fromTraccar(locations: readonly JsonValue[]): Mapped {
  const mapped: Mapped = { entries: [], unusable: [], passedOver: 0 };
  for (const location of locations) {
    if (!isJsonObject(location)) {
      const text = `expected a location of Traccar Client, an object with coords, found ${kindOf(location)}`;
      mapped.unusable.push(unusable(location, 'format_not_an_object', text));
      continue;
    }
    const ts = secondsFrom(location.timestamp);
    if (ts === null) {
      const text = `expected timestamp as ISO 8601 with an offset, found ${kindOf(location.timestamp)}`;
      mapped.unusable.push(unusable(shown(location), 'format_no_time', text));
    } else if (ts < firstTime) {
      const text = 'expected timestamp to be after 2010, found one before';
      mapped.unusable.push(unusable(shown(location), 'format_bad_time', text));
    } else if (!isJsonObject(location.coords)) {
      const text = `expected coords to be an object, found ${kindOf(location.coords)}`;
      mapped.unusable.push(unusable(shown(location), 'format_unknown', text));
    } else {
      mapped.entries.push(...entriesOf(location, location.coords, ts));
    }
  }
  return mapped;
}

/** A location without the field in which the app repeats the token. */
const shown = (location: JsonObject): JsonObject => restOf(location, new Set(['_']));

/** Negative numbers mean "unknown" in all fields but the altitude. */
function entriesOf(location: JsonObject, coords: JsonObject, ts: number): Mapped['entries'] {
  const fix = {
    ts,
    latitude: coords.latitude,
    longitude: coords.longitude,
    altitude: numberFrom(coords.altitude),
    accuracy: numberFrom(coords.accuracy, 0),
    sensed_speed: numberFrom(coords.speed, 0),
    bearing: numberFrom(coords.heading, 0),
  };
  const entries = [locationEntry(fix, origin, restOf(location, notReported))];
  const activity = isJsonObject(location.activity) ? location.activity : {};
  const type =
    typeof activity.type === 'string' && Object.hasOwn(motions, activity.type) ? motions[activity.type]! : null;
  if (type !== null) entries.push(motionEntry(ts, type, origin, confidenceOf(activity)));
  const battery = isJsonObject(location.battery) ? location.battery : {};
  const level = numberFrom(battery.level, 0);
  if (level !== undefined) entries.push(batteryEntry(ts, Math.round(level * 100), statusOf(battery), origin));
  return entries;
}

function confidenceOf({ confidence }: JsonObject): number | undefined {
  const percent = numberFrom(confidence, 0);
  return percent === undefined ? undefined : Math.min(percent, 100);
}

function statusOf({ is_charging: charging }: JsonObject): BatteryStatus {
  if (typeof charging !== 'boolean') return batteryStatuses.UNKNOWN;
  return charging ? batteryStatuses.CHARGING : batteryStatuses.DISCHARGING;
}
