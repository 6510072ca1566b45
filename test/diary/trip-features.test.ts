// The GeoJSON shape of a trip that phones read, member by member.
import type { Feature, LineString } from 'geojson';
import { describe, expect, it } from 'vitest';
import { type AfterTrip, type SectionCollection, tripFeatures } from '../../src/diary/trip-features.ts';
import type { Entry } from '../../src/model/entry.ts';
import { entryId } from '../../src/model/ids.ts';
import { formatTime, localDateTime } from '../../src/model/time.ts';
import type { Trip } from '../../src/model/trip.ts';
import { estimatedField, estimatedOf } from '../../src/model/trip-fields.ts';
import { spot, t0, zone } from '../support/phone.ts';
import { android, pushedIncident } from '../support/pushes.ts';
import { userId, workday } from '../support/trips.ts';
import { words } from '../support/words.ts';

const [toWork, toHome] = workday().map((record) => record.trip!) as [Trip, Trip];
const left: AfterTrip = { exit_ts: toHome.start_ts, starting_trip: toHome.id };
const features = (trip: Trip, after = left, incidents: Entry[] = []) => tripFeatures(trip, after, incidents, userId);
const oid = (id: string) => ({ $oid: id });
const time = (name: string, ts: number, where = zone) => ({
  [`${name}_ts`]: ts,
  [`${name}_local_dt`]: localDateTime(ts, where),
  [`${name}_fmt_time`]: formatTime(ts, where),
});
const point = (coordinates: readonly number[]) => ({ type: 'Point', coordinates });
const hex = expect.stringMatching(/^[0-9a-f]{24}$/);

describe('a trip', () => {
  it('has the part of its length that no location shows, and so have its sections', () => {
    const sections = toWork.sections.map((section, i) => ({ ...section, estimated: i === 0 ? 120.5 : 0 }));
    const { properties, features: parts } = features({ ...toWork, sections });
    expect(properties.estimated).toBe(120.5);
    const lines = parts.filter((part): part is SectionCollection => part.type === 'FeatureCollection');
    const estimated = lines.map((one) => (one.features[0]!.properties as { estimated?: number }).estimated);
    expect(estimated).toEqual(sections.map((_, i) => (i === 0 ? 120.5 : undefined)));
  });

  it('is a FeatureCollection with the properties that clients read', () => {
    const { type, id, properties } = features(toWork);
    expect([type, id]).toEqual(['FeatureCollection', hex]);
    expect(properties).toEqual({
      source: 'StateSequence',
      ...time('start', toWork.start_ts),
      ...time('end', toWork.end_ts),
      start_loc: point(toWork.start_loc),
      end_loc: point(toWork.end_loc),
      duration: toWork.duration,
      distance: toWork.distance,
      ...estimatedField(estimatedOf(toWork)),
      start_place: oid(toWork.start_place.id),
      end_place: oid(toWork.end_place.id),
      raw_trip: oid(toWork.raw_trip),
      feature_type: 'trip',
    });
  });

  it('is marked if its zone was guessed', () => {
    expect(features({ ...toWork, zone_guessed: true }).properties.time_zone_guessed).toBe(true);
  });

  it('has its features in the order start place, end place, stops, sections, incidents', () => {
    const incident = pushedIncident(android, 300, 300, 50);
    const kinds = features(toWork, left, [incident]).features.map((f) =>
      f.type === 'FeatureCollection' ? f.features[0].properties!.feature_type : f.properties!.feature_type,
    );
    expect(kinds).toEqual(['start_place', 'end_place', 'stop', 'section', 'section', 'incident']);
  });

  it('has nothing that is null or undefined when it is sent', () => {
    const look = (value: unknown, path: string): string[] => {
      if (value === null || value === undefined) return [path];
      if (typeof value !== 'object') return [];
      return Object.entries(value).flatMap(([name, inner]) => look(inner, `${path}.${name}`));
    };
    expect(look(features(toWork, { exit_ts: null, starting_trip: null }), 'trip')).toEqual([]);
    expect(look(features(toHome), 'trip')).toEqual([]);
  });
});

describe('places', () => {
  it('the first one has no time of entry, no duration and no ending trip', () => {
    const [start] = features(toWork).features;
    expect(start).toEqual({
      type: 'Feature',
      id: hex,
      geometry: point(toWork.start_loc),
      properties: {
        source: toWork.source,
        raw_places: [],
        ...time('exit', toWork.start_ts),
        starting_trip: oid(toWork.id),
        feature_type: 'start_place',
      },
    });
  });

  it('between two trips is the same place in both, with the stay on both sides', () => {
    const end = features(toWork).features[1] as Feature;
    const start = features(toHome).features[0] as Feature;
    const stay = {
      source: toWork.source,
      raw_places: [oid(toWork.end_place.raw_places[0]!)],
      ...time('enter', toWork.end_ts),
      ...time('exit', toHome.start_ts),
      duration: toHome.start_ts - toWork.end_ts,
      ending_trip: oid(toWork.id),
      starting_trip: oid(toHome.id),
    };
    expect(end).toEqual({
      type: 'Feature',
      id: start.id,
      geometry: start.geometry,
      properties: { ...stay, feature_type: 'end_place' },
    });
    expect(start.properties).toEqual({ ...stay, feature_type: 'start_place' });
  });

  it('the newest has no exit', () => {
    const end = features(toHome, { exit_ts: null, starting_trip: null }).features[1] as Feature;
    expect(Object.keys(end.properties!)).toEqual(
      words(`
      source raw_places enter_ts enter_local_dt enter_fmt_time ending_trip feature_type
    `),
    );
  });

  it('one before untracked time has an exit but no starting trip', () => {
    const end = features(toHome, { exit_ts: toHome.end_ts + 5, starting_trip: null }).features[1] as Feature;
    expect(end.properties).toMatchObject({ exit_ts: toHome.end_ts + 5, duration: 5 });
    expect(end.properties).not.toHaveProperty('starting_trip');
  });
});

describe('a stop', () => {
  it('is a line from where one section ended to where the next began', () => {
    const [stop] = toWork.stops;
    const [before, after] = toWork.sections;
    expect(features(toWork).features[2]).toEqual({
      type: 'Feature',
      id: hex,
      geometry: { type: 'LineString', coordinates: [before!.coordinates.at(-1), after!.coordinates[0]] },
      properties: {
        trip_id: oid(toWork.id),
        ending_section: oid(before!.id),
        starting_section: oid(after!.id),
        ...time('enter', before!.end_ts),
        enter_loc: point(stop!.enter_loc),
        ...time('exit', after!.start_ts),
        exit_loc: point(stop!.exit_loc),
        duration: stop!.duration,
        distance: stop!.distance,
        source: 'StateSequence',
        feature_type: 'stop',
      },
    });
  });
});

describe('a section', () => {
  const sections = (trip: Trip): Feature<LineString>[] =>
    features(trip).features.flatMap((f) => (f.type === 'FeatureCollection' ? (f as SectionCollection).features : []));

  it('is a FeatureCollection with one line, and all its properties', () => {
    const [walk] = toWork.sections;
    const [collection] = features(toWork).features.filter((f) => f.type === 'FeatureCollection');
    expect(collection).toEqual({
      type: 'FeatureCollection',
      features: [
        {
          type: 'Feature',
          id: walk!.id,
          geometry: { type: 'LineString', coordinates: walk!.coordinates },
          properties: {
            trip_id: oid(toWork.id),
            ...time('start', walk!.start_ts),
            ...time('end', walk!.end_ts),
            sensed_mode: 'PredictedModeTypes.WALKING',
            mode_confidence: expect.closeTo(1, 0),
            mode_probabilities: expect.objectContaining({ WALKING: expect.closeTo(1, 0) }),
            distance: walk!.distance,
            ...estimatedField(walk!.estimated),
            duration: walk!.duration,
            times: walk!.times,
            timestamps: walk!.times.map((ts) => ts * 1000),
            speeds: walk!.speeds,
            distances: walk!.distances,
            end_stop: oid(toWork.stops[0]!.id),
            source: 'StateSequence',
            feature_type: 'section',
          },
        },
      ],
    });
  });

  it('has one element per vertex in each of its lists, whole milliseconds, and begins with zeros', () => {
    for (const { geometry, properties } of [...sections(toWork), ...sections(toHome)]) {
      const { times, timestamps, speeds, distances, distance } = properties as Record<string, number[]> & {
        distance: number;
      };
      const lengths = [times, timestamps, speeds, distances].map((list) => list!.length);
      expect(lengths).toEqual(Array(4).fill(geometry.coordinates.length));
      expect(timestamps!.every(Number.isInteger)).toBe(true);
      expect([speeds![0], distances![0]]).toEqual([0, 0]);
      expect(distances!.reduce((a, b) => a + b, 0)).toBeCloseTo(distance, 6);
      expect([times![0], times!.at(-1)]).toEqual([properties!.start_ts, properties!.end_ts]);
    }
  });

  it('names the stops before and after it; a trip has none at its ends', () => {
    const [walk, ride] = sections(toWork);
    const stop = oid(toWork.stops[0]!.id);
    expect([walk!.properties!.start_stop, walk!.properties!.end_stop]).toEqual([undefined, stop]);
    expect([ride!.properties!.start_stop, ride!.properties!.end_stop]).toEqual([stop, undefined]);
  });

  it('that is a single point is a line of two equal vertices, lists included', () => {
    const [walk, ride] = toWork.sections;
    const first = <T>(list: T[]) => list.slice(0, 1);
    const point = {
      ...walk!,
      coordinates: first(walk!.coordinates),
      altitudes: first(walk!.altitudes),
      times: first(walk!.times),
      speeds: first(walk!.speeds),
      distances: first(walk!.distances),
      distance: 0,
    };
    const [section] = sections({ ...toWork, sections: [point, ride!] });
    expect(section!.geometry.coordinates).toEqual([walk!.coordinates[0], walk!.coordinates[0]]);
    expect(section!.properties).toMatchObject({
      times: [walk!.start_ts, walk!.start_ts],
      speeds: [0, 0],
      distances: [0, 0],
      distance: 0,
    });
    expect(section!.properties!.timestamps).toEqual([walk!.start_ts * 1000, walk!.start_ts * 1000]);
  });
});

describe('zones', () => {
  it('in a trip across time zones, is the zone of the start in the first half and of the end in the second', () => {
    const abroad = { ...toWork, start_zone: 'Asia/Tokyo', end_zone: 'America/Los_Angeles' };
    const { properties, features: parts } = features(abroad);
    expect(properties).toMatchObject({
      ...time('start', toWork.start_ts, 'Asia/Tokyo'),
      ...time('end', toWork.end_ts, 'America/Los_Angeles'),
    });
    const [walk] = parts.flatMap((f) => (f.type === 'FeatureCollection' ? f.features : []));
    expect(walk!.properties!.start_fmt_time).toContain('+09:00');
    expect((parts[1] as Feature).properties!.exit_fmt_time).toContain('-08:00');
  });
});

describe('incidents', () => {
  const shown = (...incidents: Entry[]) =>
    features(toWork, left, incidents).features.filter(
      (f) => 'properties' in f && f.properties?.feature_type === 'incident',
    );

  it('are points with time and stress, in the zone that they name', () => {
    const incident = pushedIncident(android, 300, 360, 70, 9000);
    expect(shown(incident)).toEqual([
      {
        type: 'Feature',
        id: entryId(userId, incident.metadata),
        geometry: point([spot(360).longitude, spot(360).latitude]),
        properties: {
          ts: t0 + 300,
          local_dt: localDateTime(t0 + 300, zone),
          fmt_time: formatTime(t0 + 300, zone),
          stress: 70,
          feature_type: 'incident',
        },
      },
    ]);
    const elsewhere = pushedIncident({ platform: 'android', zone: 'Asia/Tokyo' }, 300, 360, 70);
    expect(shown(elsewhere)[0]).toMatchObject({ properties: { fmt_time: formatTime(t0 + 300, 'Asia/Tokyo') } });
  });

  it('without a valid location are left out', () => {
    const incident = pushedIncident(android, 300, 360, 70);
    for (const loc of [
      null,
      'here',
      {},
      { coordinates: 5 },
      { coordinates: ['1', '2'] },
      { coordinates: [1] },
      { coordinates: [1, Number.POSITIVE_INFINITY] },
    ]) {
      expect(shown({ ...incident, data: { ...incident.data, loc } })).toEqual([]);
    }
  });
});
