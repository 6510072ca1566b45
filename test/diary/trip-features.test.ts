// The GeoJSON shape of a trip that phones read.
import { readFileSync } from 'node:fs';
import type { Feature } from 'geojson';
import { expect, it } from 'vitest';
import { type AfterTrip, type SectionCollection, tripFeatures } from '../../src/diary/trip-features.ts';
import type { Entry } from '../../src/model/entry.ts';
import type { Trip } from '../../src/model/trip.ts';
import { at, trip } from '../support/equator-trips.ts';
import { userId, workday } from '../support/trips.ts';

const whole: { features: Feature[] } & object = JSON.parse(
  readFileSync(new URL('../fixtures/trip-document.json', import.meta.url), 'utf8'),
);
const [startPlace, endPlace] = whole.features as [Feature, Feature];

/** A walk and a ride by bus from Tokyo time to Los Angeles time, with a stop between them. */
const { trip: made } = trip(
  'a',
  [
    { times: [1000, 1100, 1200], easts: [0, 100, 200], mode: 'WALKING' },
    { times: [1300, 2000.5, 4000], easts: [210, 5000, 9000], mode: 'BUS' },
  ],
  {},
  ['Asia/Tokyo', 'America/Los_Angeles'],
);
const [walk, ride] = made!.sections as [Trip['sections'][0], Trip['sections'][0]];
const toWork: Trip = {
  ...made!,
  sections: [{ ...walk, mode_confidence: 0.9, mode_probabilities: { WALKING: 0.9, BICYCLING: 0.1 } }, ride],
  stops: made!.stops.map((stop) => ({ ...stop, distance: 10 })),
  end_place: { ...made!.end_place, raw_places: ['raw'], enter_zone: 'America/Los_Angeles', ending_trip: 'a' },
};
const left: AfterTrip = { exit_ts: 7000, starting_trip: 'b' };
const metadata = { key: 'manual/incident', write_ts: 9000, platform: 'android', type: 'message' };
const incident: Entry = {
  metadata: { ...metadata, time_zone: 'Europe/Berlin' },
  data: { ts: 1150, loc: { type: 'Point', coordinates: at(150) }, stress: 70 },
};
const features = (of: Partial<Trip> = {}, after = left, incidents: Entry[] = []) =>
  tripFeatures({ ...toWork, ...of }, after, incidents, userId);
const sectionsIn = ({ features: parts }: ReturnType<typeof features>) =>
  parts.filter((part): part is SectionCollection => part.type === 'FeatureCollection').map((one) => one.features[0]);

it('a trip is a FeatureCollection: start place, end place, stops, sections, incidents, with the members that clients read', () => {
  expect(features({}, left, [incident])).toEqual(whole);
});

it('a trip has the part of its length that no location shows, and so have its sections', () => {
  const found = features({ sections: [{ ...walk, estimated: 120.5 }, ride] });
  const parts = sectionsIn(found).map(({ properties }) => properties!.estimated);
  expect([found.properties.estimated, ...parts]).toEqual([120.5, 120.5, undefined]);
});

it('a trip is marked if its zone was guessed', () => {
  expect(features({ zone_guessed: true }).properties.time_zone_guessed).toBe(true);
});

it('nothing is null or undefined when it is sent, and lists of real sections have an element for each vertex', () => {
  const look = (value: unknown, path: string): string[] => {
    if (value === null || value === undefined) return [path];
    if (typeof value !== 'object') return [];
    return Object.entries(value).flatMap(([name, inner]) => look(inner, `${path}.${name}`));
  };
  for (const { trip: real } of workday()) {
    const found = features(real!, { exit_ts: null, starting_trip: null });
    expect(look(found, 'trip')).toEqual([]);
    expect(found.id).toMatch(/^[0-9a-f]{24}$/);
    for (const { geometry, properties } of sectionsIn(found)) {
      const { times, timestamps, speeds, distances } = properties as Record<string, number[]>;
      const lengths = [times, timestamps, speeds, distances].map((list) => list!.length);
      expect(lengths).toEqual(Array(4).fill(geometry.coordinates.length));
      expect(timestamps!.every(Number.isInteger)).toBe(true);
      expect([speeds![0], distances![0]]).toEqual([0, 0]);
      expect(distances!.reduce((a, b) => a + b, 0)).toBeCloseTo(properties!.distance, 6);
      expect([times![0], times!.at(-1)]).toEqual([properties!.start_ts, properties!.end_ts]);
    }
  }
});

it('the place between two trips is the same in both, with the stay on both sides', () => {
  const next = { start_place: toWork.end_place, start_ts: 7000, start_zone: 'America/Los_Angeles', id: 'b' };
  const [start] = features(next).features as [Feature];
  expect(start).toEqual({ ...endPlace, properties: { ...endPlace.properties, feature_type: 'start_place' } });
  expect(startPlace.properties).not.toHaveProperty('enter_ts'); // the first one
});

it.each([
  ['the newest place has no exit', { exit_ts: null, starting_trip: null }],
  ['a place before untracked time has an exit but no starting trip', { exit_ts: 4005, starting_trip: null }],
])('%s', (_, after) => {
  const { properties } = features({}, after).features[1] as Feature;
  const { exit_ts, duration, starting_trip, ...others } = properties!;
  const isLeft = after.exit_ts !== null;
  expect([exit_ts, duration, starting_trip]).toEqual(isLeft ? [4005, 5, undefined] : [undefined, undefined, undefined]);
  expect(Object.keys(others).filter((name) => name.startsWith('exit_'))).toHaveLength(isLeft ? 2 : 0);
});

it('a section that is a single point is a line of two equal vertices, lists included', () => {
  const firstOf = <T>(list: T[]) => list.slice(0, 1);
  const lists = { times: firstOf(walk.times), speeds: [0], distances: [0], coordinates: firstOf(walk.coordinates) };
  const [section] = sectionsIn(features({ sections: [{ ...walk, ...lists, altitudes: [null], distance: 0 }, ride] }));
  expect(section!.geometry.coordinates).toEqual([at(0), at(0)]);
  const twice = { times: [1000, 1000], timestamps: [1_000_000, 1_000_000], speeds: [0, 0], distances: [0, 0] };
  expect(section!.properties).toMatchObject({ ...twice, distance: 0 });
});
