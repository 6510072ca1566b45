// Draws a map of a day. Projection: equirectangular at the middle latitude, north up.
import { metresPerDegree } from '../../model/geo/distance.ts';
import type { Position, Section, Trip } from '../../model/trip.ts';
import type { Tiles } from '../pmtiles.ts';
import { html } from './markup.ts';
import { modeLine, styleOf } from './mode-styles.ts';

export type MapPlace = { position: Position; mark: string };

export type MapWords = { title: string; north: string; length: (metres: number) => string };

export interface BaseMap extends Pick<Tiles, 'minZoom' | 'maxZoom' | 'attribution'> {
  href: (z: number, x: number, y: number) => string;
}

const [width, tallest, least, margin] = [400, 316, 190, 34];
const visible = 0.8; // units of the SVG; vertices this close together are left out

/** Rings show the distance from the first place. `isLinked`: a link can emphasise each trip. */
export function dayMap(
  trips: readonly Trip[],
  places: readonly MapPlace[],
  words: MapWords,
  base: BaseMap | null = null,
  { others = [], isLinked = false }: { others?: readonly (readonly Position[])[]; isLinked?: boolean } = {},
): string {
  const sections = trips.flatMap((trip) => trip.sections);
  const path = sections.flatMap(({ coordinates }) => unwrapped(coordinates));
  const all = [...path, ...places.map(({ position }) => position)];
  if (all.length === 0) return '';
  const view = fitView(all);
  const line = ({ coordinates }: Section): string => pathOf(unwrapped(coordinates), view.project);
  // Walks are short, so they are drawn above rides.
  const isWalk = ({ sensed_mode }: Section): boolean => styleOf(sensed_mode).name === 'walking';
  const paths = trips.map(({ id, sections: own }) => {
    const drawn = own
      .toSorted((a, b) => Number(isWalk(a)) - Number(isWalk(b)))
      .map((one) => `<path class="case" d="${line(one)}"/>${modeLine(styleOf(one.sensed_mode), line(one))}`);
    return `<g class="one"${isLinked ? ` id="way-${html(id)}"` : ''}>${drawn.join('')}</g>`;
  });
  const changes = trips.flatMap((trip) => trip.stops.map(({ enter_loc }) => view.project(enter_loc)));
  const stops = changes.map(([x, y]) => `<circle class="stop" cx="${x}" cy="${y}" r="3.6"/>`);
  const points = path.map(view.project);
  const named = drawPlaces(places, points, view);
  const ringed = drawRings(view, places[0], words, { ...named, points });
  return (
    `<svg class="map" viewBox="0 0 ${width} ${view.height}" role="img" aria-label="${html(words.title)}">` +
    `${base === null ? drawOthers(view, others) : tilesBehind(view, base)}${ringed.circles}${paths.join('')}${stops.join('')}${ringed.labels}${named.drawn}${scaleBar(view, words)}` +
    `<g transform="translate(378 ${view.height - 40})"><path class="north" d="M0-14 5 3 0 0-5 3z"/><text y="17" text-anchor="middle">${html(words.north)}</text></g></svg>`
  );
}

/** Continues longitudes beyond 180 degrees: 179, -179 becomes 179, 181. */
function unwrapped(line: readonly Position[]): Position[] {
  let turn = 0;
  return line.map(([longitude, latitude], i) => {
    const before = line[i - 1]?.[0] ?? longitude;
    if (longitude - before > 180) turn -= 360;
    if (before - longitude > 180) turn += 360;
    return [longitude + turn, latitude];
  });
}

type Point = [x: number, y: number];

type View = ReturnType<typeof fitView>;

/** `metres`: m per unit of the SVG. `degree`: units per degree of longitude. Edges are in degrees. */
function fitView(positions: readonly Position[]) {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [longitude, latitude] of positions) {
    west = Math.min(west, longitude);
    east = Math.max(east, longitude);
    south = Math.min(south, latitude);
    north = Math.max(north, latitude);
  }
  const squeeze = Math.max(0.01, Math.cos((((south + north) / 2) * Math.PI) / 180));
  const wide = Math.max((east - west) * squeeze, 0.003);
  const high = Math.max(north - south, 0.0015);
  const scale = Math.min((width - 2 * margin) / wide, (tallest - 2 * margin) / high);
  const height = Math.max(least, Math.ceil(high * scale + 2 * margin));
  const left = (width - (east - west) * squeeze * scale) / 2;
  const top = (height - (north - south) * scale) / 2;
  const tenth = (x: number): number => Math.round(x * 10) / 10;
  return {
    height,
    metres: metresPerDegree / scale,
    degree: squeeze * scale,
    west: west - left / (squeeze * scale),
    north: north + top / scale,
    south: north + (top - height) / scale,
    project: ([longitude, latitude]: Position): Point => [
      tenth(left + (longitude - west) * squeeze * scale),
      tenth(top + (north - latitude) * scale),
    ],
  };
}

const widestTile = 256; // units of the SVG
const mostTiles = 36; // a map shows no tiles if it needs more, because the file lacks low zoom levels

/** Draws each tile between its corners: Web Mercator is nearly linear within a tile. */
function tilesBehind(view: View, { minZoom, maxZoom, href }: BaseMap): string {
  const { project, height, degree, west, north, south } = view;
  const fitting = Math.ceil(Math.log2((360 * degree) / widestTile));
  const z = Math.min(Math.max(fitting, minZoom), maxZoom);
  const count = 2 ** z;
  const column = (longitude: number): number => ((longitude + 180) / 360) * count;
  const row = (latitude: number): number =>
    ((1 - Math.asinh(Math.tan((Math.max(-85, Math.min(85, latitude)) * Math.PI) / 180)) / Math.PI) / 2) * count;
  const corner = (x: number, y: number): Point =>
    project([(x / count) * 360 - 180, (Math.atan(Math.sinh(Math.PI * (1 - (2 * y) / count))) * 180) / Math.PI]);
  const [left, right] = [Math.floor(column(west)), Math.floor(column(west + width / degree))];
  const [top, bottom] = [Math.floor(row(north)), Math.floor(row(south))];
  if ((right - left + 1) * (bottom - top + 1) > mostTiles) return '';
  let images = '';
  for (let y = Math.max(0, top); y <= Math.min(bottom, count - 1); y += 1)
    for (let x = left; x <= right; x += 1) {
      const [from, to] = [corner(x, y), corner(x + 1, y + 1)];
      const size = `width="${(to[0] - from[0]).toFixed(1)}" height="${(to[1] - from[1]).toFixed(1)}"`;
      const source = html(href(z, ((x % count) + count) % count, y));
      images += `<image href="${source}" x="${from[0]}" y="${from[1]}" ${size} preserveAspectRatio="none"/>`;
    }
  return `<svg class="base" aria-hidden="true" width="${width}" height="${height}">${images}</svg>`;
}

function pathOf(line: readonly Position[], project: View['project'], step = visible): string {
  let d = '';
  let last: Point | null = null;
  for (const [i, position] of line.entries()) {
    const at = project(position);
    const near = last !== null && Math.hypot(at[0] - last[0], at[1] - last[1]) < step;
    if (near && i < line.length - 1) continue;
    d += `${last === null ? 'M' : 'L'}${at[0]} ${at[1]}`;
    last = at;
  }
  return d;
}

const mostOfOthers = 8000; // characters of all other trips, so that a page stays below 60 kB
const leastBend = 30; // m; other trips omit vertices this close together

function drawOthers({ project, height, metres }: View, others: readonly (readonly Position[])[]): string {
  const isInside = ([x, y]: Point): boolean => x > 0 && x < width && y > 0 && y < height;
  let d = '';
  for (const line of others) {
    const points = unwrapped(line).map(project);
    if (!points.some(isInside)) continue;
    const path = pathOf(line, project, Math.max(3, leastBend / metres));
    if (d.length + path.length < mostOfOthers) d += path;
  }
  return d === '' ? '' : `<svg width="${width}" height="${height}"><path class="others" d="${d}"/></svg>`;
}

function roundLength(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return [5, 2, 1].map((n) => n * power).find((n) => n <= most)!;
}

/** Draws each label at the first of `labelAngles` where it hides nothing, else leaves it out. */
function drawRings(view: View, around: MapPlace | undefined, { length }: MapWords, { taken, points }: Drawn) {
  if (around === undefined) return { circles: '', labels: '' };
  const { project, metres, height } = view;
  const [x, y] = project(around.position);
  const farthest = Math.max(...[0, width].flatMap((cx) => [0, height].map((cy) => Math.hypot(cx - x, cy - y))));
  const step = roundLength((farthest * metres) / 2);
  const drawn = [1, 2, 3]
    .map((n) => ({ n, r: Math.round((n * step * 10) / metres) / 10 }))
    .filter(({ r }) => r < farthest);
  const circles = drawn.map(({ r }) => `<circle class="ring" cx="${x}" cy="${y}" r="${r}"/>`);
  const labels = drawn.map(({ n, r }) => {
    const free = labelAngles
      .map((angle) => [x + r * Math.cos(angle), y - r * Math.sin(angle)] as const)
      .find(([cx, cy]) => {
        const box = { x: cx - 20, y: cy - 8, w: 40 };
        const isInside = cx > 24 && cx < width - 24 && cy > 12 && cy < height - 12;
        const isFree = !taken.some((one) => overlaps(one, box));
        return isInside && isFree && !points.some(([px, py]) => Math.abs(px - cx) < 20 && Math.abs(py - cy) < 9);
      });
    if (free === undefined) return '';
    const [cx, cy] = free.map((value) => value.toFixed(1));
    return `<text class="t2 rt" x="${cx}" y="${Number(cy) + 4}" text-anchor="middle">${html(length(n * step))}</text>`;
  });
  return { circles: `<svg width="${width}" height="${height}">${circles.join('')}</svg>`, labels: labels.join('') };
}

const labelDegrees = [0, 180, 20, -20, 160, -160, 45, -45, 135, -135, 90, -90];
const labelAngles = labelDegrees.map((degrees) => (degrees * Math.PI) / 180);

type Drawn = { taken: readonly LabelBox[]; points: readonly Point[] };

/** A label, 16 units high. `x`, `y`: its upper left corner. */
type LabelBox = Record<'x' | 'y' | 'w', number>;

const overlaps = (a: LabelBox, b: LabelBox): boolean => a.x < b.x + b.w && b.x < a.x + a.w && Math.abs(a.y - b.y) < 16;

/** Draws each label on the side where it hides least. `taken`: the boxes of all labels. */
function drawPlaces(places: readonly MapPlace[], points: readonly Point[], { project, height }: View) {
  // Labels must not hide the scale bar, the north arrow and the places themselves.
  const taken: LabelBox[] = [
    { x: 8, y: 6, w: 130 },
    ...[60, 45, 30].map((up) => ({ x: 362, y: height - up, w: 34 })),
    ...places.map(({ position }) => project(position)).map(([x, y]) => ({ x: x - 8, y: y - 8, w: 16 })),
  ];
  const drawn = places
    .map(({ position, mark }) => {
      const [x, y] = project(position);
      const w = mark.length * 8 + 4;
      const sides = [
        { x: x - w / 2, y: y + 9, anchor: 'middle', tx: x, ty: y + 22 },
        { x: x + 10, y: y - 8, anchor: 'start', tx: x + 11, ty: y + 5 },
        { x: x - 10 - w, y: y - 8, anchor: 'end', tx: x - 11, ty: y + 5 },
        { x: x + 8, y: y - 26, anchor: 'start', tx: x + 9, ty: y - 13 },
        { x: x + 8, y: y + 10, anchor: 'start', tx: x + 9, ty: y + 23 },
        { x: x - 8 - w, y: y - 26, anchor: 'end', tx: x - 9, ty: y - 13 },
        { x: x - 8 - w, y: y + 10, anchor: 'end', tx: x - 9, ty: y + 23 },
      ].map((side) => {
        const isHidden = ([px, py]: Point): boolean =>
          px > side.x && px < side.x + w && py > side.y && py < side.y + 16;
        const clash = taken.filter((one) => overlaps(one, { ...side, w })).length;
        const outside = side.x < 2 || side.x + w > width - 2 ? 500 : 0;
        return { ...side, cost: points.filter(isHidden).length + 200 * clash + outside };
      });
      const best = sides.reduce((least, side) => (side.cost < least.cost ? side : least));
      taken.push({ x: best.x, y: best.y, w });
      return (
        `<circle class="spot" cx="${x}" cy="${y}" r="6.5"/>` +
        `<text class="pn" x="${best.tx}" y="${best.ty}" text-anchor="${best.anchor}">${html(mark)}</text>`
      );
    })
    .join('');
  return { drawn, taken };
}

function scaleBar({ metres }: View, { length }: MapWords): string {
  const long = roundLength((width / 4) * metres);
  const units = Math.round((long / metres) * 10) / 10;
  return `<g transform="translate(14 18)"><path class="scale" d="M0-4v5h${units}v-5"/><text class="rt" x="${units + 7}" y="3">${html(length(long))}</text></g>`;
}
