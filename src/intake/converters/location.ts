// Converts raw and filtered locations. Both platforms send nearly the same fields.
import type { Entry } from '../../model/entry.ts';
import type { JsonObject, JsonValue } from '../../model/json.ts';
import { checkNumber, checkText, numberOf, timeOf } from './checks.ts';
import { type Conversion, type Converter, withTime } from './conversion.ts';

const notNegative = { min: 0 };
const latitudes = { min: -90, max: 90 };
const longitudes = { min: -180, max: 180 };

/** Entries from 2015 have `filter` in their metadata. */
export const convertLocation: Converter = Object.assign(convert, { asPushed });

function convert(entry: Entry): Conversion {
  const { data } = entry;
  const ts = timeOf(data.ts, 'data.ts');
  checkPosition(data.longitude, data.latitude, 'data.longitude', 'data.latitude');
  checkNumber(data.accuracy, 'data.accuracy', notNegative); // m; 68 % of true positions are within this radius
  // Phones send -1 for "unknown" in these fields. A loop over names would take several times as long.
  checkNumber(data.altitude, 'data.altitude'); // m; iOS: above sea level; Android: above the WGS84 ellipsoid, 0 if unknown
  checkNumber(data.sensed_speed, 'data.sensed_speed'); // m/s; 0 on Android and -1 on iOS if unknown
  checkNumber(data.bearing, 'data.bearing');
  checkNumber(data.heading, 'data.heading'); // degrees clockwise from north
  checkNumber(data.vaccuracy, 'data.vaccuracy'); // m
  checkNumber(data.floor, 'data.floor');
  checkNumber(data.elapsedRealtimeNanos, 'data.elapsedRealtimeNanos'); // ns since the phone started
  const added: JsonObject = { loc: { type: 'Point', coordinates: [data.longitude!, data.latitude!] } };
  if (data.bearing !== undefined) added.heading = data.bearing;
  const filter = filterOf(entry);
  if (typeof filter === 'string') added.filter = filter;
  return withTime(entry, ts, added, ['bearing']);
}

const kept = new Set(['ts', 'latitude', 'longitude', 'altitude', 'accuracy', 'sensed_speed', 'filter']);

function asPushed({ metadata }: Entry): ReadonlySet<string> | null {
  return metadata.filter === undefined ? kept : null;
}

function filterOf({ metadata, data }: Entry): JsonValue | undefined {
  const filter = data.filter ?? metadata.filter;
  checkText(filter, filter === data.filter ? 'data.filter' : 'metadata.filter');
  return filter;
}

export function checkPosition(
  longitude: JsonValue | undefined,
  latitude: JsonValue | undefined,
  longitudeField: string,
  latitudeField: string,
): void {
  numberOf(latitude, latitudeField, latitudes);
  numberOf(longitude, longitudeField, longitudes);
}
