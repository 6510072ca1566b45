// The shape of a leg's way: how it turns, how fast it gets, how often it halts, and how much of it is silence.

import { apart, firstAfter, metresBetween, positionAt, spotAt, type Track } from '../clean/track.ts';
import type { Leg } from '../trips/legs.ts';

/** m along the way from one corner of the chords to the next, and km that a way counts at least */
const chord = 60;
const leastKm = 0.3;

/** rad/km that the course of chords along the way changes; who stands about turns, too, as receivers err */
export function turnPerKm(track: Track, { start, end }: Leg): number {
  const [from, to] = [positionAt(track, start), positionAt(track, end)];
  let [x, y] = [from.x, from.y]; // where the way has been followed to
  let [cornerX, cornerY] = [x, y];
  let left = chord; // m to the next corner
  let course = Number.NaN;
  let turned = 0;
  let metres = 0;
  const last = firstAfter(track, end);
  for (let i = firstAfter(track, start); i <= last; i += 1) {
    const nextX = i < last ? track.x[i]! : to.x;
    const nextY = i < last ? track.y[i]! : to.y;
    const dx = nextX - x;
    const dy = nextY - y;
    const step = Math.sqrt(dx * dx + dy * dy);
    metres += step;
    for (; left <= step; left += chord) {
      const atX = x + (left / step) * dx;
      const atY = y + (left / step) * dy;
      const here = Math.atan2(atY - cornerY, atX - cornerX);
      const change = Math.abs(here - course);
      if (change >= 0) turned += Math.min(change, 2 * Math.PI - change);
      course = here;
      cornerX = atX;
      cornerY = atY;
    }
    left -= step;
    x = nextX;
    y = nextY;
  }
  return turned / Math.max(metres / 1000, leastKm);
}

/** s between speeds, how many are averaged, and the silence in which there are none */
const speedStep = 5;
const speedMean = 6;
const speedSilence = 45;

/** m/s, the 95 % quantile of the speed over half a minute */
export function fastestSpeed(track: Track, { start, end }: Leg): number {
  const speeds: number[] = [];
  const recent: number[] = []; // the last speeds without a silence between
  let next = firstAfter(track, start);
  let before = spotAt(track, next, start);
  for (let ts = start + speedStep; ts <= end; ts += speedStep) {
    while (next < track.ts.length && track.ts[next]! <= ts) next += 1;
    const here = spotAt(track, next, ts);
    const isInside = next > 0 && next < track.ts.length;
    if (!isInside || track.ts[next]! - track.ts[next - 1]! > speedSilence) recent.length = 0;
    else recent.push(apart(before, here) / speedStep);
    before = here;
    if (recent.length > speedMean) recent.shift();
    if (recent.length === speedMean) speeds.push(recent.reduce((sum, speed) => sum + speed) / speedMean);
  }
  if (speeds.length === 0) return end > start ? metresBetween(track, start, end) / (end - start) : 0;
  return new Float64Array(speeds).sort()[Math.round(0.95 * (speeds.length - 1))]!;
}

/** s of a silence as a tunnel makes it */
const tunnelSilence = 100;

/** Share of a leg's time in such silences. */
export function silentShare(track: Track, { start, end }: Leg): number {
  let silent = 0;
  const last = firstAfter(track, end);
  for (let i = firstAfter(track, start); i <= last; i += 1) {
    const from = i > 0 ? track.ts[i - 1]! : start;
    const to = i < track.ts.length ? track.ts[i]! : end;
    if (to - from > tunnelSilence) silent += Math.max(0, Math.min(to, end) - Math.max(from, start));
  }
  return end > start ? silent / (end - start) : 0;
}

/** s between locations up to which halts show, m/s below which a vehicle stands, and s that a halt takes at least */
const halting = { gap: 45, speed: 1.5, least: 10 };

/** Share of a leg's time in which halts show, and how many there are. */
export function haltsIn(track: Track, { start, end }: Leg): { covered: number; halts: number } {
  let [seen, halts, standing] = [0, 0, 0];
  const last = Math.min(firstAfter(track, end), track.ts.length - 1);
  for (let i = Math.max(1, firstAfter(track, start)); i <= last; i += 1) {
    const seconds = track.ts[i]! - track.ts[i - 1]!;
    const slow = track.metres[i]! - track.metres[i - 1]! < halting.speed * seconds;
    if (seconds <= halting.gap) seen += seconds;
    if (slow) standing += seconds;
    else {
      if (standing >= halting.least) halts += 1;
      standing = 0;
    }
  }
  return { covered: end > start ? Math.min(1, seen / (end - start)) : 0, halts };
}
