// Simulates a leg in one mode, second by second: changing speeds, corners, lights and stops.
import type { Random } from './random.ts';
import { type Point, span } from './town.ts';

export type TravelMode = 'walk' | 'bike' | 'bus' | 'train' | 'car';

/** The position and movement of a person at one second. */
export interface Instant extends Point {
  speed: number; // m/s
  bearing: number; // degrees clockwise from north
}

interface Motion {
  cruise: number; // m/s
  acceleration: number; // m/s²
  corner: number; // m/s around a corner
  every: number; // m between possible halts
  chance: number; // probability of each halt
  halt: [number, number]; // s, shortest and longest
  block: number; // m between corners of the streets
}

/** How people move in town traffic, by mode: typical values. */
export const motions: Record<TravelMode, Motion> = {
  walk: { cruise: 1.38, acceleration: 0.7, corner: 1.2, every: 220, chance: 0.4, halt: [4, 18], block: 110 },
  bike: { cruise: 4.8, acceleration: 0.8, corner: 2.8, every: 600, chance: 0.5, halt: [6, 25], block: 420 },
  bus: { cruise: 12.5, acceleration: 1.0, corner: 6, every: 620, chance: 0.85, halt: [14, 28], block: 1100 },
  train: { cruise: 24, acceleration: 0.8, corner: 17, every: 2600, chance: 1, halt: [25, 45], block: 3800 },
  car: { cruise: 14, acceleration: 1.6, corner: 6, every: 700, chance: 0.5, halt: [8, 35], block: 900 },
};

/** A position where the speed is limited: a corner, a halt, or the end. */
interface Limit {
  at: number; // m from the start
  speed: number; // m/s, at most
  wait: number; // s
}

/** Returns one instant per second, from the first to the last corner. */
export function ride(corners: readonly Point[], mode: TravelMode, random: Random): Instant[] {
  const motion = motions[mode];
  const cruise = motion.cruise * random.between(0.92, 1.08);
  const line = measureLine(corners);
  const limits = findLimits(line, motion, random);
  const track: Instant[] = [];
  let [at, speed, next] = [0, 0, 0];
  while (at < line.length) {
    track.push({ ...pointAt(line, at), speed });
    const wanted = Math.min(
      cruise * (1 + random.normal(0.05)),
      ...fastestBefore(limits, next, at, motion.acceleration),
    );
    speed = Math.max(0.3, speed + clamp(wanted - speed, motion.acceleration));
    at += speed;
    while (next < limits.length && limits[next]!.at <= at) {
      const { at: reached, wait } = limits[next]!;
      if (wait > 0) {
        [at, speed] = [reached, 0];
        for (let i = 0; i < wait; i++) track.push({ ...pointAt(line, at), speed: 0 });
      }
      next++;
    }
  }
  track.push({ ...pointAt(line, line.length), speed: 0 });
  return track;
}

const clamp = (change: number, most: number): number => Math.max(-most, Math.min(most, change));

/** Returns speeds that allow to slow down before each of the next three limits: v² = u² + 2as. */
function fastestBefore(limits: readonly Limit[], next: number, at: number, acceleration: number): number[] {
  return limits
    .slice(next, next + 3)
    .map((limit) => Math.sqrt(limit.speed ** 2 + 2 * acceleration * Math.max(0, limit.at - at)));
}

type Line = ReturnType<typeof measureLine>;

function measureLine(corners: readonly Point[]) {
  const at = [0]; // m from the start, for each corner
  for (let i = 1; i < corners.length; i++) at.push(at[i - 1]! + span(corners[i - 1]!, corners[i]!));
  return { corners, at, length: at.at(-1)! };
}

function findLimits({ at, length }: Line, { corner, every, halt, chance }: Motion, random: Random): Limit[] {
  const limits: Limit[] = at.slice(1, -1).map((metres) => ({ at: metres, speed: corner, wait: 0 }));
  for (let s = every * random.between(0.7, 1.2); s < length - every / 3; s += every * random.between(0.7, 1.3)) {
    if (random.chance(chance)) limits.push({ at: s, speed: 0, wait: Math.round(random.between(...halt)) });
  }
  limits.push({ at: length, speed: 0.5, wait: 0 });
  return limits.sort((a, b) => a.at - b.at);
}

function pointAt({ corners, at, length }: Line, metres: number): Point & { bearing: number } {
  const s = Math.min(metres, length);
  let i = 1;
  while (i < corners.length - 1 && at[i]! < s) i++;
  const [a, b] = [corners[i - 1]!, corners[i]!];
  const share = at[i]! === at[i - 1]! ? 0 : (s - at[i - 1]!) / (at[i]! - at[i - 1]!);
  const bearing = (Math.atan2(b.x - a.x, b.y - a.y) * 180) / Math.PI;
  return { x: a.x + share * (b.x - a.x), y: a.y + share * (b.y - a.y), bearing: (bearing + 360) % 360 };
}
