// Entries as phones push them, written in seconds and metres around one spot; the raw side of `phone.ts`.
import type { Entry } from '../../src/model/entry.ts';
import type { JsonObject } from '../../src/model/json.ts';
import { keys } from '../../src/model/keys.ts';
import type { transitions } from '../../src/model/payloads.ts';
import { zone as home, type Move, spot, steps, t0 } from './phone.ts';

export interface Phone {
  platform: 'android' | 'ios';
  /** null: the entries do not name one. */
  zone?: string | null;
}

export const android: Phone = { platform: 'android' };
export const iphone: Phone = { platform: 'ios' };

/** An entry of a phone, written at `seconds` after `t0`. */
export function pushed(phone: Phone, key: string, seconds: number, data: JsonObject): Entry {
  const zone = phone.zone === undefined ? home : phone.zone;
  const time_zone = zone === null ? {} : { time_zone: zone };
  return { metadata: { key, write_ts: t0 + seconds, platform: phone.platform, type: 'message', ...time_zone }, data };
}

/** A filtered location, so many metres east and north of the origin. */
export function pushedFix(phone: Phone, seconds: number, east: number, north = 0, data: JsonObject = {}): Entry {
  const own = { bearing: 0, sensed_speed: 0, altitude: 40, accuracy: 10 };
  const filter = phone.platform === 'ios' ? 'distance' : 'time';
  return pushed(phone, keys.filteredLocation, seconds, {
    ts: t0 + seconds,
    ...spot(east, north),
    ...own,
    filter,
    ...data,
  });
}

/** Filtered locations of a user who moves east at one speed; of an iPhone every 60 s, else every 30 s. */
export function pushedMove(phone: Phone, move: Move): Entry[] {
  const { from, to, east = 0, north = 0, speed = 0 } = move;
  const every = move.every ?? (phone.platform === 'ios' ? 60 : 30);
  return steps(from, to, every).map((s) => pushedFix(phone, s, east + (s - from) * speed, north));
}

const kinds = { still: 3, walking: 7, running: 8, cycling: 1, automotive: 0, unknown: 4 } as const;
export type MotionWord = keyof typeof kinds;

/** Motion readings every 30 s from one time to another, both ends included. */
export function pushedMotions(phone: Phone, from: number, to: number, word: MotionWord, every = 30): Entry[] {
  return steps(from, to, every).map((s) => pushedMotion(phone, s, word));
}

function pushedMotion(phone: Phone, seconds: number, word: MotionWord): Entry {
  if (phone.platform === 'android')
    return pushed(phone, keys.motionActivity, seconds, { ts: t0 + seconds, type: kinds[word], confidence: 95 });
  const names = ['stationary', 'walking', 'running', 'cycling', 'automotive', 'unknown'];
  const flags = Object.fromEntries(names.map((name) => [name, false]));
  const flag = word === 'still' ? 'stationary' : word;
  return pushed(phone, keys.motionActivity, seconds, { ts: t0 + seconds, ...flags, [flag]: true, confidence: 'high' });
}

type TransitionName = keyof typeof transitions;

const onAndroid: Partial<Record<TransitionName, string>> = { BOOTED: 'booted' };
const onIos: Partial<Record<TransitionName, string>> = {
  BOOTED: 'booted',
  STOPPED_MOVING: 'T_TRIP_ENDED',
  STOP_TRACKING: 'T_FORCE_STOP_TRACKING',
};

export function pushedTransition(phone: Phone, seconds: number, name: TransitionName, state = 'ONGOING_TRIP'): Entry {
  const [currState, transition] =
    phone.platform === 'ios'
      ? [`STATE_${state}`, onIos[name] ?? `T_${name}`]
      : [`local.state.${state.toLowerCase()}`, onAndroid[name] ?? `local.transition.${name.toLowerCase()}`];
  return pushed(phone, keys.transition, seconds, { currState, transition, ts: t0 + seconds });
}

/** A marked place on the way; its identity is the time of marking, `seconds` unless given. */
export function pushedIncident(phone: Phone, seconds: number, east: number, stress: number, marked = seconds): Entry {
  const { latitude, longitude } = spot(east);
  const loc = { type: 'Point', coordinates: [longitude, latitude] };
  return pushed(phone, keys.incident, marked, { ts: t0 + seconds, loc, stress });
}

/** Ten minutes at `speed` m/s from `east` on, ten minutes of rest, and the phone's word that it has stopped. */
export function pushedRide(phone: Phone, from: number, east: number, speed = 10): Entry[] {
  const rest =
    phone.platform === 'ios' ? [] : pushedMove(phone, { from: from + 630, to: from + 1200, east: east + 600 * speed });
  return [
    ...pushedMove(phone, { from, to: from + 600, east, speed }),
    ...rest,
    ...pushedMotions(phone, from, from + 570, 'automotive'),
    pushedTransition(phone, from + 1210, 'STOPPED_MOVING'),
  ];
}

/** A ride of 6 km there and, six hours later, back; `days` after 2023-11-14, a Tuesday. */
export function commute(days: number, phone = android): Entry[] {
  const from = days * 86_400;
  return [...pushedRide(phone, from, 0), ...pushedRide(phone, from + 6 * 3600, 6000, -10)];
}
