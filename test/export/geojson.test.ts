// Flat GeoJSON of trips: valid by RFC 7946, each place once, lines cut at the antimeridian.
import type { Feature } from 'geojson';
import { describe, expect, it } from 'vitest';
import { tripFeatures } from '../../src/diary/trip-features.ts';
import { toFlatGeoJson } from '../../src/export/trips-geojson.ts';
import type { Trip } from '../../src/model/trip.ts';
import { userId, workday } from '../support/trips.ts';

const [toWork, toHome] = workday().map((record) => record.trip!) as [Trip, Trip];
const shape = (trip: Trip, next: Trip | null) =>
  tripFeatures(trip, { exit_ts: next?.start_ts ?? null, starting_trip: next?.id ?? null }, [], userId);
const both = [shape(toWork, toHome), shape(toHome, null)];

const kinds = (features: Feature[]): string[] => features.map((f) => f.properties!.feature_type as string);

describe('flat GeoJSON', () => {
  it('holds each place once, then stops and sections of all trips', () => {
    const { type, features } = toFlatGeoJson(both);
    expect(type).toBe('FeatureCollection');
    expect(kinds(features)).toEqual([
      ...Array(3).fill('place'),
      ...[toWork, toHome].flatMap(({ stops, sections }) => [
        ...stops.map(() => 'stop'),
        ...sections.map(() => 'section'),
      ]),
    ]);
    const ids = features.map((f) => f.id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('combines the fields that both trips have of the place between them', () => {
    const [, work] = toFlatGeoJson(both).features;
    expect(work!.properties).toMatchObject({
      enter_ts: toWork.end_ts,
      exit_ts: toHome.start_ts,
      ending_trip: toWork.id,
      starting_trip: toHome.id,
    });
  });

  it('has ids as plain texts, and coordinates of at most seven decimals', () => {
    const text = JSON.stringify(toFlatGeoJson(both));
    expect(text).not.toContain('$oid');
    const coordinates = toFlatGeoJson(both).features.flatMap(
      (f) => JSON.stringify(f.geometry).match(/-?\d+\.\d+/g) ?? [],
    );
    expect(coordinates.filter((c) => c.split('.')[1]!.length > 7)).toEqual([]);
  });

  it('has no collection within the collection, and a geometry of a known type in each feature', () => {
    for (const feature of toFlatGeoJson(both).features) {
      expect(feature.type).toBe('Feature');
      expect(['Point', 'LineString', 'MultiLineString']).toContain(feature.geometry.type);
      expect(feature.properties!.trip_id ?? feature.properties!.source).toEqual(expect.any(String));
    }
  });

  it('does not change its input', () => {
    const copy = structuredClone(both);
    toFlatGeoJson(both);
    expect(both).toEqual(copy);
  });

  it('of no trips is empty', () => {
    expect(toFlatGeoJson([])).toEqual({ type: 'FeatureCollection', features: [] });
  });
});

describe('a line over the antimeridian', () => {
  const over = (...longitudes: number[]) => {
    const [section] = toHome.sections;
    const coordinates = longitudes.map((longitude, i): [number, number] => [longitude, i]);
    const trip = shape({ ...toHome, sections: [{ ...section!, coordinates }] }, null);
    return toFlatGeoJson([trip]).features.at(-1)!.geometry;
  };

  it('is cut there, eastwards and westwards', () => {
    expect(over(179, -179)).toEqual({
      type: 'MultiLineString',
      coordinates: [
        [
          [179, 0],
          [180, 0.5],
        ],
        [
          [-180, 0.5],
          [-179, 1],
        ],
      ],
    });
    expect(over(-179, 179)).toEqual({
      type: 'MultiLineString',
      coordinates: [
        [
          [-179, 0],
          [-180, 0.5],
        ],
        [
          [180, 0.5],
          [179, 1],
        ],
      ],
    });
  });

  it('from the very meridian on is a line on its other side', () => {
    expect(over(180, -179)).toEqual({
      type: 'MultiLineString',
      coordinates: [
        [
          [180, 0],
          [180, 0],
        ],
        [
          [-180, 0],
          [-179, 1],
        ],
      ],
    });
  });

  it('along the meridian, named once by each of its names, has finite coordinates', () => {
    const numbers = JSON.stringify(over(180, -180, 180));
    expect(numbers).not.toContain('null');
  });

  it('is not cut if it is only long', () => {
    expect(over(-80, 80).type).toBe('LineString');
  });
});
