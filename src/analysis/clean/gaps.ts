// Gaps: times in which a phone sent nothing although it should have. A silent phone at rest is not a gap.
//
//   signs      o oo o o |rest                    o o o      o o          o oo o      o: location, reading or event
//   time                 <-- 8 h at rest ------>       <20 min>  <2 h--->
//   result               stay: armed geofence,         gap       gap: 5 km away
//                        back within 1 km              (silent)  afterwards (silent)
//
// Two other times are gaps: reported movement without a location for 5 minutes, up to the next location; and 45 minutes
// of an open trip without a location, if the next location is far away. Gaps are stored with the links of the chain;
// `diary/observed-time.ts` derives unobserved time from them.
import { distance } from '../../model/geo/distance.ts';
import { states, transitions } from '../../model/payloads.ts';
import { compareTexts } from '../../model/text-order.ts';
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
  longest: 900, // s; longer time without data is a gap: a moving phone sends more often
  stay: 86_400, // s; the longest stay without an entry, because most people move within this time
  near: 1000, // m; a next location farther away shows a move: phones notice a departure within this distance
  inferred: 3 * 3600, // s; in a longer gap, a phone without a state machine is not known to be at rest
  same: 150, // m; a phone without a state machine was at rest in a gap if its next location is this near
  settled: 2700, // s; an event at most this long after a stay may show that the user left during it
  reports: 3, // after so many locations at rest, at most `longest` s apart, the phone is known to send at rest, too
  unlocated: 300, // s; longer movement without a location is a gap; people who walk indoors rest sooner
  sure: 75, // 0 to 100; the lowest confidence of the readings that count for `unlocated`
  apart: 90, // s; two readings of at least `sure` show continuous movement if they are not farther apart
};

/**
 * Finds the gaps that end in `(seen.ts, until]`, and the state of the phone at `until`, which is the time of a location
 * or infinite. Two calls for consecutive parts of the data give the same result as one call for both.
 */
export function findGaps(
  { locations, motions, events }: Observations,
  seen: LastSeen | null,
  until: number,
): { silences: Silence[]; seen: LastSeen | null } {
  const from = seen?.ts ?? Number.NEGATIVE_INFINITY;
  let [l, m, e] = [firstLater(locations, from), firstLater(motions, from), firstLater(events, from)];
  let silences: Silence[] = [];
  const now: GapState = { phone: 'unknown', at: null, reports: 0, stay: null, ...seen, ts: seen?.ts ?? null };
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
      // The event shows a trip under way, so the user left the place during the gap, even if they came back.
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

type GapState = Omit<LastSeen, 'ts' | Optional> & {
  ts: number | null; // time of the last entry; null: there was none
} & { [name in Optional]?: LastSeen[name] | undefined };

type Optional = 'moving' | 'unlocated' | 'led' | 'unreported';

/** The fields are always in the same order, because links are compared by their JSON. */
function toLastSeen({ ts, ...rest }: GapState): LastSeen | null {
  if (ts === null) return null;
  const known = Object.entries(rest).filter(([, value]) => value !== undefined);
  known.sort(([a], [b]) => compareTexts(a, b));
  return { ...(Object.fromEntries(known) as Omit<LastSeen, 'ts'>), ts };
}

/**
 * The time after the last location of an open trip, up to `here` if the phone still moves, else up to the last event of
 * the trip. null: this time is short, or `here` is near the last location.
 */
function lostTime({ at, at_ts, led, phone, unlocated = Infinity }: GapState, here: Location): TimeRange | null {
  if (at === null || at_ts === undefined || led === undefined) return null;
  const until = phone === 'moves' ? here.ts : led;
  if (until - at_ts <= lookAround || distance(locationOf(at), here) <= gapLimits.near) return null;
  return { from: at_ts, to: Math.min(until, unlocated) };
}

function addReading(now: GapState, { ts, type, confidence }: Motion): void {
  if (!isMoving(readingState(type)) || confidence < gapLimits.sure) return;
  const { moving } = now;
  const from = moving !== undefined && ts - moving.to <= gapLimits.apart ? moving.from : ts;
  if (now.unlocated === undefined && ts - from >= gapLimits.unlocated) now.unlocated = from;
  now.moving = { from, to: ts };
}

/** Adds the gap of a movement without locations, except where it overlaps other gaps. */
function withUnlocated(silences: readonly Silence[], { from, to }: TimeRange): Silence[] {
  const inner = silences.filter((one) => one.from >= from);
  const begins = [from, ...inner.map((one) => one.to)];
  const parts = begins.map((begin, i): Silence => {
    return { from: begin, to: Math.min(inner[i]?.from ?? to, to), reason: 'no location' };
  });
  return [...silences, ...parts.filter((one) => one.to > one.from)].sort((a, b) => a.to - b.to);
}

/** Why a time without entries is a gap; null: it was a stay. `next`, `event`: the location or event that ends it. */
function reasonOf(now: GapState, { from, to }: TimeRange, next?: Location, event?: PhoneEvent): SilenceReason | null {
  const { phone, at, reports } = now;
  if (phone === 'off' || phone === 'error') return phone === 'off' ? 'tracking off' : 'no permission';
  if (event?.transition === transitions.BOOTED) return 'phone off';
  if (event !== undefined && isFreshStart(event)) return 'silent';
  const isThere = at !== null && next !== undefined && distance(locationOf(at), next) <= gapLimits.near;
  const isStay = phone === 'waits' && isThere && reports < gapLimits.reports && to - from <= gapLimits.stay;
  return isStay ? null : 'silent';
}

/** True for a confident reading of rest, such as the readings that `restOfPings` makes. */
const isStill = ({ type, confidence }: Motion): boolean =>
  readingState(type) === cellStates.still && confidence >= gapLimits.sure;

/**
 * True if the user was probably at rest, although the phone has no state machine, or its last event belongs to another
 * place. The phone reported no movement after its last location. The next entry is a reading of rest, or is near it.
 */
function isInferredStay(now: GapState, { from, to }: TimeRange, next: Location | undefined, isRest: boolean): boolean {
  const isSilent = now.machine === undefined || now.unreported === true;
  if (!isSilent || now.at === null || now.at_ts === undefined || now.moving !== undefined) return false;
  if (isRest) return to - from <= gapLimits.inferred;
  return next?.ts === to && to - from <= gapLimits.inferred && distance(locationOf(now.at), next) <= gapLimits.same;
}

function movedIn({ at }: GapState, { to }: TimeRange, next: Location | undefined): number | null {
  if (at === null || next === undefined || next.ts - to > gapLimits.longest) return null;
  const metres = distance(locationOf(at), next);
  return metres > gapLimits.near ? Math.round(metres) : null;
}

/** The state of the phone after a transition. For other transitions, `phoneIn` derives it from the event's state. */
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

/** True if the app starts and did not track before. In any other state, `INITIALIZE` changes nothing. */
const isFreshStart = ({ transition, state }: PhoneEvent): boolean =>
  transition === transitions.INITIALIZE && state === states.START;

function addEvent(now: GapState, event: PhoneEvent): void {
  const phone = phoneOf(event) ?? now.phone;
  if (now.phone === 'moves' && now.led !== undefined) now.led = event.ts;
  else if (phone === 'moves') now.led = undefined; // another trip
  if (phone !== now.phone || event.state === states.ONGOING_TRIP) now.reports = 0;
  now.phone = phone;
  now.stay = null;
  if (phone !== 'waits' && phone !== 'moves') return;
  now.machine = true;
  now.unreported = undefined;
}

const phoneOf = (event: PhoneEvent): Phone | null =>
  isFreshStart(event) ? 'unknown' : (phoneBy.get(event.transition) ?? phoneIn.get(event.state) ?? null);
