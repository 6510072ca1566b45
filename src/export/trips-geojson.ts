// Converts trips to one flat GeoJSON FeatureCollection (RFC 7946), for maps and other programs.
import type { Feature, FeatureCollection, Position as JsonPosition, LineString, Point } from 'geojson';
import { inputTexts } from '../diary/labels/label-text.ts';
import type { UserInput } from '../diary/labels/user-labels.ts';
import type { TripFeatureCollection } from '../diary/trip-features.ts';
import { round } from './geometry.ts';

/**
 * The features of all trips: places (each once, also if two trips share it), stops and sections. A
 * section is cut at the antimeridian. Coordinates have 7 decimals (about a centimetre), properties
 * are as in the trip documents, ids are plain texts.
 */
export function toFlatGeoJson(trips: readonly TripFeatureCollection[]): FeatureCollection {
  const features: Feature[] = [];
  const places = new Map<string, Feature>();
  for (const trip of trips) {
    for (const feature of trip.features) {
      if (feature.type === 'FeatureCollection') features.push(flatSection(feature.features[0], trip));
      else if (isPlace(feature)) places.set(String(feature.id), mergePlace(places.get(String(feature.id)), feature));
      else {
        const properties = plain({ ...feature.properties, trip_id: trip.id });
        features.push({ ...feature, geometry: rounded(feature.geometry), properties });
      }
    }
  }
  return { type: 'FeatureCollection', features: [...places.values(), ...features] };
}

const isPlace = (f: Feature): boolean => String(f.properties?.feature_type).endsWith('_place');

/** Merges a place that ends one trip and starts the next. Equal fields come from `feature`. */
function mergePlace(known: Feature | undefined, feature: Feature<Point | LineString>): Feature {
  const { user_input, additions, ...own } = feature.properties ?? {};
  const inputs = flatInputs({ user_input, additions });
  const properties = plain({ ...known?.properties, ...own, ...inputs, feature_type: 'place' });
  return { ...feature, geometry: known?.geometry ?? rounded(feature.geometry), properties };
}

function flatSection(section: Feature<LineString>, trip: TripFeatureCollection): Feature {
  const lines = cutAtAntimeridian(section.geometry.coordinates);
  const geometry =
    lines.length === 1
      ? { type: 'LineString' as const, coordinates: lines[0]! }
      : { type: 'MultiLineString' as const, coordinates: lines };
  const properties = plain({ ...section.properties, trip_id: trip.id, ...flatInputs(trip.properties) });
  return { ...section, geometry: rounded(geometry), properties };
}

/** Plain texts (`mode_confirm`, …), because programs for maps do not read nested properties. */
const flatInputs = ({ user_input = {}, additions = [] }: Record<string, unknown>): Record<string, string> =>
  inputTexts({ user_input, additions } as UserInput);

/** Cuts a line at the 180th meridian (RFC 7946, 3.1.9). */
function cutAtAntimeridian(coordinates: readonly JsonPosition[]): JsonPosition[][] {
  const lines: JsonPosition[][] = [[]];
  coordinates.forEach((here, i) => {
    const before = coordinates[i - 1];
    if (before && Math.abs(here[0]! - before[0]!) > 180) {
      const east = before[0]! > 0;
      const span = 360 - Math.abs(here[0]! - before[0]!);
      const share = span > 0 ? (180 - Math.abs(before[0]!)) / span : 0; // 0: the line runs along the meridian
      const latitude = before[1]! + share * (here[1]! - before[1]!);
      lines.at(-1)!.push([east ? 180 : -180, latitude]);
      lines.push([[east ? -180 : 180, latitude]]);
    }
    lines.at(-1)!.push(here);
  });
  return lines;
}

function rounded<T extends { coordinates: unknown }>(geometry: T): T {
  const deep = (c: unknown): unknown => (typeof c === 'number' ? round(c) : (c as unknown[]).map(deep));
  return { ...geometry, coordinates: deep(geometry.coordinates) };
}

/** Replaces `{"$oid": hex}` by hex, one level down and in lists. */
function plain(properties: Record<string, unknown>): Record<string, unknown> {
  const unwrap = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(unwrap);
    return typeof value === 'object' && value !== null && '$oid' in value ? value.$oid : value;
  };
  return Object.fromEntries(Object.entries(properties).map(([name, value]) => [name, unwrap(value)]));
}
