// A journey of a decoded outing -> a trip: its bounds, legs, modes and way, and what it was made by.
import { distance } from '../../geo/distance.ts';
import { median } from '../../geo/speed.ts';
import type { TripEvidence } from '../../model/trip.ts';
import { lookAround } from '../look-ahead.ts';
import type { Location, Motion, PhoneEvent } from '../observations.ts';
import { unseenFrom } from '../places.ts';
import type { PathPoint, SegmentedSection, SegmentedTrip, Stay, Stretch } from '../segmenter.ts';
import { type Bounds, boundsOf } from './bounds.ts';
import type { RawTrip } from './candidates.ts';
import type { Cells } from './decode.ts';
import type { Journey } from './journeys.ts';
import { type Leg, legsOf } from './legs.ts';
import { states } from './model.ts';
import { modeOf, movingShares } from './modes.ts';
import type { Outing } from './outings.ts';
import { pathOf, sliceOf } from './path.ts';
import type { Run } from './runs.ts';
import { firstAfter, positionAt, type Track } from './track.ts';
import { fastestSpeed, vehiclesOf } from './vehicles.ts';

/** How the trips, places, sections and stops were found. */
const source = 'StateSequence';

/** An outing with its track and states. */
export interface Decoded {
  outing: Outing;
  locations: readonly Location[];
  motions: readonly Motion[];
  events: readonly PhoneEvent[];
  track: Track;
  cells: Cells;
  runs: readonly Run[];
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
  const unseen = stay && unseenFrom(stay, first, events);
  const seenStay = unseen ? null : stay;
  const bounds = boundsOf({
    sampling: outing.sampling,
    cells,
    runs,
    firstTs: first.ts,
    lastTs: last.ts,
    leftTs: leftAt(decoded, first, last, seenStay),
    silentSince: track.ts[firstAfter(track, first.ts) - 2] ?? Number.NEGATIVE_INFINITY,
    notBefore: unseen?.end_ts ?? seenStay?.enter_ts ?? Number.NEGATIVE_INFINITY,
    notAfter,
  });
  return {
    ...frame(outing, first, last, journey.last, isLast),
    end_ts: bounds.end_ts,
    end: placeAt(track, bounds.end_ts),
    unseen,
    sections: journey.phantom ? [] : sectionsOf(decoded, bounds, seenStay),
    evidence: evidenceOf(decoded, journey, bounds),
  };
}

/** A candidate that the program failed on: no travel, with the error. */
export function failedTrip(outing: Outing, stretch: Stretch, candidate: RawTrip, i: number, error: unknown): SegmentedTrip {
  const first = stretch.locations[candidate.startIndex]!;
  const last = stretch.locations[candidate.endIndex]!;
  return {
    ...frame(outing, first, last, candidate, i === outing.candidates.length - 1),
    end_ts: last.ts,
    end: { latitude: last.latitude, longitude: last.longitude },
    unseen: null,
    sections: [],
    evidence: { model: 'none', start: 'location', end: 'location', ended_by: candidate.endedBy, left_out: {} },
    error,
  };
}

/** What a trip follows from, and what follows from it. All trips of an outing are settled together. */
function frame(outing: Outing, first: Location, last: Location, { resume }: RawTrip, isLast: boolean) {
  const needsFrom = (isLast ? resume.resume_ts : outing.from) - lookAround;
  return { first, last, settledTs: outing.settledTs, resume, needsFrom, source };
}

/** s; of the stay before a trip at least this much remains, or half of it (the original's) */
const leastStay = 180;

/** When the user left the place before, if they came from there to the first location at the trip's usual speed. */
function leftAt({ track, runs }: Decoded, first: Location, last: Location, stay: Stay | null): number {
  if (!stay || stay.enter_ts >= first.ts) return first.ts;
  const firstLeg = runs.find((run) => run.state !== states.still && run.end > first.ts && run.start < last.ts);
  const speed =
    (firstLeg && typicalSpeed(track, first.ts, firstLeg.end)) ?? typicalSpeed(track, first.ts, last.ts);
  if (speed === null || speed === undefined) return first.ts;
  const earliest = stay.enter_ts + Math.min((first.ts - stay.enter_ts) / 2, leastStay);
  return Math.max(first.ts - distance(stay.location, placeAt(track, first.ts)) / speed, earliest);
}

/** m/s; the median, without standing where the user stood more than half of the time. null: no movement. */
function typicalSpeed(track: Track, from: number, to: number): number | null {
  const speeds: number[] = [];
  for (let i = firstAfter(track, from); i < track.ts.length && track.ts[i]! <= to; i += 1)
    if (i > 0) speeds.push((track.metres[i]! - track.metres[i - 1]!) / (track.ts[i]! - track.ts[i - 1]!));
  return median(speeds) || median(speeds.filter((speed) => speed > 0)) || null;
}

function placeAt(track: Track, ts: number): { latitude: number; longitude: number } {
  const { latitude, longitude } = positionAt(track, ts);
  return { latitude, longitude };
}

function sectionsOf({ track, cells, runs }: Decoded, bounds: Bounds, stay: Stay | null): SegmentedSection[] {
  const { start_ts: start, end_ts: end } = bounds;
  const found = legsOf(runs, start, end);
  const legs = found.length > 0 ? found : [onlyLeg(cells, start, end)];
  const path = pathOf(track, { start, end }, legs, stay);
  const closed = closeWideStops(legs, path);
  const vehicles = vehiclesOf(track, runs, closed, start);
  return closed.map((leg, i) => {
    const way = sliceOf(path, leg.start, leg.end);
    const average = (way.at(-1)!.length - way[0]!.length) / (leg.end - leg.start);
    return { ...modeOf(leg, cells, vehicles[i]!, { average, fastest: fastestSpeed(track, leg) }), path: way, source };
  });
}

/** One leg from start to end, for a journey in which no state moves: the likeliest way to move. */
function onlyLeg(cells: Cells, start: number, end: number): Leg {
  const shares = movingShares({ state: states.walk, start, end }, cells);
  return { state: 1 + shares.indexOf(Math.max(...shares)), start, end };
}

/** m; a stop longer than this is none: somebody moved (the original's) */
const longestStop = 150;

/** Continues a leg over a stop that is too long to be one: the ride, else the earlier leg. */
function closeWideStops(legs: readonly Leg[], path: readonly PathPoint[]): Leg[] {
  const closed = legs.map((leg) => ({ ...leg }));
  for (let i = 1; i < closed.length; i += 1) {
    const [before, after] = [closed[i - 1]!, closed[i]!];
    if (after.start === before.end) continue;
    const stop = sliceOf(path, before.end, after.start);
    if (distance(stop[0]!, stop.at(-1)!) <= longestStop) continue;
    if (after.state === states.motor && before.state !== states.motor) after.start = before.end;
    else before.end = after.start;
  }
  return closed;
}

function evidenceOf({ track, model }: Decoded, journey: Journey, bounds: Bounds): TripEvidence {
  const { repeats, spikes } = track.leftOut;
  return {
    model,
    start: bounds.start,
    end: bounds.end,
    ended_by: journey.last.endedBy,
    ...(journey.after && { parted_by: journey.after }),
    ...(journey.waits.length > 0 && { waits: journey.waits }),
    ...(journey.phantom && { phantom: true }),
    left_out: { ...(repeats > 0 && { repeats }), ...(spikes > 0 && { spikes }) },
  };
}
