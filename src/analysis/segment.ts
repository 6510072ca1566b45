// The segmenter: finds trips with sections and modes in one user's locations, motion readings and events.
//
//   removeOutliers    locations                      ->  locations without outliers        clean/outliers.ts
//   findCandidates    locations, readings, events    ->  candidates between two rests      clean/candidates.ts
//   groupCandidates   candidates                     ->  groups, less than 45 min apart    clean/candidates.ts
//   decodeGroup       a group                        ->  track, states, legs, modes        decode-group.ts
//   findJourneys      candidates, states, modes      ->  journeys with waits inside them   trips/journeys.ts
//   toSegmentedTrip   a journey                      ->  start, end, sections, path        trips/segmented-trip.ts
import { distance } from '../model/geo/distance.ts';
import type { Resume } from '../model/trip.ts';
import { withFields } from '../model/with-fields.ts';
import { type Candidate, type CandidateGroup, findCandidates, groupCandidates } from './clean/candidates.ts';
import type { Location } from './clean/observations.ts';
import { removeOutliers, withOutliers } from './clean/outliers.ts';
import { type CleanedStretch, decodeGroup, type Knowledge } from './decode-group.ts';
import { type Models, shippedModels } from './models.ts';
import type { TransitSource } from './modes/transit-evidence.ts';
import {
  lookAround,
  type Segmented,
  type SegmentedTrip,
  type Segmenter,
  type Stay,
  type Stretch,
  versionWith,
} from './segmenter.ts';
import { firstAtOrAfter } from './sorted-times.ts';
import { linkLimits } from './trips/chain-links.ts';
import { describeStops, findJourneys, journeyLimits } from './trips/journeys.ts';
import { failedTrip, toSegmentedTrip } from './trips/segmented-trip.ts';
import { unseenBefore } from './trips/trip-bounds.ts';

export function segmenterWith(changed: Partial<Models>, transit: TransitSource | null = null): Segmenter {
  const models = { ...shippedModels, ...changed };
  const { full, sparse, crf, crfSparse } = models;
  const version = versionWith({ full: full.id, sparse: sparse.id, crf: crf.id, crfSparse: crfSparse.id });
  return { version, segment: (stretch, resume, stay) => segment(stretch, resume, stay, { models, transit }) };
}

export const shippedSegmenter: Segmenter = segmenterWith({});

function segment(stretch: Stretch, resume: Resume | null, stay: Stay | null, knowledge: Knowledge): Segmented {
  const { motions, events, loadedUntil } = stretch;
  const { locations, outliers, doubts, decidedUntil } = removeOutliers(stretch, resume);
  const cleaned = withFields(stretch, { locations, outliers });
  const endOfData = loadedUntil === Number.POSITIVE_INFINITY;
  const found = findCandidates({ locations, motions, events, resume, endOfData });
  const trips: SegmentedTrip[] = [];
  let nextState = stateAfter(locations, found.open) ?? resume;
  let decided = 0; // number of candidates whose trips are in `trips`
  for (const group of groupCandidates(found.trips, { locations, doubts }, found.open)) {
    const { settledTs } = group;
    const isSettled = settledTs === null ? endOfData && !mayContinue(group, locations) : settledTs < decidedUntil;
    if (!isSettled) {
      nextState = { resume_ts: group.from, started: true };
      break;
    }
    trips.push(...segmentGroup(group, cleaned, stayAfter(trips) ?? stay, knowledge));
    decided += group.candidates.length;
  }
  const drafts: SegmentedTrip[] = [];
  if (endOfData && found.open !== null && isFarEnough(found.open, locations)) {
    const rest = [...found.trips.slice(decided), found.open];
    for (const group of groupCandidates(rest, { locations, doubts }, null))
      drafts.push(...segmentGroup(group, cleaned, stayAfter(drafts) ?? stayAfter(trips) ?? stay, knowledge));
  }
  return { trips, drafts, outliers, nextState: nextState === resume ? resume : withOutliers(nextState!, outliers) };
}

function stayAfter(trips: readonly SegmentedTrip[]): Stay | null {
  const last = trips.at(-1);
  return last === undefined ? null : { location: last.end, enter_ts: last.end_ts };
}

/** True if the open trip leads far enough from its first location to be kept as a trip. */
function isFarEnough({ startIndex }: Candidate, locations: readonly Location[]): boolean {
  return locations.slice(startIndex).some((one) => distance(locations[startIndex]!, one) >= linkLimits.shortestTrip);
}

/** Finds the trips of a group. After an error, each candidate becomes a trip with this error and without sections. */
function segmentGroup(group: CandidateGroup, stretch: CleanedStretch, stay: Stay | null, known: Knowledge) {
  try {
    const decoded = decodeGroup(group, stretch, known);
    const trips: SegmentedTrip[] = [];
    const first = stretch.locations[group.candidates[0]!.startIndex]!;
    const from = stay && !unseenBefore(decoded, stay, first) ? stay.location : null;
    const journeys = findJourneys(decoded, from);
    for (const [i, journey] of journeys.entries())
      trips.push(toSegmentedTrip(decoded, journey, stayAfter(trips) ?? stay, journeys[i + 1]));
    return trips;
  } catch (error) {
    return group.candidates.map((candidate) => failedTrip(withFields(stretch, { group }), candidate, error));
  }
}

/** The state for the next stretch, which begins at the start of the open trip, or at the last location of a rest. */
function stateAfter(locations: readonly Location[], open: Candidate | null): Resume | null {
  if (open !== null) return { resume_ts: locations[open.startIndex]!.ts, started: true };
  const last = locations.at(-1);
  return last ? { resume_ts: last.ts, started: false } : null;
}

/**
 * True if the open trip may continue the last journey of the group: it begins at most `lookAround` s after the group,
 * and two successive locations of it are far from the end of the group.
 */
function mayContinue({ to, candidates, nextTs }: CandidateGroup, locations: readonly Location[]): boolean {
  if (nextTs - to > lookAround) return false;
  const end = locations[candidates.at(-1)!.endIndex]!;
  const far = locations
    .slice(firstAtOrAfter(locations, nextTs))
    .map((l) => distance(end, l) >= journeyLimits.leastAfter);
  return far.some((isFar, i) => isFar && far[i + 1]); // a single far location may be an error of the receiver
}

/** For training: the legs and stops of each group of a stretch. `tools/train` fits `ModeCrf` to them. */
export function trainingGroups(stretch: Stretch, models: Models, transit: TransitSource | null = null) {
  const { locations, outliers, doubts } = removeOutliers(stretch, null);
  const found = findCandidates({ ...stretch, locations, resume: null, endOfData: true });
  return groupCandidates(found.trips, { locations, doubts }, found.open).map((group) => {
    const decoded = decodeGroup(group, { ...stretch, locations, outliers }, { models, transit });
    return { legs: decoded.legs, transit: decoded.transit, stops: describeStops(decoded) };
  });
}
