// The segmenter at a glance: candidates -> outings -> states of every 15 s -> journeys -> trips.

import { distance } from '../model/geo/distance.ts';
import type { Resume } from '../model/trip.ts';
import { withFields } from '../model/with-fields.ts';
import { type CandidateGroup, findCandidates, groupCandidates } from './clean/candidates.ts';
import type { Location } from './clean/observations.ts';
import { removeOutliers, withOutliers } from './clean/outliers.ts';
import { Track } from './clean/track.ts';
import { type Models, shippedModels } from './models.ts';
import { collectEvidence, type LegEvidence } from './modes/leg-evidence.ts';
import { forwardBackward } from './modes/mode-crf.ts';
import {
  lookAround,
  type Segmented,
  type SegmentedTrip,
  type Segmenter,
  type Stay,
  type Stretch,
  versionWith,
} from './segmenter.ts';
import { firstAtOrAfter, within } from './sorted-times.ts';
import { sleepsIn, toSegments } from './states/segments.ts';
import { decodeCells } from './states/viterbi.ts';
import { type DecodedGroup, describeStops, findJourneys, journeyLimits, type StopFigures } from './trips/journeys.ts';
import { failedTrip, toSegmentedTrip, unseenBefore } from './trips/segmented-trip.ts';

/**
 * s before and after an group for which states are asked; what these look at lies within `lookAround`. iPhones tell
 * how the user walks long before they tell where they are.
 */
const margin = { before: { time: 420, distance: 1200 }, after: 300 };

/** The segmenter with other models than the shipped ones. */
export function segmenterWith(changed: Partial<Models>): Segmenter {
  const models = { ...shippedModels, ...changed };
  const { full, sparse, crf, crfSparse } = models;
  const version = versionWith({ full: full.id, sparse: sparse.id, crf: crf.id, crfSparse: crfSparse.id });
  return { version, segment: (stretch, resume, stay) => segment(stretch, resume, stay, models) };
}

/** The segmenter with the models of the package. */
export const shippedSegmenter: Segmenter = segmenterWith({});

function segment(stretch: Stretch, resume: Resume | null, stay: Stay | null, models: Models): Segmented {
  const { motions, events, loadedUntil } = stretch;
  const { locations, outliers, doubts, decidedUntil } = removeOutliers(stretch, resume);
  const seen = withFields(stretch, { locations, outliers });
  const endOfData = loadedUntil === Number.POSITIVE_INFINITY;
  const found = findCandidates({ locations, motions, events, resume, endOfData });
  const trips: SegmentedTrip[] = [];
  let here = stay;
  for (const group of groupCandidates(found.trips, { locations, doubts }, found.openSince)) {
    const { settledTs } = group;
    const decided = settledTs === null ? endOfData && !maySwallow(group, locations) : settledTs < decidedUntil;
    if (!decided) return { trips, nextState: withOutliers({ resume_ts: group.from, started: true }, outliers) };
    for (const trip of segmentGroup(group, seen, here, models)) {
      trips.push(trip);
      here = { location: trip.end, enter_ts: trip.end_ts };
    }
  }
  const next = stateAfter(locations, found.openSince);
  return { trips, nextState: next ? withOutliers(next, outliers) : resume };
}

/** At the open trip's start; else at the last location, with which the user is still where they were. */
function stateAfter(locations: readonly Location[], openSince: number | null): Resume | null {
  if (openSince !== null) return { resume_ts: locations[openSince]!.ts, started: true };
  const last = locations.at(-1);
  return last ? { resume_ts: last.ts, started: false } : null;
}

/** True when the trip that has not ended has gone so far that the group before it may turn out to be a part of it. */
function maySwallow({ to, candidates, nextTs }: CandidateGroup, locations: readonly Location[]): boolean {
  if (nextTs - to > lookAround) return false;
  const end = locations[candidates.at(-1)!.endIndex]!;
  const far = locations
    .slice(firstAtOrAfter(locations, nextTs))
    .map((l) => distance(end, l) >= journeyLimits.leastAfter);
  return far.some((here, i) => here && far[i + 1]); // one alone may be a receiver's error
}

/** A stretch without its outliers, and their times. */
type Seen = Stretch & { outliers: readonly number[] };

/** The trips of an group. If the program fails on it, its candidates are left out and reported, never the day. */
function segmentGroup(group: CandidateGroup, stretch: Seen, stay: Stay | null, models: Models): SegmentedTrip[] {
  try {
    const decoded = decode(group, stretch, models);
    const trips: SegmentedTrip[] = [];
    const first = stretch.locations[group.candidates[0]!.startIndex]!;
    const from = stay && !unseenBefore(decoded, stay, first) ? stay.location : null;
    const journeys = findJourneys(decoded, from);
    let here = stay;
    for (const [i, journey] of journeys.entries()) {
      const next = journeys[i + 1];
      const notAfter = next ? stretch.locations[next.startIndex]!.ts : group.nextTs;
      const trip = toSegmentedTrip(decoded, journey, here, { notAfter, isLast: !next });
      trips.push(trip);
      here = { location: trip.end, enter_ts: trip.end_ts };
    }
    return trips;
  } catch (error) {
    return group.candidates.map((candidate) => failedTrip(withFields(stretch, { group }), candidate, error));
  }
}

/** The track and the states of an group, from its own data and what lies up to `lookAround` beside it. */
function decode(group: CandidateGroup, { locations, motions, events, outliers }: Seen, models: Models): DecodedGroup {
  const { sampling, from, to } = group;
  const near = within(locations, from - lookAround, to + lookAround).filter((l) => l.sampling === sampling);
  const readings = within(motions, from - lookAround, to + lookAround);
  const track = new Track(near);
  const sleeps = sampling === 'time' ? sleepsIn(within(events, from - lookAround, to + lookAround)) : [];
  const [model, crf] = readings.length > 0 ? [models.full, models.crf] : [models.sparse, models.crfSparse];
  const [begin, end] = [from - margin.before[sampling], to + margin.after];
  const cells = decodeCells({ track, motions: readings, sampling, from: begin, to: end }, model);
  const segments = toSegments(cells, track, sleeps);
  const legs = collectEvidence({ segments, track, cells }, begin, end);
  const probabilities = forwardBackward(legs, crf);
  const seen = { group, locations, outliers, motions: readings, events };
  return { track, cells, segments, legs, probabilities, crf, model: model.id, ...seen };
}

/** The legs of each group that one phone recorded, and the stops in it: what `ModeCrf` is fitted to. */
export function trainingGroups(
  stretch: Stretch,
  models: Models,
): { legs: readonly LegEvidence[]; stops: StopFigures[] }[] {
  const { locations, outliers, doubts } = removeOutliers(stretch, null);
  const found = findCandidates({ ...stretch, locations, resume: null, endOfData: true });
  return groupCandidates(found.trips, { locations, doubts }, found.openSince).map((group) => {
    const decoded = decode(group, { ...stretch, locations, outliers }, models);
    return { legs: decoded.legs, stops: describeStops(decoded) };
  });
}
