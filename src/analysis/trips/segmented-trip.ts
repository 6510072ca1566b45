// Makes a trip from a journey: finds its bounds, and builds its sections with modes, paths, and the evidence for them.
import { distance } from '../../model/geo/distance.ts';
import { knownAverage } from '../../model/modes.ts';
import type { TripEvidence } from '../../model/trip.ts';
import { withFields } from '../../model/with-fields.ts';
import type { Candidate } from '../clean/candidates.ts';
import type { Motion } from '../clean/observations.ts';
import { withOutliers } from '../clean/outliers.ts';
import type { Track } from '../clean/track.ts';
import type { DecodedGroup } from '../decode-group.ts';
import { movingShares } from '../modes/leg-evidence.ts';
import { sectionMode } from '../modes/section-mode.ts';
import { cellStates, readingState } from '../motion-states.ts';
import { degrees } from '../positions.ts';
import { lookAround, type SegmentedSection, type SegmentedTrip, type Stay } from '../segmenter.ts';
import { within } from '../sorted-times.ts';
import { joinLegs, type Leg, segmentsBetween } from '../states/segments.ts';
import type { Cells } from '../states/viterbi.ts';
import type { GroupPart, Journey } from './journeys.ts';
import { type Bounds, findBounds, unseenBefore } from './trip-bounds.ts';
import { buildPath, estimatedMetres, slicePath } from './trip-path.ts';

const source = 'StateSequence'; // the method that found the trips, places, sections and stops

/** Makes the trip of a journey. `next`: the journey after it in its group. */
export function toSegmentedTrip(decoded: DecodedGroup, journey: Journey, stay: Stay | null, next?: Journey) {
  const { track, group, locations } = decoded;
  const common = commonFields(decoded, journey, next === undefined);
  const { first, last } = common;
  const notAfter = next ? locations[next.startIndex]!.ts : group.nextTs;
  const unseen = stay && unseenBefore(decoded, stay, first);
  const seenStay = unseen ? null : stay;
  const span = { first, last, candidate: journey.last, stay, isUnseen: unseen !== null, notAfter };
  const bounds = findBounds(decoded, span);
  const lead = seenStay ? distance(seenStay.location, track.positionAt(first.ts)) : 0;
  // The end is rounded as in the diary, so that a run that continues from the stored place finds the same trips.
  const { latitude, longitude } = track.positionAt(bounds.end_ts);
  return withFields(common, {
    end_ts: bounds.end_ts,
    end: { latitude: degrees(latitude), longitude: degrees(longitude) },
    unseen: unseen && withFields(unseen, { end_ts: Math.min(first.ts, bounds.start_ts) }),
    recorded: track.metresBetween(first.ts, Math.max(bounds.end_ts, first.ts)) + lead,
    sections:
      journey.phantom || !(bounds.end_ts > bounds.start_ts) ? [] : buildSections(decoded, bounds, first.ts, seenStay),
    evidence: evidenceOf(decoded, journey, bounds),
  });
}

export function failedTrip(stretch: FieldSources, candidate: Candidate, error: unknown): SegmentedTrip {
  const isLast = candidate === stretch.group.candidates.at(-1);
  const common = commonFields(stretch, { ...candidate, last: candidate }, isLast);
  const { last } = common;
  return {
    ...common,
    end_ts: last.ts,
    end: { latitude: last.latitude, longitude: last.longitude },
    unseen: null,
    recorded: 0,
    sections: [],
    evidence: { model: 'none', start: 'location', end: 'location', ended_by: candidate.endedBy, left_out: {} },
    error,
  };
}

type FieldSources = Pick<DecodedGroup, 'group' | 'locations' | 'outliers'>;

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

function buildSections(decoded: DecodedGroup, bounds: Bounds, firstTs: number, stay: Stay | null): SegmentedSection[] {
  const { track, cells, segments, motions } = decoded;
  const { start_ts: start, end_ts: end } = bounds;
  const leadEnd = bounds.lead.at(-1)?.end ?? start;
  const inside = [...bounds.lead, ...segmentsBetween(segments, leadEnd, end)];
  // Legs of the trip alone, because the group may have longer ones. `sectionMode` finds the leg of the group for each.
  const found = joinLegs(inside, start, end);
  const legs = found.length > 0 ? joinRides(found, track, motions) : [onlyLeg(cells, start, end)];
  const path = buildPath(track, legs, firstTs, stay);
  const paths = legs.map((leg) => slicePath(path, leg.start, leg.end));
  return legs.map((leg, i) => {
    const own = paths[i]!;
    // Each section begins where the previous section ended, so the distance in between belongs to the later section.
    const { latitude, longitude } = paths[i - 1]?.at(-1) ?? own[0]!;
    const length = own[0]!.length - distance({ latitude, longitude }, own[0]!);
    const first = withFields(own[0]!, { latitude, longitude, length });
    const average = knownAverage(own.at(-1)!.length - first.length, leg.end - leg.start);
    const estimated = estimatedMetres(path, leg.start, leg.end);
    return withFields(sectionMode(decoded, leg, average), { path: [first, ...own.slice(1)], estimated });
  });
}

/** Makes one leg of a journey whose cells are all still. Its state is the most probable moving state. */
function onlyLeg(cells: Cells, start: number, end: number): Leg {
  const shares = movingShares({ state: cellStates.walk, start, end }, cells);
  return { state: 1 + shares.indexOf(Math.max(...shares)), start, end };
}

function joinRides(legs: readonly Leg[], track: Track, motions: readonly Motion[]): Leg[] {
  const joined: Leg[] = [];
  for (const leg of legs) {
    const before = joined.at(-1);
    if (before && staysInVehicle(before, leg, track, motions)) before.end = leg.end;
    else joined.push({ ...leg });
  }
  return joined;
}

function staysInVehicle(before: Leg, after: Leg, track: Track, motions: readonly Motion[]): boolean {
  if (before.state !== cellStates.motor || after.state !== cellStates.motor) return false;
  if (track.firstAfter(after.start) > track.firstAfter(before.end)) return false;
  const states = within(motions, before.end, after.start).map(({ type }) => readingState(type));
  const of = (state: number): number => states.filter((one) => one === state).length;
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
