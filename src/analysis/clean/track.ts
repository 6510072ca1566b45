// The track of a candidate group: without stale repeats and spikes, and smoothed by a Kalman filter.
//
//   locations   a     b b     s      c           d      b: repeated by Android, less accurate; s: a spike
//               |     | |     |      |           |
//   track       A --- B ------------ C ......... D      A to D: smoothed by a Kalman filter of constant speed
//   metres      0     80            310        1400     along the smoothed path
//
// The dotted part is a gap longer than `trackLimits.gap` s. The filter restarts after it. In `length`, which the diary
// shows, the path across a gap counts as `trackLimits.detour` times the straight line. Positions are metres east and
// north of the first location, in the equirectangular projection around it.
import { distance, earthRadius, shortWayRound } from '../../model/geo/distance.ts';
import { Plane } from '../../model/geo/plane.ts';
import { firstLaterIn } from '../sorted-times.ts';
import type { Location } from './observations.ts';

/** "Physical": what receivers and feet can do. "By hand": chosen on the developers' own recorded days. */
export const trackLimits = {
  repeatWithin: 60, // s; a less accurate repeat of the previous position within this time is stale (physical)
  unknownAccuracy: 30, // m; accuracy assumed if the phone gave none (by hand)
  spikePasses: 4, // number of passes that remove spikes, because neighbouring spikes hide each other (by hand)
  // The detour of a spike: metres by which it makes the path between its neighbours longer.
  leastSpike: 60, // m; a shorter detour is not a spike (by hand)
  spikeBeyond: 20, // m; the detour must exceed the distance between the neighbours by this (by hand)
  spikeSpeed: 12, // m/s; a slower detour is a spike only if its accuracy radius is over twice that of a neighbour (by hand)
  impossibleSpeed: 90, // m/s; a faster step overrides `spikeBeyond` and `spikeSpeed`: no train is faster (physical)
  gap: 120, // s; the filter restarts after a longer gap (by hand)
  acceleration: 0.4, // m2/s3, noise of the acceleration (by hand)
  variance: 0.35, // variance of a location divided by its squared accuracy (by hand)
  leastAccuracy: 5, // m; a smaller accuracy counts as this, because no receiver is better (physical)
  firstSpeed: 200, // m2/s2, variance of the speed at the beginning (by hand)
  surprise: 9, // square of 3 standard deviations; a location farther from the prediction weighs less (by hand)
  detour: 1.06, // factor for the straight line across a gap longer than `gap` s and `bridge` m (by hand)
  bridge: 500, // m; a shorter straight line across a gap counts without the factor `detour` (by hand)
};

/** A smoothed path: aligned lists with one element per location that was kept, ascending by `ts`. */
export class Track {
  readonly ts: Float64Array;
  readonly x: Float64Array; // m east of the first location
  readonly y: Float64Array; // m north of the first location
  readonly latitude: Float64Array;
  readonly longitude: Float64Array;
  readonly altitude: (number | null)[];
  readonly speed: Float64Array; // m/s as sensed by the phone; NaN if missing
  /** m along the smoothed path since the first location, on the sphere */
  readonly metres: Float64Array;
  readonly length: Float64Array; // m along the smoothed path, with an estimated detour across gaps
  readonly leftOut: { repeats: number; spikes: number };

  constructor(locations: readonly Location[]) {
    const fresh = withoutRepeats(locations);
    const plane = new Plane(fresh[0] ?? { latitude: 0, longitude: 0 }, (earthRadius * Math.PI) / 180);
    const kept = withoutSpikes(fresh, plane);
    const n = kept.length;
    const lists = floats(n, 'ts', 'x', 'y', 'latitude', 'longitude', 'speed', 'metres', 'length');
    this.ts = lists.ts;
    this.x = lists.x;
    this.y = lists.y;
    this.latitude = lists.latitude;
    this.longitude = lists.longitude;
    this.speed = lists.speed;
    this.metres = lists.metres;
    this.length = lists.length;
    this.altitude = kept.map((l) => l.altitude);
    this.leftOut = { repeats: locations.length - fresh.length, spikes: fresh.length - n };
    for (const [i, l] of kept.entries()) {
      this.ts[i] = l.ts;
      this.x[i] = plane.x(l.longitude);
      this.y[i] = plane.y(l.latitude);
      this.speed[i] = l.speed ?? Number.NaN;
    }
    const variances = kept.map((l) => trackLimits.variance * Math.max(accuracyOf(l), trackLimits.leastAccuracy) ** 2);
    for (let from = 0, i = 1; i <= n; i += 1) {
      if (i < n && this.ts[i]! - this.ts[i - 1]! <= trackLimits.gap) continue;
      smooth(this, variances, from, i);
      from = i;
    }
    this.measure(plane);
  }

  private measure(plane: Plane): void {
    let before: { latitude: number; longitude: number } | null = null;
    for (let i = 0; i < this.ts.length; i += 1) {
      const here = { latitude: plane.latitude(this.y[i]!), longitude: plane.longitude(this.x[i]!) };
      this.latitude[i] = here.latitude;
      this.longitude[i] = here.longitude;
      if (before) {
        const step = distance(before, here);
        const isBridged = this.ts[i]! - this.ts[i - 1]! > trackLimits.gap && step > trackLimits.bridge;
        this.metres[i] = this.metres[i - 1]! + step;
        this.length[i] = this.length[i - 1]! + step * (isBridged ? trackLimits.detour : 1);
      }
      before = here;
    }
  }

  firstAfter(ts: number): number {
    return firstLaterIn(this.ts, ts);
  }

  /** Position at `ts`, linear in time between locations, constant before the first and after the last location. */
  positionAt(ts: number) {
    const next = this.firstAfter(ts);
    const i = Math.max(0, Math.min(next - 1, this.ts.length - 1));
    const j = Math.min(next, this.ts.length - 1);
    const share = j > i ? (ts - this.ts[i]!) / (this.ts[j]! - this.ts[i]!) : 0;
    const a = this.altitude[i]!;
    const b = this.altitude[j]!;
    return {
      x: mix(this.x, i, j, share),
      y: mix(this.y, i, j, share),
      latitude: mix(this.latitude, i, j, share),
      longitude: shortWayRound(this.longitude[i]! + share * shortWayRound(this.longitude[j]! - this.longitude[i]!)),
      altitude: a === null || b === null ? null : a + share * (b - a),
      metres: mix(this.metres, i, j, share),
      length: mix(this.length, i, j, share),
    };
  }

  apart(a: number, b: number): number {
    return apartIn(this.x, this.y, a, b);
  }

  metresBetween(from: number, to: number): number {
    return this.positionAt(to).metres - this.positionAt(from).metres;
  }

  /** m/s of each step that ends at a location from `from` to `to` */
  speedsIn(from: number, to: number): number[] {
    const speeds: number[] = [];
    for (let i = Math.max(1, this.firstAfter(from)); i < this.ts.length && this.ts[i]! <= to; i += 1)
      speeds.push((this.metres[i]! - this.metres[i - 1]!) / (this.ts[i]! - this.ts[i - 1]!));
    return speeds;
  }

  /** m; the longer side of the box around the path between two times */
  extent(from: number, to: number): number {
    const [a, b] = [this.positionAt(from), this.positionAt(to)];
    let [west, east, south, north] = [Math.min(a.x, b.x), Math.max(a.x, b.x), Math.min(a.y, b.y), Math.max(a.y, b.y)];
    for (let i = this.firstAfter(from); i < this.ts.length && this.ts[i]! < to; i += 1) {
      west = Math.min(west, this.x[i]!);
      east = Math.max(east, this.x[i]!);
      south = Math.min(south, this.y[i]!);
      north = Math.max(north, this.y[i]!);
    }
    return Math.max(east - west, north - south);
  }
}

function mix(list: Float64Array, i: number, j: number, share: number): number {
  return list[i]! + share * (list[j]! - list[i]!);
}

/** Lists of `n` zeros by name, in one buffer, because an allocation costs more than filling a list. */
export function floats<Name extends string>(n: number, ...names: Name[]): Record<Name, Float64Array> {
  const lists: Partial<Record<Name, Float64Array>> = {};
  const buffer = new ArrayBuffer(Float64Array.BYTES_PER_ELEMENT * n * names.length);
  for (const [i, name] of names.entries()) {
    lists[name] = new Float64Array(buffer, Float64Array.BYTES_PER_ELEMENT * n * i, n);
  }
  return lists as Record<Name, Float64Array>;
}

const accuracyOf = (l: Location): number => (l.accuracy > 0 ? l.accuracy : trackLimits.unknownAccuracy);

function withoutRepeats(locations: readonly Location[]): Location[] {
  return locations.filter((here, i) => {
    if (i === 0) return true;
    const before = locations[i - 1]!;
    return !(
      here.latitude === before.latitude &&
      here.longitude === before.longitude &&
      here.ts - before.ts < trackLimits.repeatWithin &&
      accuracyOf(here) > accuracyOf(before)
    );
  });
}

interface PlaneLocation {
  location: Location;
  x: number;
  y: number;
  accuracy: number;
}

export function apart(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2);
}

export function apartIn(x: Float64Array, y: Float64Array, a: number, b: number): number {
  return Math.sqrt((x[b]! - x[a]!) ** 2 + (y[b]! - y[a]!) ** 2);
}

/** Removes spikes (locations that lead far away and back): the largest first, no two neighbours in one pass. */
function withoutSpikes(locations: readonly Location[], plane: Plane): Location[] {
  let placed: PlaneLocation[] = locations.map((location) => ({
    location,
    x: plane.x(location.longitude),
    y: plane.y(location.latitude),
    accuracy: accuracyOf(location),
  }));
  for (let pass = 0; pass < trackLimits.spikePasses; pass += 1) {
    const found = spikesIn(placed);
    if (found.length === 0) break;
    const out = new Set<number>();
    for (const { i } of found) if (!out.has(i - 1) && !out.has(i + 1)) out.add(i);
    placed = placed.filter((_, i) => !out.has(i));
  }
  return placed.map(({ location }) => location);
}

function spikesIn(placed: readonly PlaneLocation[]): { i: number; excess: number }[] {
  const found: { i: number; excess: number }[] = [];
  for (let i = 1; i < placed.length - 1; i += 1) {
    const excess = spikeAt(placed[i - 1]!, placed[i]!, placed[i + 1]!);
    if (excess > 0) found.push({ i, excess });
  }
  return found.sort((a, b) => b.excess - a.excess || a.i - b.i);
}

/** Metres by which `here` makes the path from `a` to `b` longer; 0 if `here` is not a spike. */
function spikeAt(a: PlaneLocation, here: PlaneLocation, b: PlaneLocation): number {
  const there = apart(a, here);
  const back = apart(here, b);
  const between = apart(a, b);
  const excess = there + back - between;
  const better = Math.min(a.accuracy, b.accuracy);
  if (excess <= Math.max(trackLimits.leastSpike, 2 * (here.accuracy + better))) return 0;
  const fastest = Math.max(there / (here.location.ts - a.location.ts), back / (b.location.ts - here.location.ts));
  if (fastest > trackLimits.impossibleSpeed) return excess;
  const beyond = excess > between + trackLimits.spikeBeyond;
  return beyond && (fastest > trackLimits.spikeSpeed || here.accuracy > 2 * better) ? excess : 0;
}

/**
 * State of the Kalman filter at each location. `x`, `vx`, `y`, `vy`: position and speed after the measurement; `mx`,
 * `my`: predicted position. `pp`, `pv`, `vv`: covariance of position and speed; `mpp`, `mpv`, `mvv`: predicted.
 */
const filterOf = (n: number) => floats(n, 'x', 'vx', 'y', 'vy', 'mx', 'my', 'pp', 'pv', 'vv', 'mpp', 'mpv', 'mvv');

/**
 * Smooths the locations from index `from` to before `to` in place: a Kalman filter of constant speed, then the
 * Rauch-Tung-Striebel smoother. Both axes share one covariance. A location far from its prediction counts less.
 */
function smooth(track: Track, variances: readonly number[], from: number, to: number): void {
  const n = to - from;
  if (n < 2) return;
  const { x, vx, y, vy, mx, my, pp, pv, vv, mpp, mpv, mvv } = filterOf(n);
  const q = trackLimits.acceleration;
  x[0] = track.x[from]!;
  y[0] = track.y[from]!;
  vx[0] = 0;
  vy[0] = 0;
  pv[0] = 0;
  pp[0] = variances[from]!;
  vv[0] = trackLimits.firstSpeed;
  for (let i = 1; i < n; i += 1) {
    const dt = track.ts[from + i]! - track.ts[from + i - 1]!;
    mx[i] = x[i - 1]! + dt * vx[i - 1]!;
    my[i] = y[i - 1]! + dt * vy[i - 1]!;
    const a = pp[i - 1]! + 2 * dt * pv[i - 1]! + dt * dt * vv[i - 1]! + (q * dt ** 3) / 3;
    const b = pv[i - 1]! + dt * vv[i - 1]! + (q * dt * dt) / 2;
    const c = vv[i - 1]! + q * dt;
    mpp[i] = a;
    mpv[i] = b;
    mvv[i] = c;
    const ix = track.x[from + i]! - mx[i]!;
    const iy = track.y[from + i]! - my[i]!;
    let r = variances[from + i]!;
    const surprise = (ix * ix + iy * iy) / (a + r);
    if (surprise > trackLimits.surprise) r *= surprise / trackLimits.surprise;
    const gp = a / (a + r);
    const gv = b / (a + r);
    x[i] = mx[i]! + gp * ix;
    y[i] = my[i]! + gp * iy;
    vx[i] = vx[i - 1]! + gv * ix;
    vy[i] = vy[i - 1]! + gv * iy;
    pp[i] = a * (1 - gp);
    pv[i] = b * (1 - gp);
    vv[i] = c - gv * b;
  }
  for (let i = n - 2; i >= 0; i -= 1) {
    const dt = track.ts[from + i + 1]! - track.ts[from + i]!;
    const det = mpp[i + 1]! * mvv[i + 1]! - mpv[i + 1]! * mpv[i + 1]!;
    // Gain: P F' divided by the predicted covariance of the next location.
    const cpp = pp[i]! + dt * pv[i]!;
    const cpv = pv[i]!;
    const cvp = pv[i]! + dt * vv[i]!;
    const cvv = vv[i]!;
    const g11 = (cpp * mvv[i + 1]! - cpv * mpv[i + 1]!) / det;
    const g12 = (cpv * mpp[i + 1]! - cpp * mpv[i + 1]!) / det;
    const g21 = (cvp * mvv[i + 1]! - cvv * mpv[i + 1]!) / det;
    const g22 = (cvv * mpp[i + 1]! - cvp * mpv[i + 1]!) / det;
    const dx = x[i + 1]! - mx[i + 1]!;
    const dy = y[i + 1]! - my[i + 1]!;
    const dvx = vx[i + 1]! - vx[i]!; // the constant-speed model predicts the previous speed
    const dvy = vy[i + 1]! - vy[i]!;
    const [ovx, ovy] = [vx[i]!, vy[i]!];
    x[i] = x[i]! + g11 * dx + g12 * dvx;
    y[i] = y[i]! + g11 * dy + g12 * dvy;
    vx[i] = ovx + g21 * dx + g22 * dvx;
    vy[i] = ovy + g21 * dy + g22 * dvy;
  }
  for (let i = 0; i < n; i += 1) {
    track.x[from + i] = x[i]!;
    track.y[from + i] = y[i]!;
  }
}
