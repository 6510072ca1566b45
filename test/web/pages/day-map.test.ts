// The tiles behind a map lie where the map's own places are.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Position } from '../../../src/model/trip.ts';
import { dayMap } from '../../../src/web/pages/day-map.ts';
import { runs } from '../../support/lives.ts';

const words = { title: 'Map', north: 'N', length: (metres: number) => `${metres} m` };

it('each place lies on its tile where web mercator has it, within a unit of 400', () => {
  const place = fc.tuple(
    fc.double({ min: -180, max: 180, noNaN: true }),
    fc.double({ min: -70, max: 70, noNaN: true }),
  );
  const away = fc.tuple(
    fc.double({ min: -0.2, max: 0.2, noNaN: true }),
    fc.double({ min: -0.1, max: 0.1, noNaN: true }),
  );
  const base = { minZoom: 0, maxZoom: 16, attribution: '', href: (...at: number[]) => at.join('/') };
  fc.assert(
    fc.property(place, away, ([lon, lat], [east, north]) => {
      const positions: Position[] = [
        [lon, lat],
        [lon + east, lat + north],
      ];
      const places = positions.map((position, i) => ({ position, mark: String(i) }));
      const svg = dayMap([], places, words, base);
      const spots = [...svg.matchAll(/class="spot" cx="([\d.-]+)" cy="([\d.-]+)"/g)].map((found) => [
        +found[1]!,
        +found[2]!,
      ]);
      const images = /href="(\d+)\/(\d+)\/(\d+)" x="([\d.-]+)" y="([\d.-]+)" width="([\d.-]+)" height="([\d.-]+)"/g;
      const tiles = [...svg.matchAll(images)].map((found) => found.slice(1).map(Number));
      expect(tiles.length).toBeGreaterThan(0);
      expect(tiles.length).toBeLessThan(17);
      for (const [i, [longitude, latitude]] of positions.entries()) {
        const n = 2 ** tiles[0]![0]!;
        const column = (((longitude + 540) % 360) / 360) * n;
        const row = ((1 - Math.asinh(Math.tan((latitude * Math.PI) / 180)) / Math.PI) / 2) * n;
        const tile = tiles.find(([, x, y]) => x === Math.floor(column) % n && y === Math.floor(row))!;
        const [, x, y, left, top, width, height] = tile as [number, number, number, number, number, number, number];
        const [cx, cy] = spots[i] as [number, number];
        expect(Math.abs(left + (column - x) * width - cx)).toBeLessThan(1);
        expect(Math.abs(top + (row - y) * height - cy)).toBeLessThan(1);
      }
    }),
    runs(200),
  );
});

it('without a base map nothing is fetched, and a file without small zooms draws no way that is long', () => {
  const places = [0, 1].map((i) => ({ position: [i * 3, 50] as Position, mark: String(i) }));
  expect(dayMap([], places, words)).not.toContain('href');
  const base = { minZoom: 14, maxZoom: 16, attribution: '', href: () => 'x' };
  expect(dayMap([], places, words, base)).not.toContain('href');
});
