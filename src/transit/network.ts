// The feeds of an operator as one network: finds the patterns that pass near a place on a day.
//
//   feeds      A Transit 2018, A Transit 2020, B Rail 2019          day of the ride: 2020-05-01
//   used       A Transit 2020 (valid on the day), B Rail 2019 (none of B Rail is valid: the nearest by date)
import { type LatLon, metresPerDegree } from '../model/geo/distance.ts';
import { Plane } from '../model/geo/plane.ts';
import { withFields } from '../model/with-fields.ts';
import { addToList } from '../util/add-to-list.ts';
import type { FeedIndex, TransitPattern, TransitRoute } from './feed-index.ts';
import { type LinePlace, Polyline } from './line.ts';

const cellDegrees = 0.005; // side of a cell of the index of stops, 550 m from south to north
export const reach = 1_200; // m; a stop farther away is not considered
const longestStraight = 1_200; // m; if the feed has no shape, the path between stops farther apart is unknown

export type PatternFilter = (pattern: NetworkPattern) => boolean;

interface PatternPath {
  line: Polyline;
  plane: Plane;
  stops: readonly LinePlace[]; // position of each stop on the line
  unknown: readonly number[]; // edges of the line for which the feed does not show the path
}

/** A pattern of a feed. `number`: its position in the order of feeds and, within a feed, of patterns. */
export class NetworkPattern {
  readonly feed: FeedIndex;
  readonly pattern: TransitPattern;
  readonly number: number;
  readonly line: TransitRoute;
  readonly stops: FeedIndex['stops'];
  #path: PatternPath | undefined;

  constructor(feed: FeedIndex, pattern: TransitPattern, number: number) {
    this.feed = feed;
    this.pattern = pattern;
    this.number = number;
    this.line = feed.routes[pattern.route]!;
    this.stops = pattern.stops.map((stop) => feed.stops[stop]!);
  }

  get shape(): readonly number[] | undefined {
    return this.feed.shapes[this.pattern.shape];
  }

  get path(): PatternPath {
    this.#path ??= toPath(this);
    return this.#path;
  }
}

export interface NearStop {
  at: number; // index in the pattern's list of stops
  off: number; // metres from the place
}

/** The patterns of all feeds, searchable by place. The order in which feeds were added has no effect. */
export class TransitNetwork {
  readonly patterns: readonly NetworkPattern[];
  readonly feeds: readonly FeedIndex[];
  readonly #cells = new Map<number, { pattern: NetworkPattern; at: number }[]>();

  constructor(feeds: readonly FeedIndex[]) {
    this.feeds = [...feeds].sort((a, b) => (a.id < b.id ? -1 : 1));
    this.patterns = this.feeds
      .flatMap((feed) => feed.patterns.map((pattern) => ({ feed, pattern })))
      .map(({ feed, pattern }, number) => new NetworkPattern(feed, pattern, number));
    for (const pattern of this.patterns) {
      for (const [at, stop] of pattern.stops.entries())
        addToList(this.#cells, cellOf(stop.latitude, stop.longitude), { pattern, at });
    }
  }

  stopsNear(place: LatLon, plane: Plane): Map<NetworkPattern, NearStop[]> {
    const near = new Map<NetworkPattern, NearStop[]>();
    const rows = Math.ceil(reach / metresPerDegree / cellDegrees);
    const { latitude, longitude } = place;
    const columns = Math.ceil(rows / Math.max(0.1, Math.cos((latitude * Math.PI) / 180)));
    const [x, y] = [plane.x(longitude), plane.y(latitude)];
    for (let north = -rows; north <= rows; north += 1) {
      for (let east = -columns; east <= columns; east += 1) {
        const cell = cellOf(latitude + north * cellDegrees, longitude + east * cellDegrees);
        for (const { pattern, at } of this.#cells.get(cell) ?? []) {
          const stop = pattern.stops[at]!;
          const off = Math.hypot(plane.x(stop.longitude) - x, plane.y(stop.latitude) - y);
          if (off <= reach) addToList(near, pattern, { at, off });
        }
      }
    }
    return near;
  }

  railShapes(track: readonly LatLon[], isUsed: PatternFilter): PatternPath[] {
    const box = boxOf(track);
    const shapes = new Map<unknown, PatternPath>();
    for (const pattern of this.patterns) {
      const { shape, line, stops } = pattern;
      if (shape === undefined || (line.kind !== 'subway' && line.kind !== 'rail') || shapes.has(shape)) continue;
      if (isUsed(pattern) && stops.some((stop) => isIn(box, stop))) shapes.set(shape, pattern.path);
    }
    return [...shapes.values()];
  }
}

/** Degrees, 5.5 km from south to north, added to boxes: stops and rails this far away can still have an effect. */
const boxMargin = 0.05;

/** Cells of 0.5 degrees in which a feed has stops, such as `57:-245`. */
export const cellsOfFeed = ({ stops }: FeedIndex): string[] => [...new Set(stops.map(coarseCell))].sort();

/** True if a feed may have an effect in one of the cells: a cell touches the box around its stops. */
export function touches({ stops }: FeedIndex, cells: readonly string[]): boolean {
  const { south, north, west, east } = boxOf(stops);
  return cells.some((cell) => {
    const [row, column] = cell.split(':').map(Number) as [number, number];
    return row < 2 * north && row + 1 > 2 * south && column < 2 * east && column + 1 > 2 * west;
  });
}

/** The cell of 0.5 degrees that contains a place, as row and column, counted from 0 degrees. */
export const coarseCell = ({ latitude, longitude }: LatLon): string =>
  `${Math.floor(latitude * 2)}:${Math.floor(longitude * 2)}`;

type Box = ReturnType<typeof boxOf>;

function boxOf(track: readonly LatLon[]) {
  const box = { south: 90, north: -90, west: 180, east: -180 };
  for (const { latitude, longitude } of track) {
    box.south = Math.min(box.south, latitude - boxMargin);
    box.north = Math.max(box.north, latitude + boxMargin);
    box.west = Math.min(box.west, longitude - boxMargin);
    box.east = Math.max(box.east, longitude + boxMargin);
  }
  return box;
}

const isIn = ({ south, north, west, east }: Box, { latitude, longitude }: LatLon): boolean =>
  latitude >= south && latitude <= north && longitude >= west && longitude <= east;

/** The number of a cell. The factor 100,000 makes it unique, because a row from west to east has 72,000 cells. */
const cellOf = (latitude: number, longitude: number): number =>
  100_000 * Math.floor(latitude / cellDegrees) + Math.floor(longitude / cellDegrees);

function toPath({ stops, shape }: NetworkPattern): PatternPath {
  const plane = new Plane(stops[0]!);
  const shaped = shape === undefined ? null : alongShape(stops, shape, plane);
  if (shaped !== null) return { ...shaped, plane, unknown: [] };
  const line = new Polyline(stops, plane);
  const places = stops.map((_, at): LinePlace => ({ along: line.along[at]!, off: 0, edge: Math.max(0, at - 1) }));
  const edges = stops.slice(1).map((_, edge) => edge);
  const unknown = edges.filter((edge) => line.along[edge + 1]! - line.along[edge]! > longestStraight);
  return { line, stops: places, plane, unknown };
}

type Shaped = Pick<PatternPath, 'line' | 'stops'>;

const farthestStop = 250; // m; a shape with a stop farther away is of another route or direction

/**
 * Finds the position of each stop on a shape by dynamic programming: positions in order along the shape, with the
 * smallest sum of squared distances from their stops. The nearest position of each stop would be wrong where a loop
 * passes a stop twice. null: the shape does not fit.
 */
function alongShape(stops: readonly LatLon[], vertices: readonly number[], plane: Plane): Shaped | null {
  const points: LatLon[] = [];
  for (let at = 0; at < vertices.length; at += 2)
    points.push({ latitude: vertices[at]!, longitude: vertices[at + 1]! });
  const line = new Polyline(points, plane);
  interface Choice extends LinePlace {
    cost: number;
    before: Choice | null;
  }
  let choices: Choice[] = [];
  for (const [number, stop] of stops.entries()) {
    const next = passes(line, plane.x(stop.longitude), plane.y(stop.latitude)).flatMap((place): Choice[] => {
      const cost = place.off ** 2;
      if (number === 0) return [withFields(place, { cost, before: null })];
      let best: Choice | null = null;
      for (const one of choices)
        if (one.along <= place.along + 1 && (best === null || one.cost < best.cost)) best = one;
      return best === null ? [] : [withFields(place, { cost: cost + best.cost, before: best })];
    });
    if (next.length === 0) return null;
    choices = next;
  }
  const places: LinePlace[] = [];
  const last = choices.reduce((best, one) => (one.cost < best.cost ? one : best));
  for (let one: Choice | null = last; one !== null; one = one.before) {
    places.unshift({ along: one.along, off: one.off, edge: one.edge });
  }
  return places.some(({ off }) => off > farthestStop) ? null : { line, stops: places };
}

/** Positions where a line passes near a stop: one position per passage, and only the eight nearest. */
function passes(line: Polyline, px: number, py: number): LinePlace[] {
  const places: LinePlace[] = [];
  let best: LinePlace | null = null;
  for (let edge = 0; edge < line.x.length - 1; edge += 1) {
    const place = line.nearest(px, py, farthestStop, edge, edge + 1);
    if (place.off > farthestStop) {
      if (best !== null) places.push(best);
      best = null;
    } else if (best === null || place.off < best.off) best = place;
  }
  if (best !== null) places.push(best);
  if (places.length === 0) places.push(line.nearest(px, py));
  return places.sort((a, b) => a.off - b.off).slice(0, 8);
}

/**
 * Chooses a feed for each agency: a feed that is valid on the day, or else the feed that is valid nearest to the day.
 * Returns the agencies of each chosen feed. `dayIn` returns the day in a time zone, such as `2024-03-08`.
 */
export function feedsOfDay(feeds: readonly FeedIndex[], dayIn: (zone: string) => string): Map<FeedIndex, Set<string>> {
  const chosen = new Map<string, { feed: FeedIndex; age: number }>(); // by agency
  for (const feed of feeds) {
    const age = feedAge(feed, dayIn(feed.zone));
    for (const agency of feed.agencies) {
      const known = chosen.get(agency);
      if (known === undefined || age < known.age || (age === known.age && isNewer(feed, known.feed)))
        chosen.set(agency, { feed, age });
    }
  }
  const agencies = new Map<FeedIndex, Set<string>>();
  for (const [agency, { feed }] of chosen) agencies.set(feed, (agencies.get(feed) ?? new Set()).add(agency));
  return agencies;
}

/** Days between a day and the validity of a feed; 0 if the feed is valid on that day. */
export function feedAge({ first_day, last_day }: FeedIndex, day: string): number {
  const daysBetween = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 86_400_000;
  return Math.max(0, daysBetween(day, first_day), daysBetween(last_day, day));
}

const isNewer = (feed: FeedIndex, than: FeedIndex): boolean =>
  feed.first_day === than.first_day ? feed.id > than.id : feed.first_day > than.first_day;
