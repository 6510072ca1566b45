// Lines on a plane in metres: simplifies a line, and finds the position on a line that is nearest to a location.
//
//   simplify, 8 m:     a---b---c          a-------c        b is 3 m off the straight line from a to c
//                               \    ->            \
//                                d                  d
//
//   nearest:           a----x----c        x: nearest position to p; `along` = metres from a to x, `off` = metres to p
//                           .
//                           p
import { firstIndex } from '../model/first-index.ts';
import type { LatLon } from '../model/geo/distance.ts';
import { Plane } from '../model/geo/plane.ts';

const longestSpan = 1_000; // vertices simplified together; the time can grow with the square of this number

/** Removes vertices that are at most `tolerance` m off the simplified line (Ramer-Douglas-Peucker algorithm). */
export function simplify<P extends LatLon>(points: readonly P[], tolerance: number): P[] {
  if (points.length < 3) return [...points];
  const plane = new Plane(points[0]!);
  const x = points.map((point) => plane.x(point.longitude));
  const y = points.map((point) => plane.y(point.latitude));
  const keep = new Uint8Array(points.length);
  keep[0] = 1;
  const open: { from: number; to: number }[] = [];
  for (let from = 0; from < points.length - 1; from += longestSpan) {
    const to = Math.min(from + longestSpan, points.length - 1);
    keep[to] = 1;
    open.push({ from, to });
  }
  for (let span = open.pop(); span !== undefined; span = open.pop()) {
    const { from, to } = span;
    let farthest = -1;
    let most = tolerance;
    for (let at = from + 1; at < to; at += 1) {
      const off = Math.sqrt(offSquared(x[at]!, y[at]!, x[from]!, y[from]!, x[to]!, y[to]!));
      if (off > most) [farthest, most] = [at, off];
    }
    if (farthest < 0) continue;
    keep[farthest] = 1;
    open.push({ from, to: farthest }, { from: farthest, to });
  }
  return points.filter((_, at) => keep[at] === 1);
}

function offSquared(px: number, py: number, ax: number, ay: number, bx: number, by: number): number {
  const share = shareAlong(px - ax, py - ay, bx - ax, by - ay);
  return (px - ax - share * (bx - ax)) ** 2 + (py - ay - share * (by - ay)) ** 2;
}

/** The position (0 to 1) of the point on the line from (0, 0) to (dx, dy) that is nearest to (px, py). */
function shareAlong(px: number, py: number, dx: number, dy: number): number {
  const length = dx * dx + dy * dy;
  return length === 0 ? 0 : Math.max(0, Math.min(1, (px * dx + py * dy) / length));
}

export interface LinePlace {
  along: number; // m from the start of the line
  off: number; // m from the line to the location
  edge: number; // index of the edge that contains the position
}

const nowhere: LinePlace = { along: Number.NaN, off: Infinity, edge: -1 };

export class Polyline {
  readonly x: Float64Array;
  readonly y: Float64Array;
  readonly along: Float64Array; // m from the start of the line to each vertex

  constructor(points: readonly LatLon[], plane: Plane) {
    this.x = new Float64Array(points.length);
    this.y = new Float64Array(points.length);
    this.along = new Float64Array(points.length);
    for (const [at, point] of points.entries()) {
      this.x[at] = plane.x(point.longitude);
      this.y[at] = plane.y(point.latitude);
      if (at === 0) continue;
      this.along[at] = this.along[at - 1]! + Math.hypot(this.x[at]! - this.x[at - 1]!, this.y[at]! - this.y[at - 1]!);
    }
  }

  /**
   * The position on the line that is nearest to (`px`, `py`), on the edges from index `from` up to `to`, exclusive.
   * `off` is infinite if the line is nowhere within `reach` m.
   */
  nearest(px: number, py: number, reach = Infinity, from = 0, to = this.x.length - 1): LinePlace {
    let least = reach * reach;
    let most = reach;
    let edge = -1;
    let share = 0;
    const { x, y } = this;
    for (let at = from; at < to; at += 1) {
      const ax = x[at]!;
      const bx = x[at + 1]!;
      if ((ax - px > most && bx - px > most) || (px - ax > most && px - bx > most)) continue;
      const ay = y[at]!;
      const by = y[at + 1]!;
      if ((ay - py > most && by - py > most) || (py - ay > most && py - by > most)) continue;
      const dx = bx - ax;
      const dy = by - ay;
      const part = shareAlong(px - ax, py - ay, dx, dy);
      const offX = px - ax - part * dx;
      const offY = py - ay - part * dy;
      const off = offX * offX + offY * offY;
      if (off < least) {
        least = off;
        most = Math.sqrt(off);
        edge = at;
        share = part;
      }
    }
    if (edge < 0) return nowhere;
    const along = this.along[edge]! + share * (this.along[edge + 1]! - this.along[edge]!);
    return { along, off: most, edge };
  }

  edgeAt(along: number): number {
    const next = firstIndex(this.along.length - 1, (i) => this.along[i]! > along);
    return Math.max(0, next - 1);
  }
}
