// Reads GeoJSON of points and lines with times, and JSON with points in nested lists.
import { isJsonObject, type JsonObject, type JsonValue } from '../../model/json.ts';
import { type FileFormat, type Found, readsHead, type SourceReadOptions } from '../import-format.ts';
import { jsonRecords } from '../read/json-records.ts';
import type { SourceFile } from '../source.ts';
import { fieldsIn, flattened, type GivenPosition, hasLocation, locate, personChecker } from './fields.ts';

export const geojson: FileFormat = {
  name: 'geojson',
  recognises: (file, reading) =>
    /^\ufeff?\s*[[{]/.test(file.head.toString('utf8')) && readsHead(readGeoJson, file, reading),
  read: readGeoJson,
};

const origin = { program: 'geojson' };

const isFeature = ({ type }: JsonObject): boolean => type === 'Feature';

async function* readGeoJson(file: SourceFile, { onBytes, zone, columns }: SourceReadOptions): AsyncGenerator<Found> {
  const isRecord = (value: JsonObject): boolean =>
    isFeature(value) || hasLocation(fieldsIn(Object.keys(flattened(value)), columns));
  const checkPerson = personChecker();
  for await (const record of jsonRecords(file, onBytes, isRecord)) {
    if ('unread' in record) {
      yield record;
      continue;
    }
    const { value, member, where } = record;
    const points = pointsIn(value, isRecord);
    // A file may have lists of other objects beside its lists of points.
    if (points.length === 0 && (member === null || member === 'features'))
      yield { unread: `expected a feature or a point with a time at ${where}, found neither` };
    for (const point of points) {
      const rows = isFeature(point) ? featureRows(point, columns) : [{ row: flattened(point) }];
      if (rows.length === 0) yield { skipped: 'a feature that is neither a point nor a line' };
      const fields = fieldsIn(Object.keys(rows[0]?.row ?? {}), columns);
      for (const { row, position } of rows) {
        checkPerson(row, fields, where);
        yield locate(row, fields, { origin, where, zone }, position);
      }
    }
  }
}

/** Arc and Home Assistant nest their points. Without inner points, `value` itself may be a point. */
function pointsIn(value: JsonValue, isRecord: (value: JsonObject) => boolean, depth = 6): JsonObject[] {
  if (depth === 0 || typeof value !== 'object' || value === null) return [];
  if (isJsonObject(value) && isFeature(value)) return [value];
  const search = (one: JsonValue | undefined): JsonObject[] => pointsIn(one ?? null, isRecord, depth - 1);
  if (Array.isArray(value)) return value.flatMap(search);
  // Fields of an inner object that is a point are read together with the fields around it.
  const within = Object.values(value).flatMap((one) => (isJsonObject(one) && isRecord(one) ? [] : search(one)));
  return within.length > 0 ? within : isRecord(value) ? [value] : [];
}

/** `position`: coordinates and time, if they are in the geometry. */
type PlaceRow = { row: JsonObject; position?: GivenPosition };

/**
 * Properties that are lists as long as the path have one value for each position:
 *
 *     coordinates [[7, 50], [8, 51]], time [t1, t2], speed [3, 4], trip 1  ->  (7, 50, t1, 3, 1), (8, 51, t2, 4, 1)
 *
 * If a path has no time for each point, its first point gets the start time and its last point the
 * end time, if any. Other geometries give an empty list.
 */
function featureRows(feature: JsonObject, columns: SourceReadOptions['columns']): PlaceRow[] {
  const { geometry, temporalGeometry } = feature;
  const properties = flattened(isJsonObject(feature.properties) ? feature.properties : {});
  const shape = isJsonObject(geometry) ? geometry : temporalGeometry;
  const { type, coordinates, datetimes } = isJsonObject(shape) ? shape : {};
  if (type === undefined && hasLocation(fieldsIn(Object.keys(properties), columns))) return [{ row: properties }];
  if (!Array.isArray(coordinates) || !/^(Moving|Multi)?(Point|LineString)$/.test(String(type))) return [];
  const places = type === 'Point' ? [coordinates] : type === 'MultiLineString' ? coordinates.flat() : coordinates;
  const lists = Object.entries({ ...properties, ...(datetimes !== undefined && { datetimes }) })
    .map(([name, list]) => [name, Array.isArray(list) ? list.flat() : []] as const)
    .filter(([, list]) => list.length === places.length);
  const rows = places.map((place: JsonValue, i: number): Required<PlaceRow> => {
    const [longitude, latitude, altitude, time] = Array.isArray(place) ? place : [];
    const row = { ...properties, ...Object.fromEntries(lists.map(([name, list]) => [name, list[i]!])) };
    return { row, position: { longitude, latitude, altitude, time } };
  });
  const names = lists.map(([name]) => name);
  if (fieldsIn(names, columns).time !== undefined)
    return rows.map(({ row, position }) => ({ row, position: { ...position, time: undefined } }));
  if (rows.length <= 1 || rows.some(({ position }) => position.time !== undefined)) return rows;
  const { end: [end] = [] } = fieldsIn(Object.keys(properties), columns);
  const ending = end && (properties[end.name] ?? undefined);
  const last = rows.at(-1)!;
  return [rows[0]!, ...(ending === undefined ? [] : [{ ...last, position: { ...last.position, time: ending } }])];
}
