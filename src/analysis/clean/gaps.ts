// Gaps: times in which a phone sent nothing although it should have. A silent phone at rest is no gap.
//
//   signs      o oo o o |rest                    o o o      o o          o oo o      o: location, reading or event
//   time                 <-- 8 h, waits ------->       <20 min>  <2 h--->
//   result               stay: armed geofence,         gap       gap: 5 km away
//                        back within 1 km              (silent)  afterwards (silent)
//
// If the phone reports movement without locations for 5 minutes, the time until the next location is a gap, too. So is
// the time of an open trip without a location for 45 minutes, if the next one is far away. The
// result is stored with the links of the chain; `diary/observed-time.ts` makes unobserved time of it.
import { distance } from '../../model/geo/distance.ts';
import { states, transitions } from '../../model/payloads.ts';
import type { TimeRange } from '../../model/time.ts';
import type { LastSeen, Silence, SilenceReason } from '../../model/trip.ts';
import { cellStates, isMoving, readingState } from '../motion-states.ts';
import { locationOf, positionOf } from '../positions.ts';
import { lookAround } from '../segmenter.ts';
import { firstLater } from '../sorted-times.ts';
import type { Location, Motion, Observations, PhoneEvent } from './observations.ts';

type Phone = LastSeen['phone'];

/** Thresholds, all by hand. */
export const gapLimits = {
  /** s; a phone that moves, or that reports at rest, sends something more often */
  longest: 900,
  /** s; the longest stay without a sign: most people move within this time */
  stay: 86_400,
  /** m; farther away after a gap, the user moved in it (phones notice an exit late) */
  near: 1000,
  /** s and m: a phone without a state machine rests between two locations this near to each other */
  inferred: 3 * 3600,
  same: 150,
  /** s after which a gap counts as a stay unless the next event reports movement */
  settled: 2700,
  /** A phone that sent this many locations at rest, at most `longest` s apart, reports at rest. */
  reports: 3,
  /** s of uninterrupted movement without a location; people who walk indoors rest sooner */
  unlocated: 300,
  /** Least confidence of the readings for it, and the most s between them. */
  sure: 75,
  apart: 90,
};

/**
 * The gaps that end in `(seen.ts, until]`, and the state at `until`, which is the time of a location or infinite. A
 * fold: two calls for two halves give the same as one call.
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
  const now: Fold = { phone: 'unknown', at: null, reports: 0, stay: null, ...seen, ts: seen?.ts ?? null };
  for (;;) {
    const [location, motion, event] = [locations[l], motions[m], events[e]];
    const ts = Math.min(location?.ts ?? Infinity, motion?.ts ?? Infinity, event?.ts ?? Infinity);
    if (ts > until || ts === Infinity) return { silences, seen: toLastSeen(now) };
    const before = now.ts;
    if (before !== null && ts - before > gapLimits.longest) {
      const range = { from: before, to: ts };
      const isRest = motion?.ts === ts && location?.ts !== ts && isStill(motion);
      const reason = reasonOf(now, range, location, event?.ts === ts ? event : undefined);
      if (reason === 'silent' && isInferredStay(now, range, location, isRest))
        silences.push({ ...range, reason, inferred: true });
      else if (reason !== null) {
        const metres = reason === 'silent' ? movedIn(now, range, location) : null;
        silences.push({ ...range, ...(metres === null ? { reason } : { reason: 'moved', moved_m: metres }) });
        if (metres !== null) now.unreported = true;
        now.gap = range;
        if (now.phone === 'moves') now.led = undefined;
      }
      now.reports = 0;
      now.stay = reason === null ? { from: before, to: ts } : null;
    }
    now.ts = ts;
    if (now.stay && ts - now.stay.to > gapLimits.settled) now.stay = null;
    for (; events[e]?.ts === ts; e += 1) {
      // A trip was under way: the user left the place in the gap, whether they came back or not.
      if (now.stay && events[e]!.state === states.ONGOING_TRIP) silences.push({ ...now.stay, reason: 'silent' });
      addEvent(now, events[e]!);
    }
    for (; motions[m]?.ts === ts; m += 1) addReading(now, motions[m]!);
    for (; locations[l]?.ts === ts; l += 1) {
      const lost = lostTime(now, locations[l]!);
      if (lost !== null) silences = withUnlocated(silences, lost);
      if (now.unlocated !== undefined) {
        silences = withUnlocated(silences, { from: now.unlocated, to: ts });
        now.stay = null;
      }
      now.moving = undefined;
      now.unlocated = undefined;
      now.at = positionOf(locations[l]!);
      now.at_ts = ts;
      now.led = now.phone === 'moves' ? ts : undefined;
      now.reports = now.phone === 'waits' ? now.reports + 1 : 0;
    }
  }
}

/** The state while it is folded over the signs: changed in place, as most signs change one field only. */
type Fold = Omit<LastSeen, 'ts' | Optional> & {
  /** Time of the last sign; null: none yet. */
  ts: number | null;
} & { [name in Optional]?: LastSeen[name] | undefined };

type Optional = 'moving' | 'unlocated' | 'led' | 'unreported';

function toLastSeen({ ts, ...rest }: Fold): LastSeen | null {
  if (ts === null) return null;
  const known = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  return { ...(known as Omit<LastSeen, 'ts'>), ts };
}

/** The time of an open trip that had no location for so long, before one that is far away; null: there is none. */
function lostTime({ at, at_ts, led, phone, unlocated = Infinity }: Fold, here: Location): TimeRange | null {
  if (at === null || at_ts === undefined || led === undefined) return null;
  const until = phone === 'moves' ? here.ts : led;
  if (until - at_ts <= lookAround || distance(locationOf(at), here) <= gapLimits.near) return null;
  return { from: at_ts, to: Math.min(until, unlocated) };
}

/** Adds a reading to the movement since the last location. */
function addReading(now: Fold, { ts, type, confidence }: Motion): void {
  if (!isMoving(readingState(type)) || confidence < gapLimits.sure) return;
  const { moving } = now;
  const from = moving !== undefined && ts - moving.to <= gapLimits.apart ? moving.from : ts;
  if (now.unlocated === undefined && ts - from >= gapLimits.unlocated) now.unlocated = from;
  now.moving = { from, to: ts };
}

/** Adds a time of movement without locations, except where it overlaps other gaps. */
function withUnlocated(silences: readonly Silence[], { from, to }: TimeRange): Silence[] {
  const inner = silences.filter((one) => one.from >= from);
  const begins = [from, ...inner.map((one) => one.to)];
  const parts = begins.map((begin, i): Silence => {
    return { from: begin, to: Math.min(inner[i]?.from ?? to, to), reason: 'no location' };
  });
  return [...silences, ...parts.filter((one) => one.to > one.from)].sort((a, b) => a.to - b.to);
}

/**
 * Why a time was a gap; null: it was a stay. `next`: the first location after it; `event`: the event that
 * ends it.
 */
function reasonOf(
  { phone, at, reports }: Fold,
  { from, to }: TimeRange,
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

/** True for a confident reading of rest, such as a ping of OwnTracks. */
const isStill = ({ type, confidence }: Motion): boolean =>
  readingState(type) === cellStates.still && confidence >= gapLimits.sure;

/**
 * True if a phone without a state machine, or whose last event is of another place, was probably at rest in a gap:
 * no movement was reported since its last location, and the next sign is a location there or a reading of rest.
 */
function isInferredStay(now: Fold, { from, to }: TimeRange, next: Location | undefined, isRest: boolean): boolean {
  const isSilent = now.machine === undefined || now.unreported === true;
  if (!isSilent || now.at === null || now.at_ts === undefined || now.moving !== undefined) return false;
  if (isRest) return to - from <= gapLimits.inferred;
  return next?.ts === to && to - from <= gapLimits.inferred && distance(locationOf(now.at), next) <= gapLimits.same;
}

/** m in a straight line that the user moved in a gap; null: not far, or not known. */
function movedIn({ at }: Fold, { to }: TimeRange, next: Location | undefined): number | null {
  if (at === null || next === undefined || next.ts - to > gapLimits.longest) return null;
  const metres = distance(locationOf(at), next);
  return metres > gapLimits.near ? Math.round(metres) : null;
}

/** What the phone does, by the transition of an event, otherwise by its state. */
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

/**
 * True where the app, which did not segment before, starts. One that reports `INITIALIZE` in another state stays in
 * that state.
 */
const isAnew = ({ transition, state }: PhoneEvent): boolean =>
  transition === transitions.INITIALIZE && state === states.START;

/** What the phone does after an event. */
function addEvent(now: Fold, event: PhoneEvent): void {
  const phone = phoneOf(event) ?? now.phone;
  if (now.phone === 'moves' && now.led !== undefined) now.led = event.ts;
  if (phone !== now.phone || event.state === states.ONGOING_TRIP) now.reports = 0;
  now.phone = phone;
  now.stay = null;
  if (phone !== 'waits' && phone !== 'moves') return;
  now.machine = true;
  now.unreported = undefined;
}

const phoneOf = (event: PhoneEvent): Phone | null =>
  isAnew(event) ? 'unknown' : (phoneBy.get(event.transition) ?? phoneIn.get(event.state) ?? null);
