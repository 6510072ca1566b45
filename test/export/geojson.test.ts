// Flat GeoJSON of trips: valid by RFC 7946, each place once, lines cut at the antimeridian.
import { describe, expect, it } from 'vitest';
import { tripFeatures } from '../../src/diary/trip-features.ts';
import { toFlatGeoJson } from '../../src/export/trips-geojson.ts';
import type { Trip } from '../../src/model/trip.ts';
import { userId, workday } from '../support/trips.ts';

const [toWork, toHome] = workday().map((record) => record.trip!) as [Trip, Trip];
const shape = (trip: Trip, next: Trip | null) =>
  tripFeatures(trip, { exit_ts: next?.start_ts ?? null, starting_trip: next?.id ?? null }, [], userId);
const both = [shape(toWork, toHome), shape(toHome, null)];

describe('flat GeoJSON', () => {
  const { features } = toFlatGeoJson(both);

  it('holds each place once, then stops and sections of all trips, and no collection', () => {
    expect(features.map(({ properties }) => properties!.feature_type)).toEqual([
      ...Array(3).fill('place'),
      ...[toWork, toHome].flatMap(({ stops, sections }) =>
        [stops.map(() => 'stop'), sections.map(() => 'section')].flat(),
      ),
    ]);
    expect(new Set(features.map(({ id }) => id)).size).toBe(features.length);
    for (const { properties } of features) expect(properties!.trip_id ?? properties!.source).toBeTypeOf('string');
  });

  it('combines the fields that both trips have of the place between them', () => {
    const times = { enter_ts: toWork.end_ts, exit_ts: toHome.start_ts };
    expect(features[1]!.properties).toMatchObject({ ...times, ending_trip: toWork.id, starting_trip: toHome.id });
  });

  it('has ids as plain texts, and coordinates of at most seven decimals', () => {
    expect(JSON.stringify(features)).not.toContain('$oid');
    const coordinates = features.flatMap(({ geometry }) => JSON.stringify(geometry).match(/-?\d+\.\d+/g) ?? []);
    expect(coordinates.filter((c) => c.split('.')[1]!.length > 7)).toEqual([]);
  });

  it('does not change its input', () => {
    const copy = structuredClone(both);
    toFlatGeoJson(both);
    expect(both).toEqual(copy);
  });
});

describe('a line over the antimeridian', () => {
  /** The line through these longitudes, a degree farther north each. */
  const over = (...longitudes: number[]) => {
    const [section] = toHome.sections;
    const coordinates = longitudes.map((longitude, i): [number, number] => [longitude, i]);
    const trip = shape({ ...toHome, sections: [{ ...section!, coordinates }] }, null);
    return toFlatGeoJson([trip]).features.at(-1)!.geometry;
  };

  it.each([
    ['is cut there eastwards', [179, -179], '[[[179,0],[180,0.5]],[[-180,0.5],[-179,1]]]'],
    ['is cut there westwards', [-179, 179], '[[[-179,0],[-180,0.5]],[[180,0.5],[179,1]]]'],
    ['from the very meridian on is on its other side', [180, -179], '[[[180,0],[180,0]],[[-180,0],[-179,1]]]'],
  ])('%s', (_, longitudes, coordinates) => {
    expect(over(...longitudes)).toEqual({ type: 'MultiLineString', coordinates: JSON.parse(coordinates) });
  });

  it('along the meridian, named once by each of its names, has finite coordinates', () => {
    expect(JSON.stringify(over(180, -180, 180))).not.toContain('null');
  });

  it('is not cut if it is only long', () => {
    expect(over(-80, 80).type).toBe('LineString');
  });
});
