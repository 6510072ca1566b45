// Step "track": an outing's locations -> the smoothed way through them, without stale repeats and spikes.

import { distance, earthRadius, shortWayRound } from '../../model/geo/distance.ts';
import type { Location } from './observations.ts';

/** Thresholds of the track. Physical: from what receivers and feet can do; by hand: set on the developers' days. */
export const trackLimits = {
  /**
   * s; a location at the very spot of the one before, less sure and this soon after it, is Android's stale repeat
   * (physical)
   */
  repeatWithin: 60,
  /** m, radius of a location without its own (by hand) */
  unknownAccuracy: 30,
  /** Times that spikes are looked for: two in a row hide each other (by hand). */
  spikePasses: 4,
  /** m; a shorter way there and back is no spike (by hand) */
  leastSpike: 60,
  /** m; a spike is this much farther than its neighbours lie apart (by hand) */
  spikeBeyond: 20,
  /** m/s; slower there and back is no spike, unless the location is twice as unsure as its neighbours (by hand) */
  spikeSpeed: 12,
  /** m/s; a step faster than this alone makes a spike: no road or rail vehicle (physical) */
  impossibleSpeed: 90,
  /** s; the filter restarts after a longer silence (by hand) */
  silence: 120,
  /** m2/s3, noise of the acceleration (by hand) */
  acceleration: 0.4,
  /** Share of the squared radius that is taken for its variance (by hand), and m, the least radius (physical). */
  variance: 0.35,
  leastAccuracy: 5,
  /** m2/s2, variance of the speed at the beginning (by hand) */
  firstSpeed: 200,
  /** Squared surprise over its variance beyond which a location counts less: three standard deviations (physical). */
  surprise: 9,
  /** A straight line over a silence of `silence` s and `bridge` m is this much shorter than the way (by hand). */
  detour: 1.06,
  bridge: 500,
};

/** The smoothed way: aligned lists, one element per location that counts, ascending by `ts`. */
export interface Track {
  ts: Float64Array;
  /** m east and north of the first location, in a plane that touches the earth there */
  x: Float64Array;
  y: Float64Array;
  latitude: Float64Array;
  longitude: Float64Array;
  altitude: (number | null)[];
  /** m/s that the phone sensed itself; NaN if missing */
  speed: Float64Array;
  /** m along the smoothed way since the first location, on the sphere */
  metres: Float64Array;
  /** The same with what straight lines over silences fall short. */
  length: Float64Array;
  /** How many locations were left out, by reason. */
  leftOut: { repeats: number; spikes: number };
}

/** Lists of `n` zeros by name, side by side in one piece of memory: each piece costs more than to fill it. */
export function floats<Name extends string>(n: number, ...names: Name[]): Record<Name, Float64Array> {
  const lists: Partial<Record<Name, Float64Array>> = {};
  const buffer = new ArrayBuffer(Float64Array.BYTES_PER_ELEMENT * n * names.length);
  for (const [i, name] of names.entries()) {
    lists[name] = new Float64Array(buffer, Float64Array.BYTES_PER_ELEMENT * n * i, n);
  }
  return lists as Record<Name, Float64Array>;
}

/** The track through locations that ascend by `ts`. */
export function trackOf(locations: readonly Location[]): Track {
  const fresh = withoutRepeats(locations);
  const plane = new Plane(fresh[0]);
  const kept = withoutSpikes(fresh, plane);
  const n = kept.length;
  const lists = floats(n, 'ts', 'x', 'y', 'latitude', 'longitude', 'speed', 'metres', 'length');
  const { ts, x, y, speed } = lists;
  const leftOut = { repeats: locations.length - fresh.length, spikes: fresh.length - n };
  const track: Track = { leftOut, altitude: kept.map((l) => l.altitude), ...lists };
  for (let i = 0; i < n; i += 1) {
    ts[i] = kept[i]!.ts;
    x[i] = plane.x(kept[i]!.longitude);
    y[i] = plane.y(kept[i]!.latitude);
    speed[i] = kept[i]!.speed ?? Number.NaN;
  }
  const variances = kept.map((l) => trackLimits.variance * Math.max(accuracyOf(l), trackLimits.leastAccuracy) ** 2);
  for (let from = 0, i = 1; i <= n; i += 1) {
    if (i < n && ts[i]! - ts[i - 1]! <= trackLimits.silence) continue;
    smoothRun(track, variances, from, i);
    from = i;
  }
  measure(track, plane);
  return track;
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

const metresPerDegree = (earthRadius * Math.PI) / 180;

/** The plane that touches the earth at a location: degrees to metres and back, longitudes the short way round. */
class Plane {
  private readonly lat0: number;
  private readonly lon0: number;
  /** m of a degree eastwards */
  private readonly east: number;

  constructor({ latitude, longitude }: { latitude: number; longitude: number } = { latitude: 0, longitude: 0 }) {
    this.lat0 = latitude;
    this.lon0 = longitude;
    this.east = metresPerDegree * Math.max(Math.cos((latitude * Math.PI) / 180), 1e-6);
  }

  x(longitude: number): number {
    return shortWayRound(longitude - this.lon0) * this.east;
  }

  y(latitude: number): number {
    return (latitude - this.lat0) * metresPerDegree;
  }

  longitude(x: number): number {
    return shortWayRound(x / this.east + this.lon0);
  }

  latitude(y: number): number {
    return Math.max(-90, Math.min(90, y / metresPerDegree + this.lat0));
  }
}

interface Spot {
  location: Location;
  x: number;
  y: number;
  accuracy: number;
}

/** m between two positions in the plane of a track. */
export function apart(a: { x: number; y: number }, b: { x: number; y: number }): number {
  return Math.sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2);
}

/** The same of two positions in lists. */
export function apartIn(x: Float64Array, y: Float64Array, a: number, b: number): number {
  return Math.sqrt((x[b]! - x[a]!) ** 2 + (y[b]! - y[a]!) ** 2);
}

/** Leaves out locations that lead far off and back; the farthest first, no two neighbours in one pass. */
function withoutSpikes(locations: readonly Location[], plane: Plane): Location[] {
  let spots: Spot[] = locations.map((location) => ({
    location,
    x: plane.x(location.longitude),
    y: plane.y(location.latitude),
    accuracy: accuracyOf(location),
  }));
  for (let pass = 0; pass < trackLimits.spikePasses; pass += 1) {
    const found = spikesIn(spots);
    if (found.length === 0) break;
    const out = new Set<number>();
    for (const { i } of found) if (!out.has(i - 1) && !out.has(i + 1)) out.add(i);
    spots = spots.filter((_, i) => !out.has(i));
  }
  return spots.map(({ location }) => location);
}

/** Spikes, the farthest first. */
function spikesIn(spots: readonly Spot[]): { i: number; excess: number }[] {
  const found: { i: number; excess: number }[] = [];
  for (let i = 1; i < spots.length - 1; i += 1) {
    const excess = spikeAt(spots[i - 1]!, spots[i]!, spots[i + 1]!);
    if (excess > 0) found.push({ i, excess });
  }
  return found.sort((a, b) => b.excess - a.excess || a.i - b.i);
}

/** m that a location between two others leads off and back; 0 when it is no spike. */
function spikeAt(a: Spot, here: Spot, b: Spot): number {
  const there = apart(a, here);
  const back = apart(here, b);
  const between = apart(a, b);
  const excess = there + back - between;
  const surer = Math.min(a.accuracy, b.accuracy);
  if (excess <= Math.max(trackLimits.leastSpike, 2 * (here.accuracy + surer))) return 0;
  const fastest = Math.max(there / (here.location.ts - a.location.ts), back / (b.location.ts - here.location.ts));
  if (fastest > trackLimits.impossibleSpeed) return excess;
  const beyond = excess > between + trackLimits.spikeBeyond;
  return beyond && (fastest > trackLimits.spikeSpeed || here.accuracy > 2 * surer) ? excess : 0;
}

/**
 * The state before (m: predicted) and after each measurement: position and speed of both axes, covariance pp, pv, vv.
 * In metres around the place where the track begins.
 */
const filterOf = (n: number) => floats(n, 'x', 'vx', 'y', 'vy', 'mx', 'my', 'pp', 'pv', 'vv', 'mpp', 'mpv', 'mvv');

/** Of as many locations as most runs have. Used again for each run: a day has dozens of them. */
const usual = 512;
const usualFilter = filterOf(usual);

/**
 * A Kalman filter of constant speed over locations `from` to before `to`, and the smoother of Rauch, Tung and Striebel
 * back over it. Both axes share one covariance. A location that surprises counts less.
 */
function smoothRun(track: Track, variances: readonly number[], from: number, to: number): void {
  const n = to - from;
  if (n < 2) return;
  const { x, vx, y, vy, mx, my, pp, pv, vv, mpp, mpv, mvv } = n > usual ? filterOf(n) : usualFilter;
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
    // Gain = P F' / predicted covariance of the next.
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
    const dvx = vx[i + 1]! - vx[i]!; // the predicted speed is that before
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

/** Degrees of the smoothed positions, and metres along them. */
function measure(track: Track, plane: Plane): void {
  let before: { latitude: number; longitude: number } | null = null;
  for (let i = 0; i < track.ts.length; i += 1) {
    const here = { latitude: plane.latitude(track.y[i]!), longitude: plane.longitude(track.x[i]!) };
    track.latitude[i] = here.latitude;
    track.longitude[i] = here.longitude;
    if (before) {
      const step = distance(before, here);
      const bridged = track.ts[i]! - track.ts[i - 1]! > trackLimits.silence && step > trackLimits.bridge;
      track.metres[i] = track.metres[i - 1]! + step;
      track.length[i] = track.length[i - 1]! + step * (bridged ? trackLimits.detour : 1);
    }
    before = here;
  }
}

/** Index of the first fix of the track after `ts`; the number of fixes if none follows. */
export function firstAfter({ ts: times }: Pick<Track, 'ts'>, ts: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle]! <= ts) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Where the user was at `ts`: linear in time between fixes, resting before the first and after the last. */
export function positionAt(track: Track, ts: number) {
  const { i, j, share } = stepAt(track, firstAfter(track, ts), ts);
  const a = track.altitude[i]!;
  const b = track.altitude[j]!;
  return {
    x: mix(track.x, i, j, share),
    y: mix(track.y, i, j, share),
    latitude: mix(track.latitude, i, j, share),
    longitude: shortWayRound(track.longitude[i]! + share * shortWayRound(track.longitude[j]! - track.longitude[i]!)),
    altitude: a === null || b === null ? null : a + share * (b - a),
    metres: mix(track.metres, i, j, share),
    length: mix(track.length, i, j, share),
  };
}

/** m along the track between two times */
export function metresBetween(track: Track, from: number, to: number): number {
  return positionAt(track, to).metres - positionAt(track, from).metres;
}

/** Where the user was at `ts` in the plane of the track; `next`: index of the first fix after it. */
export function spotAt(track: Track, next: number, ts: number): { x: number; y: number } {
  const { i, j, share } = stepAt(track, next, ts);
  return { x: mix(track.x, i, j, share), y: mix(track.y, i, j, share) };
}

/** The fixes before and after `ts`, and the share of the time between them that has passed. */
function stepAt({ ts: times }: Track, next: number, ts: number): { i: number; j: number; share: number } {
  const i = Math.max(0, Math.min(next - 1, times.length - 1));
  const j = Math.min(next, times.length - 1);
  return { i, j, share: j > i ? (ts - times[i]!) / (times[j]! - times[i]!) : 0 };
}

/** m/s between the fixes of the track from `from` to `to`, each with the one before it */
export function speedsIn({ ts: times, metres }: Track, from: number, to: number): number[] {
  const speeds: number[] = [];
  for (let i = Math.max(1, firstAfter({ ts: times }, from)); i < times.length && times[i]! <= to; i += 1)
    speeds.push((metres[i]! - metres[i - 1]!) / (times[i]! - times[i - 1]!));
  return speeds;
}

function mix(list: Float64Array, i: number, j: number, share: number): number {
  return list[i]! + share * (list[j]! - list[i]!);
}

/** m; the longer side of the box around the way between two times. */
export function extent(track: Track, from: number, to: number): number {
  const [a, b] = [positionAt(track, from), positionAt(track, to)];
  let [west, east, south, north] = [Math.min(a.x, b.x), Math.max(a.x, b.x), Math.min(a.y, b.y), Math.max(a.y, b.y)];
  for (let i = firstAfter(track, from); i < track.ts.length && track.ts[i]! < to; i += 1) {
    west = Math.min(west, track.x[i]!);
    east = Math.max(east, track.x[i]!);
    south = Math.min(south, track.y[i]!);
    north = Math.max(north, track.y[i]!);
  }
  return Math.max(east - west, north - south);
}
