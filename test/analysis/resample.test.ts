// Step "resample": a vertex every 30 s and at the exact end, all lists aligned.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Location } from '../../src/analysis/clean/observations.ts';
import type { PathPoint } from '../../src/analysis/segmenter.ts';
import { type Line, resample } from '../../src/analysis/trips/trip-path.ts';
import { distance } from '../../src/model/geo/distance.ts';
import { cpuSeconds } from '../support/cpu.ts';
import { at, moving, since, spot } from '../support/phone.ts';

function through(...locations: Location[]): PathPoint[] {
  let length = 0;
  return locations.map((l, i) => {
    length += i === 0 ? 0 : distance(locations[i - 1]!, l);
    return { ts: l.ts, latitude: l.latitude, longitude: l.longitude, altitude: l.altitude, length };
  });
}

function expectAligned({ coordinates, altitudes, times, speeds, distances }: Line): void {
  const lengths = [altitudes, times, speeds, distances].map((list) => list.length);
  expect(lengths).toEqual(Array(4).fill(coordinates.length));
  expect([speeds[0], distances[0]]).toEqual([0, 0]);
}

it('a resampled path has vertices at the start, every 30 s, and at the exact end', () => {
  const line = resample(through(at(0, 0), at(50, 100), at(100, 100)));
  expectAligned(line);
  expect(line.times.map(since)).toEqual([0, 30, 60, 90, 100]);
  expect(line.coordinates.map(([longitude]) => longitude)).toEqual(
    [0, 60, 100, 100, 100].map((east) => expect.closeTo(spot(east).longitude, 9)),
  );
  expect(line.distances.map((m) => Number(m.toFixed(3)))).toEqual([0, 60, 40, 0, 0]);
  expect(line.speeds.map((m) => Number(m.toFixed(3)))).toEqual([0, 2, 1.333, 0, 0]);
});

it('a resampled path has the end once if it falls on a multiple of 30 s, and one vertex for a single location', () => {
  expect(resample(through(at(0, 0), at(60, 100))).times.map(since)).toEqual([0, 30, 60]);
  const line = resample(through(at(5, 5)));
  expectAligned(line);
  expect(line.times.map(since)).toEqual([5]);
});

it('a resampled path interpolates altitudes, and leaves them unknown if one of the two is unknown', () => {
  const [low, high, unknown] = [10, 20, null].map((altitude, i) => at(60 * i, Math.min(60 * i, 60), 0, { altitude }));
  const line = resample(through(low!, high!, unknown!));
  expect(line.altitudes).toEqual([10, 15, 20, null, null]);
});

it('a resampled path crosses the antimeridian the short way', () => {
  const east = { ...at(0, 0), latitude: 0, longitude: 179.9 };
  const west = { ...at(60, 0), latitude: 0, longitude: -179.9 };
  const { coordinates, distances } = resample(through(east, west));
  expect(Math.abs(coordinates[1]![0])).toBeCloseTo(180, 9);
  expect(Math.max(...distances)).toBeLessThan(12_000);
});

it('a resampled path keeps a section of a whole night below the maximum number of vertices', () => {
  const line = resample(through(at(0, 0), at(3_000_000, 1000)));
  expectAligned(line);
  expect(line.times.length).toBeLessThanOrEqual(20_001);
  expect(since(line.times.at(-1)!)).toBe(3_000_000);
});

it('a resampled path gives ascending times, steps of 30 s, finite numbers and the whole way for any locations', () => {
  const seconds = fc.double({ min: 0.001, max: 500, noNaN: true });
  const east = fc.double({ min: -1e4, max: 1e4, noNaN: true });
  fc.assert(
    fc.property(fc.array(fc.record({ seconds, east }), { minLength: 1, maxLength: 20 }), (list) => {
      const locations = [at(0, 0)];
      for (const { seconds, east } of list) locations.push(at(since(locations.at(-1)!.ts) + seconds, east));
      const line = resample(through(...locations));
      expectAligned(line);
      const ends = [locations[0]!, locations.at(-1)!];
      expect([line.times[0], line.times.at(-1)]).toEqual(ends.map(({ ts }) => ts));
      const places = ends.map(({ longitude, latitude }) => [longitude, latitude]);
      expect([line.coordinates[0], line.coordinates.at(-1)]).toEqual(places);
      const seconds = line.times.slice(1).map((ts, i) => ts - line.times[i]!);
      expect(seconds.filter((s) => !(s > 0 && s <= 30.000_001))).toEqual([]);
      expect([...line.speeds, ...line.distances].every(Number.isFinite)).toBe(true);
      const way = locations.slice(1).reduce((sum, one, i) => sum + distance(locations[i]!, one), 0);
      expect(line.distances.reduce((a, b) => a + b, 0)).toBeCloseTo(way, 6);
    }),
  );
});

it('a resampled path takes time in proportion to the number of locations', () => {
  const many = through(...moving({ from: 0, to: 400_000, every: 4, speed: 1 }));
  expect(cpuSeconds(() => expect(resample(many).times.length).toBeGreaterThan(10_000))).toBeLessThan(5);
});
