// The drawings of a day: tiles lie where the places are, and parts where they were computed by hand.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Position, Trip, TripRecord } from '../../../src/model/trip.ts';
import { dayBar } from '../../../src/web/pages/day-bar.ts';
import { type DayItem, dayItems, namedPlaces, type ShownDay, zoneOfDay } from '../../../src/web/pages/day-items.ts';
import { dayMap } from '../../../src/web/pages/day-map.ts';
import { dayRow } from '../../../src/web/pages/overview.ts';
import { textsFor } from '../../../src/web/pages/texts/texts.ts';
import { shownDays } from '../../../src/web/shown-days.ts';
import { madeTrip, storeTrips } from '../../server/trips.ts';
import { metresPerDegree } from '../../support/equator-trips.ts';
import { runs } from '../../support/lives.ts';
import { newStore } from '../../support/store.ts';

const words = { title: 'Map', north: 'N', length: (metres: number) => `${metres} m` };

it('each place has its Web Mercator position on its tile, to one of 400 units', () => {
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

it('without a base map no tile is requested, nor for a long path if the file has no small zooms', () => {
  const places = [0, 1].map((i) => ({ position: [i * 3, 50] as Position, mark: String(i) }));
  expect(dayMap([], places, words)).not.toContain('href');
  const base = { minZoom: 14, maxZoom: 16, attribution: '', href: () => 'x' };
  expect(dayMap([], places, words, base)).not.toContain('href');
});

const alongLatitude = (north: number, ...east: number[]): Position[] => east.map((one) => [one, north]);
const sectionOf = (mode: string, from: number, to: number, coordinates: Position[]) =>
  ({ sensed_mode: `PredictedModeTypes.${mode}`, start_ts: from, end_ts: to, coordinates }) as Trip['sections'][number];
const tripOf = (sections: Trip['sections'], enter_loc: Position): Trip =>
  ({ id: 'a<b', start_ts: 0, end_ts: 0, sections, stops: [{ enter_loc }] }) as unknown as Trip;

it('a map on the equator shows 0.01 degrees on 332 units, with matching lines, places, rings and scale', () => {
  const places = [0, 0.01].map((east, i) => ({ position: [east, 0] as Position, mark: 'AB'[i]! }));
  const west = sectionOf('WALKING', 0, 1, alongLatitude(0, 0, 0.0001, 0.00012, 0.005));
  const east = sectionOf('CAR', 1, 2, alongLatitude(0, 0.005, 0.01));
  const others = [alongLatitude(0.0005, 0, 0.0001, 0.01), alongLatitude(1, 1, 1.1)];
  const svg = dayMap([tripOf([west, east], [0.005, 0])], places, words, null, { others, isLinked: true });
  const [car, walk] = ['M200 95L366 95', 'M34 95L37.3 95L200 95'];
  expect(svg).toContain(`d="${car}"`);
  expect(svg).toContain(`d="${walk}"`);
  expect(svg.indexOf(car)).toBeLessThan(svg.indexOf(walk));
  for (const part of [
    'viewBox="0 0 400 190"',
    'id="way-a&#60;b"',
    'class="stop" cx="200" cy="95"',
    'class="spot" cx="34" cy="95"',
    '<text class="pn" x="34" y="117" text-anchor="middle">A</text>',
    '<text class="pn" x="366" y="117" text-anchor="middle">B</text>',
    'class="others" d="M34 78.4L366 78.4"',
    // 3.349 m a unit
    'd="M0-4v5h59.7v-5"/><text class="rt" x="66.7" y="3">200 m',
    'translate(378 150)',
    'class="ring" cx="34" cy="95" r="149.3"',
    'class="ring" cx="34" cy="95" r="298.6"',
    // The way passes east of the first ring, so its label is at 20 degrees.
    '<text class="t2 rt" x="174.3" y="47.9" text-anchor="middle">500 m',
    '<text class="t2 rt" x="332.6" y="99" text-anchor="middle">1000 m',
  ])
    expect(svg).toContain(part);
  expect(svg.match(/class="ring"/g)).toHaveLength(2);
});

const tiles = { minZoom: 0, maxZoom: 13, attribution: '', href: (...at: number[]) => `/t/${at.join('/')}` };
const placesAt = (...positions: Position[]) => positions.map((position, i) => ({ position, mark: 'AB'[i]! }));
const rode = sectionOf('BUS', 0, 1, [
  [0.001, 0],
  [0.004, 0.002],
  [0.006, 0.002],
  [0.009, 0.001],
]);
const walked = sectionOf('WALKING', 0, 1, [
  [0.009, 0.001],
  [0.01, 0.0005],
]);
const back = sectionOf('TRAIN', 0, 1, [
  [0.01, 0.0005],
  [0.005, -0.001],
  [0.001, 0],
]);
const tripAlong = (sections: Trip['sections'], ...stops: Position[]): Trip =>
  ({ id: 'a', start_ts: 0, end_ts: 0, sections, stops: stops.map((enter_loc) => ({ enter_loc })) }) as unknown as Trip;
const home = { position: [0.001, 0] as Position, mark: 'Home' };
const work = { position: [0.01, 0.0005] as Position, mark: 'Work <1>' };
const others = [alongLatitude(0.0005, 0, 0.0002, 0.0003, 0.01), alongLatitude(1, 1, 1.1)];
const north = (up: number) =>
  `<g transform="translate(378 ${up})"><path class="north" d="M0-14 5 3 0 0-5 3z"/><text y="17" text-anchor="middle">N</text></g></svg>`;

it.each<[string, Parameters<typeof dayMap>, string[]]>([
  [
    'a map of two places in the north and south',
    [[], placesAt([0, 50], [0.001, 50.02]), words],
    [
      '<svg class="map" viewBox="0 0 400 316" role="img" aria-label="Map">',
      '<svg width="400" height="316">',
      '<circle class="ring" cx="196" cy="282" r="111.5"/>',
      '<circle class="ring" cx="196" cy="282" r="223"/>',
      '<circle class="ring" cx="196" cy="282" r="334.5"/>',
      '</svg>',
      '<text class="t2 rt" x="307.5" y="286" text-anchor="middle">1000 m</text>',
      '<text class="t2 rt" x="353.7" y="128.3" text-anchor="middle">2000 m</text>',
      '<circle class="spot" cx="196" cy="282" r="6.5"/>',
      '<text class="pn" x="196" y="304" text-anchor="middle">A</text>',
      '<circle class="spot" cx="204" cy="34" r="6.5"/>',
      '<text class="pn" x="204" y="56" text-anchor="middle">B</text>',
      '<g transform="translate(14 18)">',
      '<path class="scale" d="M0-4v5h55.8v-5"/>',
      '<text class="rt" x="62.8" y="3">500 m</text>',
      '</g>',
      north(276),
    ],
  ],
  [
    'a map in front of tiles',
    [[], placesAt([13.4, 52.5], [13.42, 52.51]), words, { ...tiles, minZoom: 3 }],
    [
      '<svg class="map" viewBox="0 0 400 316" role="img" aria-label="Map">',
      '<svg class="base" aria-hidden="true" width="400" height="316">',
      '<image href="/t/13/4400/2686" x="-564.2" y="-617.6" width="663.4" height="663.1" preserveAspectRatio="none"/>',
      '<image href="/t/13/4401/2686" x="99.2" y="-617.6" width="663.3" height="663.1" preserveAspectRatio="none"/>',
      '<image href="/t/13/4400/2687" x="-564.2" y="45.5" width="663.4" height="663.6" preserveAspectRatio="none"/>',
      '<image href="/t/13/4401/2687" x="99.2" y="45.5" width="663.3" height="663.6" preserveAspectRatio="none"/>',
      '</svg>',
      '<svg width="400" height="316">',
      '<circle class="ring" cx="49" cy="282" r="223"/>',
      '<circle class="ring" cx="49" cy="282" r="446.1"/>',
      '</svg>',
      '<text class="t2 rt" x="272.0" y="286" text-anchor="middle">1000 m</text>',
      '<circle class="spot" cx="49" cy="282" r="6.5"/>',
      '<text class="pn" x="49" y="304" text-anchor="middle">A</text>',
      '<circle class="spot" cx="351" cy="34" r="6.5"/>',
      '<text class="pn" x="351" y="56" text-anchor="middle">B</text>',
      '<g transform="translate(14 18)">',
      '<path class="scale" d="M0-4v5h44.6v-5"/>',
      '<text class="rt" x="51.6" y="3">200 m</text>',
      '</g>',
      north(276),
    ],
  ],
  [
    'a map of the world repeats its tiles',
    [[], placesAt([-170, 60], [170, -60]), words, tiles],
    [
      '<svg class="map" viewBox="0 0 400 190" role="img" aria-label="Map">',
      '<svg class="base" aria-hidden="true" width="400" height="190">',
      '<image href="/t/1/1/0" x="-151.5" y="12" width="175.7" height="83.0" preserveAspectRatio="none"/>',
      '<image href="/t/1/0/0" x="24.2" y="12" width="175.8" height="83.0" preserveAspectRatio="none"/>',
      '<image href="/t/1/1/0" x="200" y="12" width="175.8" height="83.0" preserveAspectRatio="none"/>',
      '<image href="/t/1/0/0" x="375.8" y="12" width="175.7" height="83.0" preserveAspectRatio="none"/>',
      '<image href="/t/1/1/1" x="-151.5" y="95" width="175.7" height="83.0" preserveAspectRatio="none"/>',
      '<image href="/t/1/0/1" x="24.2" y="95" width="175.8" height="83.0" preserveAspectRatio="none"/>',
      '<image href="/t/1/1/1" x="200" y="95" width="175.8" height="83.0" preserveAspectRatio="none"/>',
      '<image href="/t/1/0/1" x="375.8" y="95" width="175.7" height="83.0" preserveAspectRatio="none"/>',
      '</svg>',
      '<svg width="400" height="190">',
      '<circle class="ring" cx="34" cy="36.4" r="175.6"/>',
      '<circle class="ring" cx="34" cy="36.4" r="351.3"/>',
      '</svg>',
      '<text class="t2 rt" x="209.6" y="40.4" text-anchor="middle">20000000 m</text>',
      '<circle class="spot" cx="34" cy="36.4" r="6.5"/>',
      '<text class="pn" x="34" y="58.4" text-anchor="middle">A</text>',
      '<circle class="spot" cx="366" cy="153.6" r="6.5"/>',
      '<text class="pn" x="355" y="158.6" text-anchor="end">B</text>',
      '<g transform="translate(14 18)">',
      '<path class="scale" d="M0-4v5h87.8v-5"/>',
      '<text class="rt" x="94.8" y="3">10000000 m</text>',
      '</g>',
      north(150),
    ],
  ],
  [
    'a map of trips',
    [[tripAlong([walked, rode], [0.009, 0.001]), tripAlong([back])], [home, work], words, null, { others }],
    [
      '<svg class="map" viewBox="0 0 400 190" role="img" aria-label="Map">',
      '<svg width="400" height="190">',
      '<path class="others" d="M-2.9 95L8.2 95L366 95"/>',
      '</svg>',
      '<svg width="400" height="190">',
      '<circle class="ring" cx="34" cy="113.4" r="165.9"/>',
      '<circle class="ring" cx="34" cy="113.4" r="331.7"/>',
      '</svg>',
      '<g class="one">',
      '<path class="case" d="M34 113.4L144.7 39.7L218.4 39.7L329.1 76.6"/>',
      '<path class="way bus" d="M34 113.4L144.7 39.7L218.4 39.7L329.1 76.6"/>',
      '<path class="core bus" d="M34 113.4L144.7 39.7L218.4 39.7L329.1 76.6"/>',
      '<path class="case" d="M329.1 76.6L366 95"/>',
      '<path class="way walking" d="M329.1 76.6L366 95"/>',
      '</g>',
      '<g class="one">',
      '<path class="case" d="M366 95L181.6 150.3L34 113.4"/>',
      '<path class="way train" d="M366 95L181.6 150.3L34 113.4"/>',
      '<path class="core train" d="M366 95L181.6 150.3L34 113.4"/>',
      '</g>',
      '<circle class="stop" cx="329.1" cy="76.6" r="3.6"/>',
      '<text class="t2 rt" x="199.9" y="117.4" text-anchor="middle">500 m</text>',
      '<text class="t2 rt" x="365.7" y="117.4" text-anchor="middle">1000 m</text>',
      '<circle class="spot" cx="34" cy="113.4" r="6.5"/>',
      '<text class="pn" x="34" y="135.4" text-anchor="middle">Home</text>',
      '<circle class="spot" cx="366" cy="95" r="6.5"/>',
      '<text class="pn" x="355" y="100" text-anchor="end">Work &#60;1&#62;</text>',
      '<g transform="translate(14 18)">',
      '<path class="scale" d="M0-4v5h66.3v-5"/>',
      '<text class="rt" x="73.3" y="3">200 m</text>',
      '</g>',
      north(150),
    ],
  ],
])('%s has every part at its place', (_, drawn, parts) => {
  expect(dayMap(...drawn).split(/(?<=>)(?=<)/)).toEqual(parts.join('').split(/(?<=>)(?=<)/));
});

it('the label of a ring is at the first angle where no line is in its way, or left out', () => {
  // 33,200 units a degree, the place at 200, 100.5, and the first ring 59.7 units around it.
  const at = (x: number, y: number): Position => [(x - 200) / 33_200, (100.5 - y) / 33_200];
  const corners = [at(34, 34.1), at(366, 166.9)];
  const labelWith = (...points: Position[]): string | undefined => {
    const svg = dayMap([tripAlong([sectionOf('CAR', 0, 1, [...corners, ...points])])], placesAt([0, 0]), words);
    return /class="t2 rt" (x="[\d.]+" y="[\d.]+") text-anchor="middle">200 m/.exec(svg)?.[1];
  };
  const angles = [0, 180, 20, -20, 160, -160, 45, -45, 135, -135, 90, -90].map((degrees) => (degrees * Math.PI) / 180);
  const spots = angles.map((angle) => [200 + 59.7 * Math.cos(angle), 100.5 - 59.7 * Math.sin(angle)] as const);
  const labels = spots.map(([x, y]) => `x="${x.toFixed(1)}" y="${Number(y.toFixed(1)) + 4}"`);
  const blocked = (count: number) => spots.slice(0, count).map(([x, y]) => at(x, y));
  const free = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].filter((count) => labelWith(...blocked(count)) === labels[count]);
  expect(free).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(labelWith(...blocked(12))).toBeUndefined();
  for (const [x, y, place] of [
    [279.8, 100.5, 0],
    [279.6, 100.5, 1],
    [239.6, 100.5, 0],
    [239.8, 100.5, 1],
    [259.7, 109.6, 0],
    [259.7, 109.4, 1],
    [259.7, 91.4, 0],
    [259.7, 91.6, 1],
  ] as const)
    expect([x, y, labelWith(at(x, y))]).toEqual([x, y, labels[place]]);
});

/** A position on a map of 400 x 201 units, of 33,200 units a degree around 0, 0. `corners` give it this size. */
const onMap = (x: number, y: number): Position => [(x - 200) / 33_200, (100.5 - y) / 33_200];
const corners = sectionOf('CAR', 0, 1, [onMap(34, 34.1), onMap(366, 166.9)]);

it.each([
  [256.5, 100.5, 0, 'x="375.9" y="104.5"'],
  [256.6, 100.5, 0, 'x="137.2" y="104.5"'],
  [143.5, 100.5, 1, 'x="24.1" y="104.5"'],
  [143.4, 100.5, 1, 'x="255.6" y="63.7"'],
])(
  'the label of the second ring around %d, %d, with %d angles blocked, is inside of the map',
  (x, y, count, expected) => {
    const blocked = [0, 180]
      .slice(0, count)
      .map((degrees) => onMap(x + 119.4 * Math.cos((degrees * Math.PI) / 180), y));
    const trip = tripAlong([corners, sectionOf('CAR', 0, 1, [onMap(x, y), ...blocked])]);
    const svg = dayMap([trip], [{ position: onMap(x, y), mark: 'A' }], words);
    expect(/class="t2 rt" (x="[\d.]+" y="[\d.]+") text-anchor="middle">400 m/.exec(svg)?.[1]).toBe(expected);
  },
);

it.each([
  [36, 'middle'],
  [35.9, 'start'],
  [364, 'middle'],
  [364.1, 'end'],
])('the name of a place at %d of 400 units is inside of the map', (x, anchor) => {
  const svg = dayMap([tripAlong([corners])], [{ position: onMap(x, 100.5), mark: '8 letter' }], words);
  expect(/class="pn".*?text-anchor="(\w+)"/.exec(svg)![1]).toBe(anchor);
});

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
  const labelWith = (x: number, y: number) => {
    const trip = tripAlong([corners, sectionOf('CAR', 0, 1, [...others, onMap(x, y), onMap(x, y)])]);
    const label = /class="pn" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)"/.exec(
      dayMap([trip], placesAt([0, 0]), words),
    );
    return label!.slice(1).join(' ');
  };
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
  const places = placesAt([0, 0], onMap(x, y));
  const label = /class="pn" x="[\d.]+" y="([\d.]+)"/.exec(dayMap([tripAlong([corners])], places, words))![1];
  expect(label === '122.5' ? 'free' : 'hidden').toBe(expected);
});

it.each([
  [29.5, 1],
  [30.5, 2],
])('a bend of another trip after %d m is left out below 30 m', (metres, lines) => {
  const bend = onMap(100 + (metres * 33_200) / metresPerDegree, 100);
  const others = [[onMap(100, 100), bend, onMap(300, 150)]];
  const path = /class="others" d="(.*?)"/.exec(dayMap([tripAlong([corners])], [], words, null, { others }))![1]!;
  expect(path.split('L')).toHaveLength(lines + 1);
});

it('another trip is drawn if a part of it is inside of the map', () => {
  const isDrawn = (x: number, y: number) =>
    dayMap([tripAlong([corners])], [], words, null, { others: [[onMap(x, y), onMap(x, y)]] }).includes('others');
  const spots = [
    [0, 100],
    [400, 100],
    [200, 0],
    [200, 201],
  ] as const;
  expect(spots.map(([x, y]) => isDrawn(x, y))).toEqual([false, false, false, false]);
  const inside = spots.map(([x, y]) => isDrawn(x + (200 - x) / 2000, y + (100 - y) / 1000));
  expect(inside).toEqual([true, true, true, true]);
});

it.each([
  [0.05688, 14],
  [0.057, 13],
])('a map of %d degrees has tiles of zoom %d, which are at most 256 units wide', (east, zoom) => {
  const svg = dayMap([], placesAt([0, 0], [east, 0]), words, { ...tiles, maxZoom: 16 });
  expect(new Set([...svg.matchAll(/\/t\/(\d+)/g)].map(([, z]) => Number(z)))).toEqual(new Set([zoom]));
});

it('a line continues across the date line, in both directions', () => {
  const scaleOf = (...east: number[]) =>
    /class="rt" x="[\d.]+" y="3">(.*?)</.exec(
      dayMap([tripAlong([sectionOf('CAR', 0, 1, alongLatitude(0, ...east))])], [], words),
    )![1];
  expect([scaleOf(179.995, -179.995), scaleOf(-179.995, 179.995), scaleOf(0, 0.01)]).toEqual(Array(3).fill('200 m'));
});

/** `class x width` of each part. */
const rectsOf = (svg: string): string[] =>
  [...svg.matchAll(/<rect (?:class|fill)="([^"]+)".*? x="([^"]+)".*? width="([^"]+)"/g)].map((one) =>
    one.slice(1).join(' '),
  );

it('the bar of a day has its parts, hours and texts at their times', () => {
  const t = textsFor(['en']);
  const start = Date.UTC(2024, 9, 26, 22) / 1000; // 25 hours in Berlin: at 3 the clock shows 2 again
  const at = (hours: number): number => start + hours * 3600;
  const observed = { from: at(0), to: at(25) };
  const trip = tripOf([sectionOf('CAR', at(-1), at(1), []), sectionOf('WALKING', at(1), at(2.5), [])], [0, 0]);
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
  const [bands, trips] = [
    'band home 10% 10.00%, hole 20% 4.00%, band home 24% 6.00%',
    'on car 0% 4.00%, on walking 4%',
  ];
  expect(rectsOf(svg).join(', ')).toBe(`${bands}, ${trips} 6.00%, url(#draft) 24% 6.00%`);
  const texts = [...svg.matchAll(/<text x="([^"]+)" y="22" text-anchor="middle">(.*?)<\/text>/g)];
  const named = texts.map(([, x, name]) => `${x} ${name}`).join(', ');
  expect(named).toBe(`15.00% Home, 27.00% H, 65.00% ${t.me.inBar.outside['before joining']}`);
  const ticks = [...svg.matchAll(/class="tick" x1="([^"]+)".*?y2="(\d+)"/g)].map(([, x, y]) => `${x} ${y}`);
  expect(ticks.join(', ')).toBe('0% 40, 16% 37, 28% 40, 40% 37, 52% 40, 64% 37, 76% 40, 88% 37, 100% 40');
  const numbers = [...svg.matchAll(/class="t2" x="([^"]+)" y="52" text-anchor="(\w+)">(\d+)/g)].map((one) =>
    one.slice(1).join(' '),
  );
  expect(numbers.join(', ')).toBe('0% start 0, 28% middle 6, 52% middle 12, 76% middle 18, 100% end 24');
  expect(svg).toContain(`00:00 ${t.me.inBar.trip(t.me.mode('CAR'))}, 02:30 Home, 04:00 ${t.me.inBar.not}, 05:00 Home`);
  const row = dayBar(day, items, t, true).text;
  expect([row.includes('Home'), row.includes('tick'), rectsOf(row)]).toEqual([false, false, rectsOf(svg)]);
});

it('a gap is named in the bar if it takes more than half of the day, a place if its name or mark has room', () => {
  const t = textsFor(['en']);
  const day = { observed: { from: 0, to: 10_000 }, trips: [], completeUntil: 10_000 } as unknown as ShownDay;
  const namesOf = (item: object, to: number, isRow = false) => {
    const svg = dayBar(day, [{ from: 0, to, ...item }] as unknown as DayItem[], t, isRow).text;
    return [...svg.matchAll(/y="22" text-anchor="middle">(.*?)</g)].map((one) => one[1]).join();
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
  const day = { observed: { from: 0, to: 10_000 }, trips: [], completeUntil: 10_000 } as unknown as ShownDay;
  const gap = { kind: 'gap', reason: 'silent', from: 0 };
  const isNamed = (to: number, language: string): boolean =>
    dayBar(day, [{ ...gap, to }] as unknown as DayItem[], textsFor([language]), true).text.includes('</text>');
  expect([5100, 7000, 7100].map((to) => isNamed(to, 'de'))).toEqual([false, false, true]);
  expect([5000, 5100].map((to) => isNamed(to, 'en'))).toEqual([false, true]);
});

it('the hours of a day that begins late or is short are shown as far as they exist', () => {
  const t = textsFor(['en']);
  const ticksOf = (from: number, to: number) => {
    const day = { observed: { from, to }, trips: [], completeUntil: to } as unknown as ShownDay;
    return [...dayBar(day, [], t).text.matchAll(/class="tick" x1="([^"]+)"/g)].map((one) => one[1]).join(' ');
  };
  expect(ticksOf(0, 86_400)).toBe('0% 12.5% 25% 37.5% 50% 62.5% 75% 87.5% 100%');
  expect(ticksOf(7200, 86_400)).toBe('4.55% 18.18% 31.82% 45.45% 59.09% 72.73% 86.36% 100%');
});

const gap = (kind: string, from: number, to: number, reason?: string) => ({ kind, from, to, reason });
const place = { id: 'a', enter_ts: null };
const ends = {
  ...{ start_loc: [0, 0], end_loc: [0, 0], start_zone: 'UTC', end_zone: 'UTC' },
  ...{ start_place: place, end_place: place },
};
const stayed = {
  before: { start_ts: -1, end_ts: 0, ...ends },
  trips: [],
  after: null,
  placeAt: () => ({ name: 'A', mark: '' }),
};

it('gaps that follow each other or a short stay are one gap if they have the same reason', () => {
  const spans = [
    gap('unobserved', 0, 1000, 'phone off'),
    gap('unobserved', 1000, 2000, 'phone off'),
    gap('staying', 2000, 2299),
    gap('unobserved', 2299, 3000, 'phone off'),
    gap('unobserved', 3000, 4000, 'no permission'),
    gap('staying', 4000, 4300),
    gap('unobserved', 4300, 5000, 'no permission'),
    gap('unobserved', 5000, 5059, 'phone off'),
  ];
  const after = { start_ts: 6000, end_ts: 7000, ...ends };
  const items = dayItems({ ...stayed, after, now: 5e9, observed: { from: 0, to: 6000, spans } } as unknown as ShownDay);
  const words = items.map(
    (one) => `${one.from}-${one.to} ${one.kind === 'gap' ? `${one.reason} ${one.parts}` : one.kind}`,
  );
  expect(words.join(', ')).toBe(
    '0-3000 phone off 3, 3000-4000 no permission 1, 4000-4300 stay, 4300-5000 no permission 1',
  );
  expect(items.map((one) => one.kind === 'gap' && `${one.here?.name}${one.there?.name}`)).toEqual([
    'AA',
    'AA',
    false,
    'AA',
  ]);
});

it('a stay that began the day before is listed from one minute on, any other from one second on', () => {
  const after = { start_ts: 90_000, end_ts: 90_001, ...ends };
  const listed = (...spans: ReturnType<typeof gap>[]) =>
    dayItems({ ...stayed, after, now: 5e9, observed: { from: 0, to: 86_400, spans } } as unknown as ShownDay).map(
      ({ kind, from, to }) => `${kind} ${from}-${to}`,
    );
  const off = (from: number, to: number) => gap('unobserved', from, to, 'phone off');
  expect(listed(gap('staying', 0, 60), off(60, 900))).toEqual(['stay 0-60', 'gap 60-900']);
  expect(listed(gap('staying', 0, 59), off(59, 900))).toEqual(['gap 59-900']);
  expect(listed(off(0, 900), gap('staying', 900, 901))).toEqual(['gap 0-900', 'stay 900-901']);
  expect(listed(off(0, 900), gap('staying', 900, 900.9))).toEqual(['gap 0-900']);
});

it.each([
  [{ name: null, home: 0.8 }, true, { name: 'Home?', isGuess: true, look: 'home' }],
  [{ name: null, home: 0.79 }, true, { name: 'Place A', isGuess: undefined, look: 'place' }],
  [{ name: null, home: 1 }, false, { name: 'Place A', isGuess: undefined, look: 'place' }],
  [{ name: null, home: null }, true, { name: 'Place A', isGuess: undefined, look: 'place' }],
  [{ name: 'Home', home: 1 }, true, { name: 'Home', isGuess: undefined, look: 'home' }],
])('a place of %o, shown to its owner: %s, looks like %o', (place, isOwn, expected) => {
  const places = { of: () => ({ letter: 'A', ...place }) } as unknown as Parameters<typeof namedPlaces>[0];
  const { name, isGuess, look } = namedPlaces(places, textsFor(['en']), isOwn)([0, 0]);
  expect({ name, isGuess, look }).toEqual(expected);
});

it('a trip that ends at midnight does not belong to the next day', async () => {
  const store = await newStore();
  const { user } = await store.users.register('ada', { now: 1_463_400_000 });
  const midnight = Date.UTC(2016, 4, 18) / 1000;
  const made = (start_ts: number): TripRecord => madeTrip(start_ts, [{ mode: 'CAR', duration: 250 }], 'UTC');
  const tripsOf = async (): Promise<[number, number | undefined]> => {
    const days = shownDays(store, user, { from: '2016-05-18', to: '2016-05-18' }, { t: textsFor(['en']), now: 1.5e9 });
    const { trips, before } = (await days.next()).value!;
    return [trips.length, before?.start_ts];
  };
  await storeTrips(store, user.uuid, [made(midnight - 86_400), made(midnight - 250)]);
  expect(await tripsOf()).toEqual([0, midnight - 250]);
  await storeTrips(store, user.uuid, [made(midnight - 86_400), made(midnight - 249)]);
  expect(await tripsOf()).toEqual([1, midnight - 86_400]);
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

it('a map is narrower in the north, continues at the date line, and is empty without a place', () => {
  const placesAt = (...positions: Position[]) => positions.map((position) => ({ position, mark: '' }));
  const north = dayMap([], placesAt([0, 60], [0.01, 60]), words);
  for (const part of ['h59.7v-5"/><text class="rt" x="66.7" y="3">100 m', 'cx="34" cy="95"', 'cx="366" cy="95"'])
    expect(north).toContain(part);
  const over = (...east: number[]) => {
    const line = sectionOf('CAR', 0, 1, alongLatitude(0, ...east));
    return dayMap([tripOf([line], line.coordinates[0]!)], [], words);
  };
  expect(over(179.995, -179.995)).toContain('d="M34 95L366 95"');
  expect(over(-179.995, 179.995)).toContain('d="M366 95L34 95"');
  expect(dayMap([], [], words)).toBe('');
});

it('places at one point have their names on different sides', () => {
  const places = Array.from({ length: 8 }, () => ({ position: [0, 0] as Position, mark: 'A' }));
  const names = [...dayMap([], places, words).matchAll(/"pn" x="(\d+)" y="(\d+)" text-anchor="(\w+)"/g)];
  const sides = '211 122 start, 189 122 end, 209 104 start, 209 140 start, 191 104 end, 191 140 end';
  expect(names.map((one) => one.slice(1).join(' ')).join(', ')).toBe(`200 139 middle, ${sides}, 200 139 middle`);
});

it('the row of a day shows that it is not final, else how much was recorded, unless all of it was', () => {
  const t = textsFor(['en']);
  const rowOf = (recorded: number, completeUntil: number, reason = 'phone off', now = 5000) => {
    const spans = [gap('staying', 0, recorded), gap('unobserved', recorded, 1000, reason)];
    const sums = { moving_s: 0, staying_s: recorded, unobserved_s: 1000 - recorded };
    const observed = { day: '2024-03-11', from: 0, to: 1000, spans, ...sums };
    const rest = { began: [], completeUntil, flagged: [], now };
    const found = dayRow({ ...stayed, observed, ...rest } as unknown as ShownDay, 'x', t);
    return [/"n soft" aria-hidden="true">(.*?)</.exec(found.row.text)?.[1], found.past, found.recorded];
  };
  expect(rowOf(800, 1000)).toEqual([t.share(0.8), 1000, 800]);
  expect(rowOf(1000, 1000)).toEqual(['', 1000, 1000]);
  expect(rowOf(800, 500)).toEqual([t.me.draftMark, 1000, 800]);
  expect(rowOf(0, 1000, 'after leaving')).toEqual(['', 0, 0]);
  expect(rowOf(400, 1000, 'phone off', 500)).toEqual([t.share(0.8), 500, 400]);
  expect(rowOf(0, 0, 'not yet', -1)).toEqual([undefined, 0, 0]);
});
