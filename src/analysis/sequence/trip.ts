// A journey of a decoded outing -> a trip: its bounds, legs, modes and way, and what it was made by.
import { distance } from '../../geo/distance.ts';
import { median } from '../../geo/speed.ts';
import { transitions } from '../../model/payloads.ts';
import type { TripEvidence } from '../../model/trip.ts';
import { withFields } from '../../model/with-fields.ts';
import { degrees } from '../digits.ts';
import { within } from '../in-time.ts';
import { isEnd, isRestart, type Location, type Motion, type PhoneEvent, restartedBetween } from '../observations.ts';
import { unseenFrom } from '../places.ts';
import { lookAround, type SegmentedSection, type SegmentedTrip, type Stay } from '../segmenter.ts';
import { type Bounds, boundsOf } from './bounds.ts';
import { limits as candidateLimits, type RawTrip } from './candidates.ts';
import { type Cells, movingShares } from './decode.ts';
import { readingKind, readingKindOf } from './features.ts';
import type { JointModel, JointOdds } from './joint.ts';
import type { Journey } from './journeys.ts';
import { type Leg, legsOf } from './legs.ts';
import { cellStates } from './model.ts';
import { byAir, type Mode, modeOf, unknownMode } from './modes.ts';
import type { Outing } from './outings.ts';
import { estimatedIn, pathOf, sliceOf } from './path.ts';
import { legFeatures, type Ride, rideLimits } from './rides.ts';
import { isUnderWay, type Run, runsBetween } from './runs.ts';
import { withLeftOut } from './strays.ts';
import { apartIn, firstAfter, metresBetween, positionAt, speedsIn, type Track, trackLimits } from './track.ts';

/** How the trips, places, sections and stops were found. */
const source = 'StateSequence';

/** An outing with its track and states. */
export interface Decoded {
  outing: Outing;
  locations: readonly Location[];
  /** Times of locations that were left out before. */
  strays: readonly number[];
  motions: readonly Motion[];
  events: readonly PhoneEvent[];
  track: Track;
  cells: Cells;
  runs: readonly Run[];
  /** Its legs, and what is said of their modes. */
  rides: readonly Ride[];
  odds: JointOdds;
  joint: JointModel;
  /** Name of the model that the states are from. */
  model: string;
}

/** The trip of one journey. `notAfter`: when the next one begins; `isLast`: it is the last of its outing. */
export function tripOf(
  decoded: Decoded,
  journey: Journey,
  stay: Stay | null,
  { notAfter, isLast }: { notAfter: number; isLast: boolean },
): SegmentedTrip {
  const { outing, locations, events, track, cells, runs } = decoded;
  const first = locations[journey.startIndex]!;
  const last = locations[journey.endIndex]!;
  const unseen =
    stay && unseenFrom(stay, first, { events, motions: decoded.motions, underWay: isUnderWay(runs, first.ts) });
  const seenStay = unseen ? null : stay;
  const exitedTs = exitedAt(decoded, first);
  const bounds = boundsOf({
    sampling: outing.sampling,
    cells,
    runs,
    firstTs: first.ts,
    lastTs: last.ts,
    arrivedTs: arrivedAt(track, first.ts, last.ts),
    leftTs: leftAt(decoded, first, last, seenStay),
    silentSince: silentSince(decoded, first),
    exitedTs,
    motions: within(decoded.motions, first.ts - lookAround, first.ts),
    noWay: stay === null || first === last,
    // Who moved unseen begins where they turn up, unless the phone says when they left.
    notBefore:
      unseen && exitedTs === null ? first.ts : Math.max(stay?.enter_ts ?? -Infinity, trackedSince(decoded, first)),
    notAfter: Math.min(notAfter, saidToEnd(decoded, last, journey.last)),
  });
  return withFields(frame(decoded, first, last, journey.last, isLast), {
    end_ts: bounds.end_ts,
    end: shownPlace(positionAt(track, bounds.end_ts)),
    unseen: unseen && withFields(unseen, { end_ts: Math.min(first.ts, bounds.start_ts) }),
    recorded: recordedWay(track, first.ts, bounds.end_ts, seenStay),
    sections:
      journey.phantom || !(bounds.end_ts > bounds.start_ts) ? [] : sectionsOf(decoded, bounds, first.ts, seenStay),
    evidence: evidenceOf(decoded, journey, bounds),
  });
}

/** A candidate that the program failed on: no travel, with the error. */
export function failedTrip(
  outing: Outing,
  stretch: Pick<Decoded, 'locations' | 'strays'>,
  candidate: RawTrip,
  i: number,
  error: unknown,
): SegmentedTrip {
  const first = stretch.locations[candidate.startIndex]!;
  const last = stretch.locations[candidate.endIndex]!;
  return {
    ...frame({ outing, strays: stretch.strays }, first, last, candidate, i === outing.candidates.length - 1),
    end_ts: last.ts,
    end: { latitude: last.latitude, longitude: last.longitude },
    unseen: null,
    recorded: 0,
    sections: [],
    evidence: { model: 'none', start: 'location', end: 'location', ended_by: candidate.endedBy, left_out: {} },
    error,
  };
}

/** Since when all locations between two times lie near the last one. */
function arrivedAt(track: Track, from: number, to: number): number {
  let i = Math.max(0, firstAfter(track, to) - 1);
  const last = i;
  while (i > 0 && track.ts[i - 1]! >= from && apartIn(track.x, track.y, i - 1, last) < candidateLimits.timeDistance)
    i -= 1;
  return Math.min(track.ts[i]!, to);
}

function recordedWay(track: Track, firstTs: number, end: number, stay: Stay | null): number {
  const metres = metresBetween(track, firstTs, Math.max(end, firstTs));
  return metres + (stay ? distance(stay.location, positionAt(track, firstTs)) : 0);
}

/**
 * The last location before the trip's first; the trip's own first, if the phone was started in between: it did not
 * sleep.
 */
function silentSince({ track, events }: Decoded, first: Location): number {
  let after = firstAfter(track, first.ts);
  while (after > 0 && track.ts[after - 1]! >= first.ts) after -= 1;
  const before = after > 0 ? track.ts[after - 1]! : Number.NEGATIVE_INFINITY;
  return restartedBetween(events, Math.max(before, first.ts - lookAround), first.ts) ? first.ts : before;
}

/** s around the first location in which a phone's geofence is the one that woke it */
const exitWindow = { before: 120, after: 60 };

/** When an Android phone that slept said that the user had left the place; null: it did not sleep. */
function exitedAt({ outing, events }: Decoded, { ts }: Location): number | null {
  if (outing.sampling !== 'time') return null;
  const near = within(events, ts - exitWindow.before, ts + exitWindow.after);
  return near.find((event) => event.transition === transitions.EXITED_GEOFENCE)?.ts ?? null;
}

/** When the user had switched tracking on, or the phone: before that nothing was to be noticed. */
function trackedSince({ events }: Decoded, { ts }: Location): number {
  const on = within(events, ts - lookAround, ts + exitWindow.after).findLast(
    (event) => event.transition === transitions.START_TRACKING || isRestart(event),
  );
  return on ? Math.min(on.ts, ts) : Number.NEGATIVE_INFINITY;
}

/** When a trip that ended by the phone's word did, or the phone was restarted; infinite otherwise. */
function saidToEnd({ events }: Decoded, last: Location, { endedBy }: RawTrip): number {
  const isSaid = (event: PhoneEvent): boolean => isRestart(event) || (endedBy === 'phone' && isEnd(event));
  return events.find((event) => event.ts >= last.ts && isSaid(event))?.ts ?? Number.POSITIVE_INFINITY;
}

/** What a trip follows from, and what follows from it. All trips of an outing are settled together. */
function frame(
  { outing, strays }: Pick<Decoded, 'outing' | 'strays'>,
  first: Location,
  last: Location,
  { resume: { resume_ts, started } }: RawTrip,
  isLast: boolean,
) {
  const resume = withLeftOut({ resume_ts, started }, strays);
  const needsFrom = (isLast ? resume.resume_ts : outing.from) - lookAround;
  return { first, last, settledTs: outing.settledTs, resume, needsFrom, source };
}

/** s; of the stay before a trip at least this much remains, or half of it (the original's) */
const leastStay = 180;

/** When the user left the place before, if they came from there to the first location at the trip's usual speed. */
function leftAt({ track, runs }: Decoded, first: Location, last: Location, stay: Stay | null): number {
  if (!stay || stay.enter_ts >= first.ts) return first.ts;
  const firstLeg = runs.find((run) => run.state !== cellStates.still && run.end > first.ts && run.start < last.ts);
  const speed = (firstLeg && typicalSpeed(track, first.ts, firstLeg.end)) ?? typicalSpeed(track, first.ts, last.ts);
  if (speed === null || speed === undefined) return first.ts;
  const earliest = stay.enter_ts + Math.min((first.ts - stay.enter_ts) / 2, leastStay);
  return Math.max(first.ts - distance(stay.location, positionAt(track, first.ts)) / speed, earliest);
}

/** m/s; the median, without standing where the user stood more than half of the time. null: no movement. */
function typicalSpeed(track: Track, from: number, to: number): number | null {
  const speeds = speedsIn(track, from, to);
  return median(speeds) || median(speeds.filter((speed) => speed > 0)) || null;
}

/** As the diary says it, so that a run that goes on from the stored place finds the same. */
function shownPlace({ latitude, longitude }: { latitude: number; longitude: number }) {
  return { latitude: degrees(latitude), longitude: degrees(longitude) };
}

function sectionsOf(decoded: Decoded, bounds: Bounds, firstTs: number, stay: Stay | null): SegmentedSection[] {
  const { track, cells, runs, motions } = decoded;
  const { start_ts: start, end_ts: end } = bounds;
  const told = bounds.lead.at(-1)?.end ?? start;
  const inside = [...bounds.lead, ...runsBetween(runs, told, end)];
  const found = legsOf(inside, start, end);
  const legs = found.length > 0 ? closeTravelled(found, track, motions) : [onlyLeg(cells, start, end)];
  const path = pathOf(track, { start, end, firstTs }, legs, stay);
  const ways = legs.map((leg) => sliceOf(path, leg.start, leg.end));
  return legs.map((leg, i) => {
    const way = ways[i]!;
    // A stop is at one spot: what its ends lie apart belongs to the way on from there.
    const { latitude, longitude } = ways[i - 1]?.at(-1) ?? way[0]!;
    const length = way[0]!.length - distance({ latitude, longitude }, way[0]!);
    const first = withFields(way[0]!, { latitude, longitude, length });
    const average = (way.at(-1)!.length - first.length) / (leg.end - leg.start);
    const estimated = estimatedIn(path, leg.start, leg.end);
    return withFields(modeIn(decoded, leg, average), { path: [first, ...way.slice(1)], estimated, source });
  });
}

const coveredFeature = legFeatures.indexOf('covered');

/** How sharp what is said is without readings where locations show nothing of a way; twice that where they show all. */
const unread = 0.45;

/** The mode of a leg: that of the ride that shares most of its time. */
function modeIn({ rides, odds, track, motions }: Decoded, leg: Leg, average: number): Mode {
  const shared = rides.map((ride) => Math.min(ride.leg.end, leg.end) - Math.max(ride.leg.start, leg.start));
  const i = shared.indexOf(Math.max(...shared));
  const fastest = rides[i]?.fastest ?? 0;
  if (average > air.average || (average > air.averageWithPeak && fastest > air.average))
    return agreesAt(track, leg.start) && agreesAt(track, leg.end) ? byAir : unknownMode;
  const own = i >= 0 && shared[i]! > 0 ? odds.single[i]! : stateOdds[leg.state]!;
  const covered = rides[i]?.features[coveredFeature] ?? 0;
  const sharpness = motions.length > 0 ? 1 : unread * (1 + covered);
  const chances = own.map((p, m) => (average <= rideLimits.limits[m]! ? p ** sharpness : 0));
  const sum = chances.reduce((a, b) => a + b, 0);
  return sum > 0 ? modeOf(chances.map((p) => p / sum)) : modeOf([0, 0, 0, 0, 1]);
}

/** What is said of a leg that the outing does not know, by its state: without much trust (by hand). */
const stateOdds = [
  [0, 0, 0, 0, 0],
  [0.7, 0.1, 0.1, 0.1, 0],
  [0.2, 0.6, 0.1, 0.1, 0],
  [0, 0.1, 0.5, 0.25, 0.15],
];

/** m/s; a train so fast runs on a line of its own, and its average with halts (physical: what is called high speed) */
const air = { average: 200 / 3.6, averageWithPeak: 100 / 3.6 };

/** s between two locations that agree on where the user was, and how far from an end of a flight they may lie. */
const agreement = { least: 120, most: 3600 };

/** True where two locations, minutes apart, agree that the user was near an end of a leg. */
function agreesAt(track: Track, ts: number): boolean {
  const after = firstAfter(track, ts);
  for (const i of [after - 1, after]) {
    if (i < 0 || i >= track.ts.length || Math.abs(track.ts[i]! - ts) > agreement.most) continue;
    for (let j = 0; j < track.ts.length; j += 1) {
      const seconds = Math.abs(track.ts[j]! - track.ts[i]!);
      if (seconds < agreement.least || seconds > agreement.most) continue;
      if (apartIn(track.x, track.y, i, j) <= trackLimits.impossibleSpeed * seconds) return true;
    }
  }
  return false;
}

/** One leg from start to end, for a journey in which no state moves: the likeliest way to move. */
function onlyLeg(cells: Cells, start: number, end: number): Leg {
  const shares = movingShares({ state: cellStates.walk, start, end }, cells);
  return { state: 1 + shares.indexOf(Math.max(...shares)), start, end };
}

/** Rides that the user stayed in through a silence are one. */
function closeTravelled(legs: readonly Leg[], track: Track, motions: readonly Motion[]): Leg[] {
  const closed: Leg[] = [];
  for (const leg of legs) {
    const before = closed.at(-1);
    if (before && wentOn(before, leg, track, motions)) before.end = leg.end;
    else closed.push({ ...leg });
  }
  return closed;
}

/** Whether the user went on in a vehicle through the silence between two rides: the phone felt it. */
function wentOn(before: Leg, after: Leg, track: Track, motions: readonly Motion[]): boolean {
  if (before.state !== cellStates.motor || after.state !== cellStates.motor) return false;
  if (firstAfter(track, after.start) > firstAfter(track, before.end)) return false;
  const told = within(motions, before.end, after.start).map(({ type }) => readingKind(type));
  const of = (kind: number): number => told.filter((one) => one === kind).length;
  return of(readingKindOf.motor) > of(readingKindOf.still) + of(readingKindOf.walk);
}

function evidenceOf({ outing, strays, track, model }: Decoded, journey: Journey, bounds: Bounds): TripEvidence {
  const { repeats, spikes } = track.leftOut;
  const stray = strays.filter((ts) => ts >= outing.from - lookAround && ts <= outing.to + lookAround).length;
  return {
    model,
    start: bounds.start,
    end: bounds.end,
    ended_by: journey.last.endedBy,
    ...(journey.after && { parted_by: journey.after }),
    ...(journey.waits.length > 0 && { waits: journey.waits }),
    ...(journey.phantom && { phantom: true }),
    left_out: { ...(repeats > 0 && { repeats }), ...(spikes > 0 && { spikes }), ...(stray > 0 && { strays: stray }) },
  };
}
