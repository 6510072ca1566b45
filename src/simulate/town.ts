// Simulated people move on a plane around a real coordinate, with invented streets.
import { metresPerDegree } from '../model/geo/distance.ts';
import type { Position } from '../model/trip.ts';
import type { Random } from './random.ts';

export interface Point {
  x: number; // m east of the town's origin
  y: number; // m north of the town's origin
}

export interface Town {
  name: string;
  zone: string;
  origin: Position;
}

/** Inland towns in all four hemispheres, with and without daylight saving time. */
export const towns: readonly Town[] = [
  { name: 'Évora', zone: 'Europe/Lisbon', origin: [-7.909, 38.571] },
  { name: 'Uppsala', zone: 'Europe/Stockholm', origin: [17.64, 59.858] },
  { name: 'Nairobi', zone: 'Africa/Nairobi', origin: [36.822, -1.286] },
  { name: 'Córdoba', zone: 'America/Argentina/Cordoba', origin: [-64.188, -31.417] },
];

/** Returns a position that is exact to metres within about 20 km of `origin`. */
export function positionAround(point: Point, origin: Position): Position {
  const [longitude, latitude] = origin;
  const shrink = Math.cos((latitude * Math.PI) / 180);
  return [longitude + point.x / (metresPerDegree * shrink), latitude + point.y / metresPerDegree];
}

export const span = (a: Point, b: Point): number => Math.hypot(b.x - a.x, b.y - a.y);

/** `angle`: radians counterclockwise from east */
export function away(from: Point, metres: number, angle: number): Point {
  return { x: from.x + metres * Math.cos(angle), y: from.y + metres * Math.sin(angle) };
}

/** Returns the corners of a path along a grid of streets, and its ends. `block`: m between corners. */
export function streets(from: Point, to: Point, block: number, random: Random): Point[] {
  const turned = random.between(-0.35, 0.35);
  const [cos, sin] = [Math.cos(turned), Math.sin(turned)];
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const along = dx * cos + dy * sin;
  const across = dy * cos - dx * sin;
  const turns = Math.max(1, Math.round((Math.abs(along) + Math.abs(across)) / (2 * block)));
  const corners: Point[] = [from];
  for (let i = 0; i < turns; i++) {
    const [a, b] = [((i + 1) * along) / turns, (i * across) / turns];
    corners.push({ x: from.x + a * cos - b * sin, y: from.y + a * sin + b * cos });
    const c = ((i + 1) * across) / turns;
    corners.push({ x: from.x + a * cos - c * sin, y: from.y + a * sin + c * cos });
  }
  corners[corners.length - 1] = to;
  return corners.filter((corner, i) => i === 0 || i === corners.length - 1 || span(corner, corners[i - 1]!) > 1);
}
