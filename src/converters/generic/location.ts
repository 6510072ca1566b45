// Locations, raw and filtered: alike on both platforms but for fields that only one of them sends.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { type Conversion, checkNumber, checkText, numberOf, timeOf, withTime } from '../common.ts';

/** Numbers that may be missing. -1 for "unknown" is normal in all of them. */
const numbers = ['altitude', 'sensed_speed', 'bearing', 'heading', 'vaccuracy', 'floor', 'elapsedRealtimeNanos'].map(
  (name) => [name, `data.${name}`] as const,
);

/**
 * Payload `Location`: adds the GeoJSON point, renames `bearing` to `heading`, takes `filter` from the metadata of 2015.
 */
export function convertLocation(entry: Entry): Conversion {
  const { data } = entry;
  const ts = timeOf(data.ts, 'data.ts');
  const loc = pointOf(data.longitude, data.latitude, 'data.longitude', 'data.latitude');
  checkNumber(data.accuracy, 'data.accuracy', { min: 0 });
  for (const [name, field] of numbers) checkNumber(data[name], field);
  const filter = filterOf(entry);
  const added = (): JsonObject => {
    const fields: JsonObject = { loc };
    if (data.bearing !== undefined) fields.heading = data.bearing;
    if (typeof filter === 'string') fields.filter = filter;
    return fields;
  };
  return withTime(entry, ts, added, ['bearing']);
}

function filterOf({ metadata, data }: Entry): JsonValue | undefined {
  const filter = data.filter ?? metadata.filter;
  checkText(filter, filter === data.filter ? 'data.filter' : 'metadata.filter');
  return filter;
}

/** A GeoJSON point of degrees WGS84. */
export function pointOf(
  longitude: JsonValue | undefined,
  latitude: JsonValue | undefined,
  longitudeField: string,
  latitudeField: string,
): { type: 'Point'; coordinates: [number, number] } {
  const lat = numberOf(latitude, latitudeField, { min: -90, max: 90 });
  const lon = numberOf(longitude, longitudeField, { min: -180, max: 180 });
  return { type: 'Point', coordinates: [lon, lat] };
}
