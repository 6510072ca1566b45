// A journey of a decoded group -> a trip: its bounds, legs, modes and way, and what it was made by.

import { distance } from '../../model/geo/distance.ts';
import type { TripEvidence, Untracked } from '../../model/trip.ts';
import { withFields } from '../../model/with-fields.ts';
import type { Candidate } from '../clean/candidates.ts';
import type { Location, Motion } from '../clean/observations.ts';
import { withOutliers } from '../clean/outliers.ts';
import { type Track, trackLimits } from '../clean/track.ts';
import { legFeatures, legLimits, movingShares } from '../modes/leg-evidence.ts';
import { byAir, toMode, unknownMode } from '../modes/section-mode.ts';
import { cellStates, readingState } from '../motion-states.ts';
import { degrees } from '../positions.ts';
import { lookAround, type Mode, type SegmentedSection, type SegmentedTrip, type Stay } from '../segmenter.ts';
import { within } from '../sorted-times.ts';
import { isUnderWay, joinLegs, type Leg, segmentsBetween } from '../states/segments.ts';
import type { Cells } from '../states/viterbi.ts';
import type { DecodedGroup, GroupPart, Journey } from './journeys.ts';
import { type Bounds, findBounds, unseenFrom } from './trip-bounds.ts';
import { buildPath, estimatedMetres, slicePath } from './trip-path.ts';

/** How the trips, places, sections and stops were found. */
const source = 'StateSequence';

/** The trip of one journey. `notAfter`: when the next one begins; `isLast`: it is the last of its group. */
export function toSegmentedTrip(
  decoded: DecodedGroup,
  journey: Journey,
  stay: Stay | null,
  { notAfter, isLast }: { notAfter: number; isLast: boolean },
): SegmentedTrip {
  const { track } = decoded;
  const frame = commonFields(decoded, journey, isLast);
  const { first, last } = frame;
  const unseen = stay && unseenBefore(decoded, stay, first);
  const seenStay = unseen ? null : stay;
  const bounds = findBounds(decoded, {
    first,
    last,
    candidate: journey.last,
    stay,
    isUnseen: unseen !== null,
    notAfter,
  });
  return withFields(frame, {
    end_ts: bounds.end_ts,
    end: shownPlace(track.positionAt(bounds.end_ts)),
    unseen: unseen && withFields(unseen, { end_ts: Math.min(first.ts, bounds.start_ts) }),
    recorded: recordedMetres(track, first.ts, bounds.end_ts, seenStay),
    sections:
      journey.phantom || !(bounds.end_ts > bounds.start_ts) ? [] : buildSections(decoded, bounds, first.ts, seenStay),
    evidence: evidenceOf(decoded, journey, bounds),
  });
}

/** The way from a stay to the first location of a trip, if nobody saw it. */
export function unseenBefore(
  { events, motions, segments }: DecodedGroup,
  stay: Stay,
  first: Location,
): Untracked | null {
  return unseenFrom(stay, first, { events, motions, underWay: isUnderWay(segments, first.ts) });
}

/** A candidate that the program failed on: no travel, with the error. */
export function failedTrip(stretch: FieldSources, candidate: Candidate, error: unknown): SegmentedTrip {
  const isLast = candidate === stretch.group.candidates.at(-1);
  const frame = commonFields(stretch, { ...candidate, last: candidate }, isLast);
  const { last } = frame;
  return {
    ...frame,
    end_ts: last.ts,
    end: { latitude: last.latitude, longitude: last.longitude },
    unseen: null,
    recorded: 0,
    sections: [],
    evidence: { model: 'none', start: 'location', end: 'location', ended_by: candidate.endedBy, left_out: {} },
    error,
  };
}

function recordedMetres(track: Track, firstTs: number, end: number, stay: Stay | null): number {
  const metres = track.metresBetween(firstTs, Math.max(end, firstTs));
  return metres + (stay ? distance(stay.location, track.positionAt(firstTs)) : 0);
}

type FieldSources = Pick<DecodedGroup, 'group' | 'locations' | 'outliers'>;

/** What a trip follows from, and what follows from it. All trips of an group are settled together. */
function commonFields(
  { group, locations, outliers }: FieldSources,
  { startIndex, endIndex, last: { resume } }: GroupPart,
  isLast: boolean,
) {
  const [first, last] = [locations[startIndex]!, locations[endIndex]!];
  const nextState = withOutliers(resume, outliers);
  const needsFrom = (isLast ? nextState.resume_ts : group.from) - lookAround;
  return { first, last, settledTs: group.settledTs, resume: nextState, needsFrom, source };
}

/** As the diary says it, so that a run that goes on from the stored place finds the same. */
function shownPlace({ latitude, longitude }: { latitude: number; longitude: number }) {
  return { latitude: degrees(latitude), longitude: degrees(longitude) };
}

function buildSections(decoded: DecodedGroup, bounds: Bounds, firstTs: number, stay: Stay | null): SegmentedSection[] {
  const { track, cells, segments, motions } = decoded;
  const { start_ts: start, end_ts: end } = bounds;
  const told = bounds.lead.at(-1)?.end ?? start;
  const inside = [...bounds.lead, ...segmentsBetween(segments, told, end)];
  const found = joinLegs(inside, start, end);
  const legs = found.length > 0 ? closeTravelled(found, track, motions) : [onlyLeg(cells, start, end)];
  const path = buildPath(track, legs, firstTs, stay);
  const ways = legs.map((leg) => slicePath(path, leg.start, leg.end));
  return legs.map((leg, i) => {
    const way = ways[i]!;
    // A stop is at one spot: what its ends lie apart belongs to the way on from there.
    const { latitude, longitude } = ways[i - 1]?.at(-1) ?? way[0]!;
    const length = way[0]!.length - distance({ latitude, longitude }, way[0]!);
    const first = withFields(way[0]!, { latitude, longitude, length });
    const average = (way.at(-1)!.length - first.length) / (leg.end - leg.start);
    const estimated = estimatedMetres(path, leg.start, leg.end);
    return withFields(legMode(decoded, leg, average), { path: [first, ...way.slice(1)], estimated });
  });
}

const coveredFeature = legFeatures.indexOf('covered');

/** How sharp what is said is without readings where locations show nothing of a way; twice that where they show all. */
const unread = 0.45;

/** The mode of a leg: that of the leg that shares most of its time. */
function legMode({ legs, probabilities, track, motions }: DecodedGroup, leg: Leg, average: number): Mode {
  const shared = legs.map((one) => Math.min(one.end, leg.end) - Math.max(one.start, leg.start));
  const i = shared.indexOf(Math.max(...shared));
  const fastest = legs[i]?.fastest ?? 0;
  if (average > air.average || (average > air.averageWithPeak && fastest > air.average))
    return agreesAt(track, leg.start) && agreesAt(track, leg.end) ? byAir : unknownMode;
  const own = i >= 0 && shared[i]! > 0 ? probabilities.single[i]! : modesByState[leg.state]!;
  const covered = legs[i]?.features[coveredFeature] ?? 0;
  const sharpness = motions.length > 0 ? 1 : unread * (1 + covered);
  const chances = own.map((p, m) => (average <= legLimits.limits[m]! ? p ** sharpness : 0));
  const sum = chances.reduce((a, b) => a + b, 0);
  return sum > 0 ? toMode(chances.map((p) => p / sum)) : toMode([0, 0, 0, 0, 1]);
}

/** What is said of a leg that the group does not know, by its state: without much trust (by hand). */
const modesByState = [
  [0, 0, 0, 0, 0],
  [0.7, 0.1, 0.1, 0.1, 0],
  [0.2, 0.6, 0.1, 0.1, 0],
  [0, 0.1, 0.5, 0.25, 0.15],
];

/** m/s; a train so fast segments on a line of its own, and its average with halts (physical: what is called high speed) */
const air = { average: 200 / 3.6, averageWithPeak: 100 / 3.6 };

/** s between two locations that agree on where the user was, and how far from an end of a flight they may lie. */
const agreement = { least: 120, most: 3600 };

/** True where two locations, minutes apart, agree that the user was near an end of a leg. */
function agreesAt(track: Track, ts: number): boolean {
  const after = track.firstAfter(ts);
  for (const i of [after - 1, after]) {
    if (i < 0 || i >= track.ts.length || Math.abs(track.ts[i]! - ts) > agreement.most) continue;
    for (let j = 0; j < track.ts.length; j += 1) {
      const seconds = Math.abs(track.ts[j]! - track.ts[i]!);
      if (seconds < agreement.least || seconds > agreement.most) continue;
      if (track.apart(i, j) <= trackLimits.impossibleSpeed * seconds) return true;
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
    if (before && rodeOn(before, leg, track, motions)) before.end = leg.end;
    else closed.push({ ...leg });
  }
  return closed;
}

/** Whether the user went on in a vehicle through the silence between two legs: the phone felt it. */
function rodeOn(before: Leg, after: Leg, track: Track, motions: readonly Motion[]): boolean {
  if (before.state !== cellStates.motor || after.state !== cellStates.motor) return false;
  if (track.firstAfter(after.start) > track.firstAfter(before.end)) return false;
  const told = within(motions, before.end, after.start).map(({ type }) => readingState(type));
  const of = (state: number): number => told.filter((one) => one === state).length;
  return of(cellStates.motor) > of(cellStates.still) + of(cellStates.walk);
}

function evidenceOf({ group, outliers, track, model }: DecodedGroup, journey: Journey, bounds: Bounds): TripEvidence {
  const { repeats, spikes } = track.leftOut;
  const outlierCount = outliers.filter((ts) => ts >= group.from - lookAround && ts <= group.to + lookAround).length;
  return {
    model,
    start: bounds.start,
    end: bounds.end,
    ended_by: journey.last.endedBy,
    ...(journey.after && { parted_by: journey.after }),
    ...(journey.waits.length > 0 && { waits: journey.waits }),
    ...(journey.phantom && { phantom: true }),
    left_out: {
      ...(repeats > 0 && { repeats }),
      ...(spikes > 0 && { spikes }),
      ...(outlierCount > 0 && { strays: outlierCount }),
    },
  };
}
