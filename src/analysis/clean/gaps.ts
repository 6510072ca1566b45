// Step "silences": time in which a phone sent nothing, and which is no stay either. A phone at rest may be silent: if
// it said that it waits for the user to leave, and is still there when it speaks again, the silence was a stay. A phone
// that tells of movement and not where is as good as silent until its next location.

import { distance } from '../../model/geo/distance.ts';
import { states, transitions } from '../../model/payloads.ts';
import type { TimeRange } from '../../model/time.ts';
import type { LastSeen, Silence, SilenceReason } from '../../model/trip.ts';
import { isMoving, readingState } from '../motion-states.ts';
import { locationOf, positionOf } from '../positions.ts';
import { firstLater } from '../sorted-times.ts';
import type { Location, Motion, Observations, PhoneEvent } from './observations.ts';

type Phone = LastSeen['phone'];

/** Thresholds, all set by hand. */
export const gapLimits = {
  /** s; phones on the way, and those that report at rest, send something more often than this */
  longest: 900,
  /** s; most people have moved within this time, so a phone that waits for longer was deaf */
  stay: 86_400,
  /** m; farther away than this after a silence, the user has moved in it: phones notice an exit late */
  near: 1000,
  /** s after which a silence that seemed to be a stay is one, unless the phone's next word says that it moved */
  settled: 2700,
  /** A phone that sent so many locations at rest, none later than `longest` after the one before, reports at rest. */
  reports: 3,
  /** s on end of movement without a location after which it counts; who walks about indoors rests sooner */
  unlocated: 300,
  /** Confidence of a reading that counts for it, and the most s from one to the next. */
  sure: 75,
  apart: 90,
};

/**
 * The silences that end in `(seen.ts, until]`, and what the phone last said at `until`, a location's time or infinite.
 * Folding to a time and on from there gives the same as folding at once.
 */
export function findGaps(
  signs: Observations,
  seen: LastSeen | null,
  until: number,
): { silences: Silence[]; seen: LastSeen | null } {
  const { locations, motions, events } = signs;
  const from = seen?.ts ?? Number.NEGATIVE_INFINITY;
  let [l, m, e] = [firstLater(locations, from), firstLater(motions, from), firstLater(events, from)];
  let silences: Silence[] = [];
  let state = seen;
  for (;;) {
    const [location, motion, event] = [locations[l], motions[m], events[e]];
    const ts = Math.min(location?.ts ?? Infinity, motion?.ts ?? Infinity, event?.ts ?? Infinity);
    if (ts > until || ts === Infinity) return { silences, seen: state };
    let now: LastSeen = { ...(state ?? { phone: 'unknown', at: null, reports: 0, stay: null }), ts };
    if (state !== null && ts - state.ts > gapLimits.longest) {
      const reason = reasonOf(state, ts, location, event?.ts === ts ? event : undefined);
      if (reason !== null) silences.push({ from: state.ts, to: ts, reason });
      now = { ...now, reports: 0, stay: reason === null ? { from: state.ts, to: ts } : null };
    }
    if (now.stay && ts - now.stay.to > gapLimits.settled) now.stay = null;
    for (; events[e]?.ts === ts; e += 1) {
      // It was on the way again: it left the place, and came back or not, without a word.
      if (now.stay && events[e]!.state === states.ONGOING_TRIP) silences.push({ ...now.stay, reason: 'silent' });
      now = { ...now, ...phoneAfter(events[e]!, now), stay: null };
    }
    for (; motions[m]?.ts === ts; m += 1) now = afterReading(now, motions[m]!);
    for (; locations[l]?.ts === ts; l += 1) {
      const { moving: _, unlocated, ...rest } = now;
      if (unlocated !== undefined) silences = withUnlocated(silences, { from: unlocated, to: ts });
      const stay = unlocated === undefined ? now.stay : null;
      now = { ...rest, stay, at: positionOf(locations[l]!), reports: now.phone === 'waits' ? now.reports + 1 : 0 };
    }
    state = now;
  }
}

/** What a reading adds to the movement since the last location. */
function afterReading(seen: LastSeen, { ts, type, confidence }: Motion): LastSeen {
  if (!isMoving(readingState(type)) || confidence < gapLimits.sure) return seen;
  const { moving, unlocated } = seen;
  const from = moving !== undefined && ts - moving.to <= gapLimits.apart ? moving.from : ts;
  const isLong = unlocated === undefined && ts - from >= gapLimits.unlocated;
  return { ...seen, moving: { from, to: ts }, ...(isLong && { unlocated: from }) };
}

/** The silences with a time of movement without locations, as far as it is not silent for another reason. */
function withUnlocated(silences: readonly Silence[], { from, to }: TimeRange): Silence[] {
  const inner = silences.filter((one) => one.from >= from);
  const begins = [from, ...inner.map((one) => one.to)];
  const parts = begins.map((begin, i): Silence => ({ from: begin, to: inner[i]?.from ?? to, reason: 'no location' }));
  return [...silences, ...parts.filter((one) => one.to > one.from)].sort((a, b) => a.to - b.to);
}

/**
 * Why a silence up to `to` was no stay; null: it was. `next`: the first location after it; `event`: the phone's word
 * that ends it.
 */
function reasonOf(
  { phone, at, reports, ts: from }: LastSeen,
  to: number,
  next: Location | undefined,
  event: PhoneEvent | undefined,
): SilenceReason | null {
  if (phone === 'off' || phone === 'error') return phone === 'off' ? 'tracking off' : 'no permission';
  if (event?.transition === transitions.BOOTED) return 'phone off';
  if (event !== undefined && isAnew(event)) return 'silent';
  const isThere = at !== null && next !== undefined && distance(locationOf(at), next) <= gapLimits.near;
  const isStay = phone === 'waits' && isThere && reports < gapLimits.reports && to - from <= gapLimits.stay;
  return isStay ? null : 'silent';
}

/** What the phone does after a transition, else by its state. */
const phoneBy = codes(transitions, {
  waits: ['STOPPED_MOVING', 'TRIP_END_DETECTED', 'END_TRIP_TRACKING', 'INIT_COMPLETE'],
  moves: ['EXITED_GEOFENCE', 'TRIP_STARTED', 'TRIP_RESTARTED', 'VISIT_ENDED'],
  off: ['STOP_TRACKING', 'TRACKING_STOPPED'],
  unknown: ['BOOTED', 'START_TRACKING'],
  error: ['TRACKING_ERROR'],
});
const phoneIn = codes(states, {
  waits: ['WAITING_FOR_TRIP_START'],
  moves: ['ONGOING_TRIP'],
  off: ['TRACKING_STOPPED'],
});

function codes<Name extends string>(of: Record<Name, number>, phones: { [phone in Phone]?: Name[] }) {
  const rows = Object.entries<Name[]>(phones as Record<Phone, Name[]>);
  return new Map(rows.flatMap(([phone, names]) => names.map((name) => [of[name] as number | null, phone as Phone])));
}

/** True where the app, which did not segment before, starts. One that says `INITIALIZE` in another state goes on in it. */
const isAnew = ({ transition, state }: PhoneEvent): boolean =>
  transition === transitions.INITIALIZE && state === states.START;

/** What the phone does after a step of its state machine. */
function phoneAfter(event: PhoneEvent, before: LastSeen): Pick<LastSeen, 'phone' | 'reports'> {
  const phone = phoneOf(event) ?? before.phone;
  const maySwallow = phone === before.phone && event.state !== states.ONGOING_TRIP;
  return { phone, reports: maySwallow ? before.reports : 0 };
}

const phoneOf = (event: PhoneEvent): Phone | null =>
  isAnew(event) ? 'unknown' : (phoneBy.get(event.transition) ?? phoneIn.get(event.state) ?? null);
