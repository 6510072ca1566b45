// The drawings of a day: tiles lie where the places are, and parts where they were computed by hand.
// `REGEN=1` rewrites the maps of test/fixtures/maps for review.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Position, Trip } from '../../../src/model/trip.ts';
import { dayBar } from '../../../src/web/pages/day-bar.ts';
import { type DayItem, type ShownDay, zoneOfDay } from '../../../src/web/pages/day-items.ts';
import { type BaseMap, dayMap, type MapPlace } from '../../../src/web/pages/day-map.ts';
import { textsFor } from '../../../src/web/pages/texts/texts.ts';
import { metresPerDegree } from '../../support/equator-trips.ts';
import { expectFixture } from '../../support/fixture.ts';
import { runs } from '../../support/lives.ts';

const words = { title: 'Map', north: 'N', length: (metres: number) => `${metres} m` };

it('each place has its Web Mercator position on its tile, to one of 400 units', () => {
  const degrees = (most: number) => fc.double({ min: -most, max: most, noNaN: true });
  const [place, away] = [fc.tuple(degrees(180), degrees(70)), fc.tuple(degrees(0.2), degrees(0.1))];
  const base = { minZoom: 0, maxZoom: 16, attribution: '', href: (...at: number[]) => at.join('/') };
  fc.assert(
    fc.property(place, away, ([lon, lat], [east, north]) => {
      const positions: Position[] = [
        [lon, lat],
        [lon + east, lat + north],
      ];
      const places = positions.map((position, i) => ({ position, mark: String(i) }));
      const svg = dayMap([], places, words, base);
      const numbersIn = (pattern: RegExp) => [...svg.matchAll(pattern)].map((found) => found.slice(1).map(Number));
      const spots = numbersIn(/class="spot" cx="([\d.-]+)" cy="([\d.-]+)"/g);
      const images = /href="(\d+)\/(\d+)\/(\d+)" x="([\d.-]+)" y="([\d.-]+)" width="([\d.-]+)" height="([\d.-]+)"/g;
      const tiles = numbersIn(images);
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

it('without a base map no tile is requested, nor for a long path if the file has no small zooms', () => {
  const places = placesAt([0, 50], [3, 50]);
  expect(dayMap([], places, words)).not.toContain('href');
  expect(dayMap([], places, words, { ...tiles, minZoom: 14, maxZoom: 16 })).not.toContain('href');
  expect(dayMap([], [], words)).toBe('');
});

const alongLatitude = (north: number, ...east: number[]): Position[] => east.map((one) => [one, north]);
const sectionOf = (mode: string, from: number, to: number, coordinates: Position[]) =>
  ({ sensed_mode: `PredictedModeTypes.${mode}`, start_ts: from, end_ts: to, coordinates }) as Trip['sections'][number];
const tiles = { minZoom: 0, maxZoom: 13, attribution: '', href: (...at: number[]) => `/t/${at.join('/')}` };
const placesAt = (...positions: Position[]) => positions.map((position, i) => ({ position, mark: 'AB'[i]! }));
const line = (mode: string, ...coordinates: Position[]) => sectionOf(mode, 0, 1, coordinates);
// The second and the third position are drawn as one.
const rode = line('BUS', [0.001, 0], [0.004, 0.002], [0.00401, 0.002], [0.006, 0.002], [0.009, 0.001]);
const walked = line('WALKING', [0.009, 0.001], [0.01, 0.0005]);
const back = line('TRAIN', [0.01, 0.0005], [0.005, -0.001], [0.001, 0]);
function tripAlong(sections: Trip['sections'], ...positions: Position[]): Trip {
  const stops = positions.map((enter_loc) => ({ enter_loc }));
  return { id: 'a<b', start_ts: 0, end_ts: 0, sections, stops } as unknown as Trip;
}
const home = { position: [0.001, 0] as Position, mark: 'Home' };
const work = { position: [0.01, 0.0005] as Position, mark: 'Work <1>' };
const others = [alongLatitude(0.0005, 0, 0.0002, 0.0003, 0.01), alongLatitude(1, 1, 1.1)];
const there = tripAlong([walked, rode], [0.009, 0.001]);

it.each<[string, Parameters<typeof dayMap>]>([
  ['places-in-the-north', [[], placesAt([0, 50], [0.001, 50.02]), words]],
  ['tiles', [[], placesAt([13.4, 52.5], [13.42, 52.51]), words, { ...tiles, minZoom: 3 }]],
  ['world-repeats-tiles', [[], placesAt([-170, 60], [170, -60]), words, tiles]],
  ['trips', [[there, tripAlong([back])], [home, work], words, null, { others, isLinked: true }]],
])('test/fixtures/maps/%s.svg has every part at its place', (name, drawn) => {
  expectFixture(`maps/${name}.svg`, dayMap(...drawn));
});

/** A position on a map of 400 x 201 units, of 33,200 units a degree around 0, 0. */
const onMap = (x: number, y: number): Position => [(x - 200) / 33_200, (100.5 - y) / 33_200];
type MapOptions = Parameters<typeof dayMap>[4];
/** A map of this size, with a line through these positions. */
const mapThrough = (points: readonly Position[], ...rest: [MapPlace[]?, BaseMap?, MapOptions?]): string => {
  const [places = placesAt([0, 0]), base = null, options = {}] = rest;
  const trip = tripAlong([line('CAR', onMap(34, 34.1), onMap(366, 166.9), ...points)]);
  return dayMap([trip], places, words, base, options);
};

it('the label of a ring is at the first angle where no line is in its way, or left out', () => {
  // The place is at 200, 100.5, and the first ring 59.7 units around it.
  const labelWith = (...points: Position[]): string | undefined =>
    /class="t2 rt" (x="[\d.]+" y="[\d.]+") text-anchor="middle">200 m/.exec(mapThrough(points))?.[1];
  const angles = [0, 180, 20, -20, 160, -160, 45, -45, 135, -135, 90, -90].map((degrees) => (degrees * Math.PI) / 180);
  const spots = angles.map((angle) => [200 + 59.7 * Math.cos(angle), 100.5 - 59.7 * Math.sin(angle)] as const);
  const labels = spots.map(([x, y]) => `x="${x.toFixed(1)}" y="${Number(y.toFixed(1)) + 4}"`);
  const blocked = (count: number) => spots.slice(0, count).map(([x, y]) => onMap(x, y));
  const free = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].filter((count) => labelWith(...blocked(count)) === labels[count]);
  expect(free).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(labelWith(...blocked(12))).toBeUndefined();
  const angleAt = (x: number, y: number) => labels.indexOf(labelWith(onMap(x, y))!);
  expect([279.8, 279.6, 239.6, 239.8].map((x) => angleAt(x, 100.5))).toEqual([0, 1, 0, 1]);
  expect([109.6, 109.4, 91.4, 91.6].map((y) => angleAt(259.7, y))).toEqual([0, 1, 0, 1]);
});

it.each([
  [256.5, 100.5, 0, 'x="375.9" y="104.5"'],
  [256.6, 100.5, 0, 'x="137.2" y="104.5"'],
  [143.5, 100.5, 1, 'x="24.1" y="104.5"'],
  [143.4, 100.5, 1, 'x="255.6" y="63.7"'],
])('the label of the second ring around %d, %d, with %d angles blocked, is inside', (x, y, count, expected) => {
  const blocked = [119.4, -119.4].slice(0, count).map((east) => onMap(x + east, y));
  const svg = mapThrough([onMap(x, y), ...blocked], placesAt(onMap(x, y)));
  expect(/class="t2 rt" (x="[\d.]+" y="[\d.]+") text-anchor="middle">400 m/.exec(svg)?.[1]).toBe(expected);
});

it.each([
  [36, 'middle'],
  [35.9, 'start'],
  [364, 'middle'],
  [364.1, 'end'],
])('the name of a place at %d of 400 units is inside of the map', (x, anchor) => {
  const svg = mapThrough([], [{ position: onMap(x, 100.5), mark: '8 letter' }]);
  expect(/class="pn".*?text-anchor="(\w+)"/.exec(svg)![1]).toBe(anchor);
});

/** What a pattern captures at each place where it is found. */
const capturedIn = (svg: string, pattern: RegExp): string[] =>
  [...svg.matchAll(pattern)].map((one) => one.slice(1).join(' '));
const namesIn = (svg: string): string[] => capturedIn(svg, /class="pn" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"/g);

/** The labels of one letter beside the place at 200, 100.5: left and upper edge of 12 x 16 units, and their text. */
const labels = [
  [194, 109.5, '200 122.5 middle'],
  [210, 92.5, '211 105.5 start'],
  [178, 92.5, '189 105.5 end'],
  [208, 74.5, '209 87.5 start'],
  [208, 110.5, '209 123.5 start'],
  [180, 74.5, '191 87.5 end'],
  [180, 110.5, '191 123.5 end'],
] as const;

it.each(labels)('the name of a place at %d, %d does not hide a line, unless all other sides do', (left, top, text) => {
  const others = labels.filter((one) => one[2] !== text).map(([x, y]) => onMap(x + 6, y + 8));
  const labelWith = (x: number, y: number) => namesIn(mapThrough([...others, onMap(x, y), onMap(x, y)]))[0];
  const edges = [left, left + 12].map((x) => [x, top + 8] as const);
  edges.push(...[top, top + 16].map((y) => [left + 6, y] as const));
  expect(edges.map(([x, y]) => labelWith(x, y))).toEqual(Array(4).fill(text));
  const inside = edges.map(([x, y]) => labelWith(x + Math.sign(left + 6 - x) / 10, y + Math.sign(top + 8 - y) / 10));
  expect(inside).not.toContain(text);
});

/** The label below a place at 200, 100.5 fills 194 to 206 and 109.5 to 125.5 units; a place, 8 units to each side. */
it.each([
  [186, 117.5, 'free'],
  [214, 117.5, 'free'],
  [200, 133.5, 'free'],
  [200, 133.4, 'hidden'],
])('the name of a place beside a place at %d, %d is %s', (x, y, expected) => {
  const [label] = namesIn(mapThrough([], placesAt([0, 0], onMap(x, y))));
  expect(label!.includes(' 122.5 ') ? 'free' : 'hidden').toBe(expected);
});

it.each([
  [29.5, 1],
  [30.5, 2],
])('a bend of another trip after %d m is left out below 30 m', (metres, lines) => {
  const bend = onMap(100 + (metres * 33_200) / metresPerDegree, 100);
  const others = [[onMap(100, 100), bend, onMap(300, 150)]];
  const path = /class="others" d="(.*?)"/.exec(mapThrough([], [], undefined, { others }))![1]!;
  expect(path.split('L')).toHaveLength(lines + 1);
});

it('another trip is drawn if a part of it is inside of the map', () => {
  const isDrawn = (x: number, y: number) =>
    mapThrough([], [], undefined, { others: [[onMap(x, y), onMap(x, y)]] }).includes('others');
  const atEdges = (by: number) => [isDrawn(by, 100), isDrawn(400 - by, 100), isDrawn(200, by), isDrawn(200, 201 - by)];
  expect(atEdges(0)).toEqual([false, false, false, false]);
  expect(atEdges(0.1)).toEqual([true, true, true, true]);
});

it.each([
  [0.05688, 14],
  [0.057, 13],
])('a map of %d degrees has tiles of zoom %d, which are at most 256 units wide', (east, zoom) => {
  const svg = dayMap([], placesAt([0, 0], [east, 0]), words, { ...tiles, maxZoom: 16 });
  expect(new Set([...svg.matchAll(/\/t\/(\d+)/g)].map(([, z]) => Number(z)))).toEqual(new Set([zoom]));
});

it('a line continues across the date line, in both directions', () => {
  const scaleOf = (...east: number[]) => {
    const svg = dayMap([tripAlong([line('CAR', ...alongLatitude(0, ...east))])], [], words);
    return /class="rt" x="[\d.]+" y="3">(.*?)</.exec(svg)![1];
  };
  expect([scaleOf(179.995, -179.995), scaleOf(-179.995, 179.995), scaleOf(0, 0.01)]).toEqual(Array(3).fill('200 m'));
});

/** `class x width` of each part. */
const rectsOf = (svg: string): string[] =>
  capturedIn(svg, /<rect (?:class|fill)="([^"]+)".*? x="([^"]+)".*? width="([^"]+)"/g);
const t = textsFor(['en']);
/** A day without trips, which is final. */
const emptyDay = (from: number, to: number) =>
  ({ observed: { from, to }, trips: [], completeUntil: to }) as unknown as ShownDay;

it('the bar of a day has its parts, hours and texts at their times', () => {
  const start = Date.UTC(2024, 9, 26, 22) / 1000; // 25 hours in Berlin: at 3 the clock shows 2 again
  const at = (hours: number): number => start + hours * 3600;
  const observed = { from: at(0), to: at(25) };
  const trip = tripAlong([sectionOf('CAR', at(-1), at(1), []), sectionOf('WALKING', at(1), at(2.5), [])]);
  const zoned = { ...trip, start_zone: 'Europe/Berlin', end_zone: 'Europe/Berlin' };
  const day = { observed, trips: [zoned], before: null, after: null, completeUntil: at(5) } as unknown as ShownDay;
  const place = { name: 'Home', mark: 'H', look: 'home' };
  const items = [
    { kind: 'trip', from: at(0), to: at(2.5), trip },
    { kind: 'stay', from: at(2.5), to: at(5), place },
    { kind: 'gap', from: at(5), to: at(6), reason: 'phone off' },
    { kind: 'stay', from: at(6), to: at(7.5), place },
    { kind: 'gap', from: at(7.5), to: at(25), reason: 'before joining' },
  ] as unknown as DayItem[];
  const svg = dayBar(day, items, t).text;
  const bands = 'band home 10% 10.00%, hole 20% 4.00%, band home 24% 6.00%';
  const trips = 'on car 0% 4.00%, on walking 4% 6.00%';
  expect(rectsOf(svg).join(', ')).toBe(`${bands}, ${trips}, url(#draft) 24% 6.00%`);
  const named = capturedIn(svg, /<text x="([^"]+)" y="22" text-anchor="middle">(.*?)<\/text>/g);
  expect(named).toEqual(['15.00% Home', '27.00% H', `65.00% ${t.me.inBar.outside['before joining']}`]);
  const ticks = capturedIn(svg, /class="tick" x1="([^"]+)".*?y2="(\d+)"/g);
  expect(ticks.join(', ')).toBe('0% 40, 16% 37, 28% 40, 40% 37, 52% 40, 64% 37, 76% 40, 88% 37, 100% 40');
  const numbers = capturedIn(svg, /class="t2" x="([^"]+)" y="52" text-anchor="(\w+)">(\d+)/g);
  expect(numbers.join(', ')).toBe('0% start 0, 28% middle 6, 52% middle 12, 76% middle 18, 100% end 24');
  expect(svg).toContain(`00:00 ${t.me.inBar.trip(t.me.mode('CAR'))}, 02:30 Home, 04:00 ${t.me.inBar.not}, 05:00 Home`);
  const row = dayBar(day, items, t, true).text;
  expect([row.includes('Home'), row.includes('tick'), rectsOf(row)]).toEqual([false, false, rectsOf(svg)]);
});

it('a gap is named in the bar if it takes more than half of the day, a place if its name or mark has room', () => {
  const namesOf = (item: object, to: number, isRow = false) => {
    const svg = dayBar(emptyDay(0, 10_000), [{ from: 0, to, ...item }] as unknown as DayItem[], t, isRow).text;
    return capturedIn(svg, /y="22" text-anchor="middle">(.*?)</g).join();
  };
  const silent = { kind: 'gap', reason: 'silent' };
  expect([5000, 5001].map((to) => namesOf(silent, to))).toEqual(['', 'not recorded']);
  expect(namesOf(silent, 9000, true)).toBe('not recorded');
  const place = (name: string) => ({ kind: 'stay', place: { name, mark: 'M', look: 'place' } });
  expect([400, 401, 800, 801].map((to) => namesOf(place('abc'), to))).toEqual(['', 'M', 'M', 'abc']);
  expect([1000, 1001].map((to) => namesOf(place('abcde'), to))).toEqual(['M', 'abcde']);
  // In a row of a month only the stay of a whole day is named.
  expect([4000, 9000].map((to) => namesOf(place('abc'), to, true))).toEqual(['', 'abc all day.']);
  // The mark of home is its name.
  const home = { kind: 'stay', place: { name: 'Zu Hause', mark: 'Zu Hause', look: 'home' } };
  expect([1600, 1601].map((to) => namesOf(home, to))).toEqual(['', 'Zu Hause']);
});

it('a long text in the row of a month is left out where it would reach into the date', () => {
  const gap = { kind: 'gap', reason: 'silent', from: 0 };
  const isNamed = (to: number, language: string): boolean => {
    const items = [{ ...gap, to }] as unknown as DayItem[];
    return dayBar(emptyDay(0, 10_000), items, textsFor([language]), true).text.includes('</text>');
  };
  expect([5100, 7000, 7100].map((to) => isNamed(to, 'de'))).toEqual([false, false, true]);
  expect([5000, 5100].map((to) => isNamed(to, 'en'))).toEqual([false, true]);
});

it('the hours of a day that begins late or is short are shown as far as they exist', () => {
  const ticksOf = (from: number, to: number) =>
    capturedIn(dayBar(emptyDay(from, to), [], t).text, /class="tick" x1="([^"]+)"/g).join(' ');
  expect(ticksOf(0, 86_400)).toBe('0% 12.5% 25% 37.5% 50% 62.5% 75% 87.5% 100%');
  expect(ticksOf(7200, 86_400)).toBe('4.55% 18.18% 31.82% 45.45% 59.09% 72.73% 86.36% 100%');
});

it('a time has the zone of the trip at it or before it, else of the trip after it', () => {
  const trip = (start_ts: number, start_zone: string, end_zone: string) => {
    return { start_ts, end_ts: start_ts + 100, start_zone, end_zone };
  };
  const zone = (ts: number, day: object) =>
    zoneOfDay({ trips: [], before: null, after: null, ...day } as unknown as ShownDay, ts);
  const day = { trips: [trip(1000, 'A', 'B')], before: trip(0, 'C', 'D'), after: trip(2000, 'E', 'F') };
  expect([49, 50, 999, 1000, 1050, 3000].map((ts) => zone(ts, day)).join('')).toBe('CDDABB');
  expect([day, { ...day, trips: [] }, {}].map((one) => zone(-1, { ...one, before: null }))).toEqual(['A', 'E', 'UTC']);
});

it('places at one point have their names on different sides', () => {
  const places = Array.from({ length: 8 }, () => ({ position: [0, 0] as Position, mark: 'A' }));
  const sides = '211 122 start, 189 122 end, 209 104 start, 209 140 start, 191 104 end, 191 140 end';
  expect(namesIn(dayMap([], places, words)).join(', ')).toBe(`200 139 middle, ${sides}, 200 139 middle`);
});
