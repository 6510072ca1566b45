// GeoJSON of points and lines with times, and JSON lists of points: whichever program wrote them.
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import type { FileFormat, Found, SourceReadOptions } from '../import-format.ts';
import { jsonRecords } from '../read/json-records.ts';
import { readsHead } from '../recognise.ts';
import type { SourceFile } from '../source.ts';
import { fieldsIn, fixFound, isFix, type Spot } from './fields.ts';

/** The import format `geojson`. */
export const geojson: FileFormat = {
  name: 'geojson',
  recognises: (file, reading) =>
    /^\ufeff?\s*[[{]/.test(file.head.toString('utf8')) && readsHead(readGeoJson, file, reading),
  read: readGeoJson,
};

const origin = { program: 'geojson' };

async function* readGeoJson(file: SourceFile, { onBytes, zone, columns }: SourceReadOptions): AsyncGenerator<Found> {
  const isFeature = ({ type }: JsonObject): boolean => type === 'Feature';
  const isRecord = (value: JsonObject): boolean => isFeature(value) || isFix(fieldsIn(Object.keys(value), columns));
  for await (const record of jsonRecords(file, onBytes, isRecord)) {
    if ('unread' in record) {
      yield record;
      continue;
    }
    const { value, of, where } = record;
    if (!isJsonObject(value) || !isRecord(value)) {
      // Lists of other things lie beside lists of points.
      if (of === null || of === 'features') yield { unread: `expected a feature or a point with a time at ${where}` };
      continue;
    }
    const properties = isFeature(value) ? (isJsonObject(value.properties) ? value.properties : {}) : value;
    const spots = isFeature(value) ? spotsOf(value, properties) : [undefined];
    if (spots.length === 0) yield { left: 'a feature that is neither a point nor a line' };
    const fields = fieldsIn(Object.keys(properties), columns);
    for (const spot of spots) yield fixFound(properties, fields, { origin, where, zone }, spot);
  }
}

/**
 * The places of a feature: each of a line with a time for each of its points; else its first at the begin and, if an
 * end is given, its last at the end. Empty for a geometry that is no path.
 */
function spotsOf({ geometry, temporalGeometry }: JsonObject, properties: JsonObject): (Spot | undefined)[] {
  const shape = isJsonObject(geometry) ? geometry : temporalGeometry;
  const { type, coordinates, datetimes } = isJsonObject(shape) ? shape : {};
  if (type === undefined && isFix(fieldsIn(Object.keys(properties)))) return [undefined]; // the properties say where
  if (!Array.isArray(coordinates) || !/^(Moving|Multi)?(Point|LineString)$/.test(String(type))) return [];
  const places = type === 'Point' ? [coordinates] : type === 'MultiLineString' ? coordinates.flat() : coordinates;
  const ofPoints = isJsonObject(properties.coordinateProperties) ? properties.coordinateProperties : {};
  const { coordTimes, times, linestringTimestamps } = properties;
  const given = [datetimes, ofPoints.times, coordTimes, times, linestringTimestamps].find(Array.isArray)?.flat();
  const spots = places.map((place: JsonValue, i: number): Spot => {
    const [longitude, latitude, altitude, time] = Array.isArray(place) ? place : [];
    return { longitude, latitude, altitude, time: given?.[i] ?? time };
  });
  if (spots.some(({ time }) => time !== undefined)) return spots;
  const { end } = fieldsIn(Object.keys(properties));
  const ending = end && (properties[end.name] ?? undefined);
  return [spots[0], ...(ending === undefined ? [] : [{ ...spots.at(-1)!, time: ending }])];
}
