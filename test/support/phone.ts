// Locations, motion readings and transitions for tests of the pure stages, in seconds and metres around one spot.
import type { Location, Motion, PhoneEvent } from '../../src/analysis/clean/observations.ts';
import { earthRadius } from '../../src/model/geo/distance.ts';
import { motionTypes, states, transitions } from '../../src/model/payloads.ts';

/** Where and when the tests play: 2023-11-14 08:00 in Berlin. Metres and seconds count from here. */
export const origin = { latitude: 52.5, longitude: 13.4 };
export const t0 = Date.UTC(2023, 10, 14, 7) / 1000;
export const zone = 'Europe/Berlin';

const degree = (earthRadius * Math.PI) / 180;

/** The spot so many metres east and north of the origin. */
export function spot(east: number, north = 0): { latitude: number; longitude: number } {
  return {
    latitude: origin.latitude + north / degree,
    longitude: origin.longitude + east / (degree * Math.cos((origin.latitude * Math.PI) / 180)),
  };
}

/** A location `seconds` after `t0`, so many metres east and north of the origin; as an Android phone samples. */
export function at(seconds: number, east: number, north = 0, more: Partial<Location> = {}): Location {
  return {
    ts: t0 + seconds,
    ...spot(east, north),
    altitude: null,
    accuracy: 10,
    speed: null,
    sampling: 'time',
    zone,
    zoneGuessed: false,
    ...more,
  };
}

/** The same as an iPhone samples. */
export function iosAt(seconds: number, east: number, north = 0): Location {
  return at(seconds, east, north, { sampling: 'distance' });
}

export interface Move {
  /** s since `t0`, both ends included */
  from: number;
  to: number;
  /** s between locations; default 30 */
  every?: number;
  /** m east of the origin, at the start; default 0 */
  east?: number;
  north?: number;
  /** m/s eastwards; default 0 */
  speed?: number;
}

/** Times from `from` to `to`, both ends included. */
export function steps(from: number, to: number, every: number): number[] {
  return Array.from({ length: Math.max(0, Math.floor((to - from) / every) + 1) }, (_, i) => from + i * every);
}

/** Locations of a user who moves east at one speed. */
export function moving(move: Move, more: Partial<Location> = {}): Location[] {
  const { from, to, every = 30, east = 0, north = 0, speed = 0 } = move;
  return steps(from, to, every).map((s) => at(s, east + (s - from) * speed, north, more));
}

export function motion(seconds: number, type: keyof typeof motionTypes): Motion {
  return { ts: t0 + seconds, type: motionTypes[type], confidence: 100 };
}

/** A reading every `every` seconds, both ends included. */
export function motions(from: number, to: number, type: keyof typeof motionTypes, every = 30): Motion[] {
  return steps(from, to, every).map((s) => motion(s, type));
}

export function event(seconds: number, name: keyof typeof transitions, state: keyof typeof states = 'ONGOING_TRIP') {
  return { ts: t0 + seconds, transition: transitions[name], state: states[state] } satisfies PhoneEvent;
}

/** Time in seconds since `t0`. */
export const since = (ts: number): number => ts - t0;
