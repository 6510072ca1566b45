// Converts a batch of Overland's GeoJSON features to entries.
import type { Entry, Origin } from '../../model/entry.ts';
import { isJsonObject, type JsonObject, type JsonValue, kindOf } from '../../model/json.ts';
import { type BatteryStatus, batteryStatuses, type MotionType, motionTypes } from '../../model/payloads.ts';
import { isPossibleTime, keyPart, numberFrom, percentFrom, pickFields, timeFrom } from './message-fields.ts';
import type { Mapped } from './other-entry.ts';
import { badTime, batteryEntry, locationEntry, motionEntry, newMapped, otherEntry, unusable } from './other-entry.ts';
import { oneMotion } from './owntracks.ts';

const origin: Origin = { program: 'overland' };

const reportedNames = new Set([
  ...'device_id speed_accuracy course_accuracy pauses activity desired_accuracy deferred'.split(' '),
  ...'significant_change tracking_mode'.split(' '),
]);
/** The fields of events and trips that the server stores. */
const keptNames = new Set([
  ...reportedNames,
  ...'action type mode start end start_location end_location duration distance steps stopped_automatically'.split(' '),
  ...'arrival_date departure_date altitude speed course horizontal_accuracy vertical_accuracy'.split(' '),
  ...'motion battery_level battery_state'.split(' '),
]);

/** If a feature cannot become an entry, the server stores only these properties. */
const shownNames = new Set([...keptNames, 'timestamp']);

const motions: Readonly<Record<string, MotionType>> = {
  stationary: motionTypes.STILL,
  walking: motionTypes.WALKING,
  running: motionTypes.RUNNING,
  cycling: motionTypes.BICYCLING,
  driving: motionTypes.IN_VEHICLE,
};

const batteryStates = new Map<string, BatteryStatus>([
  ['unplugged', batteryStatuses.DISCHARGING],
  ['not charging', batteryStatuses.DISCHARGING], // of Home Assistant
  ['charging', batteryStatuses.CHARGING],
  ['full', batteryStatuses.FULL],
]);

/**
 * A feature with a position becomes a location, with a motion and a battery reading if it has such
 * fields. A feature with only a battery state becomes a battery reading. Events and trips are
 * stored under `overland/<name>`. The fields `current` and `trip` of a body are not used: the app
 * sends the same features again in a batch. Never throws.
 */
export function fromOverland(features: readonly JsonValue[]): Mapped {
  const mapped = newMapped();
  let battery = '';
  for (const feature of features) {
    const properties = isJsonObject(feature) ? feature.properties : undefined;
    if (!isJsonObject(feature) || !isJsonObject(properties)) {
      const text = `expected a GeoJSON feature with properties, found ${kindOf(feature)}`;
      const reason = isJsonObject(feature) ? 'format_unknown' : 'format_not_an_object';
      mapped.unusable.push(unusable(isJsonObject(feature) ? shown(feature) : feature, reason, text));
      continue;
    }
    const ts = timeFrom(properties.timestamp);
    if (ts === null || !isPossibleTime(ts)) {
      mapped.unusable.push(badTime(shown(feature), ts, 'properties.timestamp'));
      continue;
    }
    const event = keyPart(properties.action) ?? keyPart(properties.type);
    if (event !== null) {
      const at = isJsonObject(feature.geometry) ? { geometry: feature.geometry } : {};
      const data = { ...pickFields(properties, keptNames), ...at, ts };
      mapped.entries.push(otherEntry(`overland/${event}`, ts, data, origin));
      continue;
    }
    const reading = batteryOf(properties, ts);
    const isState = reading !== null && !isJsonObject(feature.geometry);
    if (!isState) mapped.entries.push(...entriesOf(feature, properties, ts));
    // Every feature repeats the state of the battery. Only changes become readings.
    const state = JSON.stringify([properties.battery_level, properties.battery_state]);
    if (reading !== null && state !== battery) mapped.entries.push(reading);
    battery = state;
  }
  return mapped;
}

/** Leaves out fields that may name networks or people. */
const shown = ({ type = null, geometry = null, properties }: JsonObject): JsonObject => ({
  type,
  geometry,
  properties: isJsonObject(properties) ? pickFields(properties, shownNames) : null,
});

/** Negative numbers mean "unknown" in all fields except the altitude. */
function entriesOf(feature: JsonObject, properties: JsonObject, ts: number): Entry[] {
  const geometry = isJsonObject(feature.geometry) ? feature.geometry : {};
  const [longitude, latitude] = Array.isArray(geometry.coordinates) ? geometry.coordinates : [];
  const vaccuracy = numberFrom(properties.vertical_accuracy, 0);
  const location = {
    ts,
    latitude: numberFrom(latitude) ?? latitude,
    longitude: numberFrom(longitude) ?? longitude,
    altitude:
      vaccuracy === undefined && properties.vertical_accuracy !== undefined
        ? undefined
        : numberFrom(properties.altitude),
    accuracy: numberFrom(properties.horizontal_accuracy, 0),
    vaccuracy,
    sensed_speed: numberFrom(properties.speed, 0),
    bearing: numberFrom(properties.course, 0),
  };
  const entries = [locationEntry(location, origin, pickFields(properties, reportedNames))];
  const type = Array.isArray(properties.motion) ? oneMotion(properties.motion, motions) : null;
  if (type !== null) entries.push(motionEntry(ts, type, origin));
  return entries;
}

function batteryOf({ battery_level, battery_state: state }: JsonObject, ts: number): Entry | null {
  const level = numberFrom(battery_level, 0);
  if (level === undefined) return null;
  const status = batteryStates.get(String(state).toLowerCase()) ?? batteryStatuses.UNKNOWN;
  return batteryEntry(ts, percentFrom(level), status, origin);
}
