// Makes trips coarse: moves stays to the middle of a grid cell, and removes the path around them.
import { locationOf } from '../analysis/positions.ts';
import { cellMiddle, isFarNorth } from '../model/geo/cells.ts';
import { distance, type LatLon } from '../model/geo/distance.ts';
import type { Place, Position, Section, Trip } from '../model/trip.ts';

export type ShownTrip = Omit<Trip, 'start_loc' | 'end_loc' | 'stops' | 'evidence'>;

/** Only these cells decide what is hidden. If exact places decided, readers could compute them. */
export interface StayCells {
  size: number; // m
  /**
   * A stay less than half a cell away from an earlier stay has its cell. Otherwise stays at one
   * home could appear in two cells, which would reveal that the home is near their border.
   */
  stays: { at: LatLon; middle: LatLon }[];
}

export async function stayCells(records: AsyncIterable<{ trip: Trip }>, size: number): Promise<StayCells> {
  const cells: StayCells = { size, stays: [] };
  for await (const { trip } of records)
    for (const { location } of [trip.start_place, trip.end_place]) {
      const at = locationOf(location);
      if (nearestStay(at, cells) === null) cells.stays.push({ at, middle: cellMiddle(at, size) });
    }
  return cells;
}

function nearestStay(at: LatLon, { stays, size }: StayCells): StayCells['stays'][number] | null {
  let [nearest, metres]: [StayCells['stays'][number] | null, number] = [null, size / 2];
  for (const stay of stays) {
    const away = isFarNorth(at, stay.at, metres) ? metres : distance(at, stay.at);
    if (away < metres) [nearest, metres] = [stay, away];
  }
  return nearest;
}

const isHidden = (at: LatLon, { stays, size }: StayCells): boolean =>
  stays.some(({ middle }) => !isFarNorth(at, middle, 1.5 * size) && distance(at, middle) < 1.5 * size);

/**
 * The visible part of a trip. Its sections, lengths and times end where the visible line ends.
 * A trip without a visible part has no sections. It begins and ends at the full hour before its
 * start, or at `notBefore` if that is later.
 */
export function coarseTrip(trip: Trip, cells: StayCells, notBefore: number): ShownTrip {
  const line = trip.sections.flatMap(({ coordinates }) => coordinates);
  const isVisible = visibleVertices(line, cells);
  let next = 0;
  const sections = trip.sections.flatMap((section) => {
    const from = next;
    next += section.coordinates.length;
    return visiblePart(section, isVisible.slice(from, next));
  });
  const hour = Math.max(notBefore, Math.floor(trip.start_ts / 3600) * 3600);
  const [start_ts, end_ts] = [sections[0]?.start_ts ?? hour, sections.at(-1)?.end_ts ?? hour];
  const lengths = sections.map((section, i) => section.distance + gapBefore(section, sections[i - 1]));
  return {
    ...trip,
    start_ts,
    end_ts,
    duration: end_ts - start_ts,
    distance: rounded(sumOf(lengths)),
    start_place: coarsePlace(trip.start_place, start_ts, cells),
    end_place: coarsePlace(trip.end_place, end_ts, cells),
    sections,
  };
}

function coarsePlace(place: Place, enter_ts: number, cells: StayCells): Place {
  const { latitude, longitude } = nearestStay(locationOf(place.location), cells)!.middle;
  return { ...place, location: [longitude, latitude], enter_ts: place.enter_ts === null ? null : enter_ts };
}

/** For each vertex: true if it is between the first and the last turn outside the cells. */
function visibleVertices(line: readonly Position[], cells: StayCells): boolean[] {
  const path = line.map(locationOf);
  const isOutside = path.map((at) => !isHidden(at, cells));
  const departing = pastFirstTurn(path, isOutside, cells.size / 8);
  const arriving = pastFirstTurn(path.toReversed(), isOutside.toReversed(), cells.size / 8).reverse();
  return isOutside.map((_, i) => departing[i]! && arriving[i]!);
}

/**
 * For each vertex: true if it is outside the cells, and the path has turned since it left them. The
 * straight part before the turn is hidden: the straight parts of several trips, extended backwards,
 * would meet at the exact place.
 */
function pastFirstTurn(path: readonly LatLon[], isOutside: readonly boolean[], tolerance: number): boolean[] {
  let hasTurned = (_: LatLon): boolean => false;
  return path.map((at, i) => {
    if (!isOutside[i]) return false;
    if (i === 0 || !isOutside[i - 1]) hasTurned = turnDetector(at, tolerance);
    return hasTurned(at);
  });
}

/** True as soon as no straight line from `origin` is within `tolerance` m of all vertices so far. */
function turnDetector(origin: LatLon, tolerance: number): (at: LatLon) => boolean {
  const shrink = Math.cos((origin.latitude * Math.PI) / 180);
  let [first, left, right]: [number | null, number, number] = [null, -Math.PI, Math.PI];
  return ({ latitude, longitude }) => {
    const metres = distance(origin, { latitude, longitude });
    if (metres > tolerance) {
      const direction = Math.atan2(latitude - origin.latitude, wrapped(longitude - origin.longitude, 360) * shrink);
      first ??= direction;
      const turned = wrapped(direction - first, 2 * Math.PI);
      const spread = Math.asin(tolerance / metres);
      [left, right] = [Math.max(left, turned - spread), Math.min(right, turned + spread)];
    }
    return left > right;
  };
}

/** Returns an angle from minus to plus half a `turn`. */
const wrapped = (angle: number, turn: number): number => angle - turn * Math.round(angle / turn);

function visiblePart(section: Section, isVisible: readonly boolean[]): Section[] {
  const kept = [...section.coordinates.keys()].filter((i) => isVisible[i]);
  const [first, last] = [kept[0], kept.at(-1)];
  if (first === undefined || last === undefined) return [];
  const of = <T>(list: readonly T[]): T[] => kept.map((i) => list[i]!);
  const [coordinates, times, altitudes] = [of(section.coordinates), of(section.times), of(section.altitudes)];
  const distances = kept.map((at, i) => {
    if (i === 0) return 0;
    return kept[i - 1] === at - 1 ? section.distances[at]! : span(coordinates[i - 1]!, coordinates[i]!);
  });
  const speeds = distances.map((metres, i) => (i === 0 ? 0 : rounded(metres / (times[i]! - times[i - 1]! || 1))));
  const [start_ts, end_ts] = [times[0]!, times.at(-1)!];
  const figures = { start_ts, end_ts, duration: end_ts - start_ts, distance: rounded(sumOf(distances)) };
  return [{ ...section, ...figures, coordinates, times, distances, speeds, altitudes }];
}

const sumOf = (metres: readonly number[]): number => metres.reduce((sum, one) => sum + one, 0);

const gapBefore = ({ coordinates: [start] }: Section, before: Section | undefined): number =>
  before === undefined ? 0 : span(before.coordinates.at(-1)!, start!);

const span = (a: Position, b: Position): number => rounded(distance(locationOf(a), locationOf(b)));

const rounded = (value: number): number => Math.round(value * 100) / 100; // m or m/s, with two decimals
