// The segmenter at a glance: candidates -> outings -> states of every 15 s -> journeys -> trips.

import { distance } from '../model/geo/distance.ts';
import type { Resume } from '../model/trip.ts';
import { withFields } from '../model/with-fields.ts';
import { type Outing, outingsOf, segmentTrips } from './clean/candidates.ts';
import type { Location } from './clean/observations.ts';
import { withLeftOut, withoutStrays } from './clean/outliers.ts';
import { Track } from './clean/track.ts';
import { type Models, shippedModels } from './models.ts';
import { type Ride, ridesOf } from './modes/leg-evidence.ts';
import { jointOdds } from './modes/mode-crf.ts';
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
import { runsOf, sleepsIn } from './states/segments.ts';
import { decodeCells } from './states/viterbi.ts';
import { type Decoded, journeyLimits, journeysOf, type StopFigures, stopsOf } from './trips/journeys.ts';
import { failedTrip, tripOf, unseenBefore } from './trips/segmented-trip.ts';

/**
 * s before and after an outing for which states are asked; what these look at lies within `lookAround`. iPhones tell
 * how the user walks long before they tell where they are.
 */
const margin = { before: { time: 420, distance: 1200 }, after: 300 };

/** The segmenter with other models than the shipped ones. */
export function segmenterWith(changed: Partial<Models>): Segmenter {
  const models = { ...shippedModels, ...changed };
  const { full, sparse, joint, jointSparse } = models;
  const version = versionWith({ full: full.id, sparse: sparse.id, joint: joint.id, jointSparse: jointSparse.id });
  return { version, segment: (stretch, resume, stay) => segment(stretch, resume, stay, models) };
}

/** The segmenter with the models of the package. */
export const shippedSegmenter: Segmenter = segmenterWith({});

function segment(stretch: Stretch, resume: Resume | null, stay: Stay | null, models: Models): Segmented {
  const { motions, events, loadedUntil } = stretch;
  const { locations, strays, doubts, decidedUntil } = withoutStrays(stretch, resume);
  const seen = withFields(stretch, { locations, strays });
  const endOfData = loadedUntil === Number.POSITIVE_INFINITY;
  const found = segmentTrips({ locations, motions, events, resume, endOfData });
  const trips: SegmentedTrip[] = [];
  let here = stay;
  for (const outing of outingsOf(found.trips, { locations, doubts }, found.openSince)) {
    const { settledTs } = outing;
    const decided = settledTs === null ? endOfData && !goesOn(outing, locations) : settledTs < decidedUntil;
    if (!decided) return { trips, goOn: withLeftOut({ resume_ts: outing.from, started: true }, strays) };
    for (const trip of tripsOf(outing, seen, here, models)) {
      trips.push(trip);
      here = { location: trip.end, enter_ts: trip.end_ts };
    }
  }
  const goOn = behind(locations, found.openSince);
  return { trips, goOn: goOn ? withLeftOut(goOn, strays) : resume };
}

/** At the open trip's start; else at the last location, with which the user is still where they were. */
function behind(locations: readonly Location[], openSince: number | null): Resume | null {
  if (openSince !== null) return { resume_ts: locations[openSince]!.ts, started: true };
  const last = locations.at(-1);
  return last ? { resume_ts: last.ts, started: false } : null;
}

/** True when the trip that has not ended has gone so far that the outing before it may turn out to be a part of it. */
function goesOn({ to, candidates, nextTs }: Outing, locations: readonly Location[]): boolean {
  if (nextTs - to > lookAround) return false;
  const end = locations[candidates.at(-1)!.endIndex]!;
  const far = locations
    .slice(firstAtOrAfter(locations, nextTs))
    .map((l) => distance(end, l) >= journeyLimits.leastAfter);
  return far.some((here, i) => here && far[i + 1]); // one alone may be a receiver's error
}

/** A stretch without its strays, and their times. */
type Seen = Stretch & { strays: readonly number[] };

/** The trips of an outing. If the program fails on it, its candidates are left out and reported, never the day. */
function tripsOf(outing: Outing, stretch: Seen, stay: Stay | null, models: Models): SegmentedTrip[] {
  try {
    const decoded = decode(outing, stretch, models);
    const trips: SegmentedTrip[] = [];
    const first = stretch.locations[outing.candidates[0]!.startIndex]!;
    const from = stay && !unseenBefore(decoded, stay, first) ? stay.location : null;
    const journeys = journeysOf(decoded, from);
    let here = stay;
    for (const [i, journey] of journeys.entries()) {
      const next = journeys[i + 1];
      const notAfter = next ? stretch.locations[next.startIndex]!.ts : outing.nextTs;
      const trip = tripOf(decoded, journey, here, { notAfter, isLast: !next });
      trips.push(trip);
      here = { location: trip.end, enter_ts: trip.end_ts };
    }
    return trips;
  } catch (error) {
    return outing.candidates.map((candidate) => failedTrip(withFields(stretch, { outing }), candidate, error));
  }
}

/** The track and the states of an outing, from its own data and what lies up to `lookAround` beside it. */
function decode(outing: Outing, { locations, motions, events, strays }: Seen, models: Models): Decoded {
  const { sampling, from, to } = outing;
  const near = within(locations, from - lookAround, to + lookAround).filter((l) => l.sampling === sampling);
  const readings = within(motions, from - lookAround, to + lookAround);
  const track = new Track(near);
  const sleeps = sampling === 'time' ? sleepsIn(within(events, from - lookAround, to + lookAround)) : [];
  const [model, joint] = readings.length > 0 ? [models.full, models.joint] : [models.sparse, models.jointSparse];
  const [begin, end] = [from - margin.before[sampling], to + margin.after];
  const cells = decodeCells({ track, motions: readings, sampling, from: begin, to: end }, model);
  const runs = runsOf(cells, track, sleeps);
  const rides = ridesOf({ runs, track, cells }, begin, end);
  const odds = jointOdds(rides, joint);
  const seen = { outing, locations, strays, motions: readings, events };
  return { track, cells, runs, rides, odds, joint, model: model.id, ...seen };
}

/** The rides of each outing that one phone recorded, and the stops in it: what `JointModel` is fitted to. */
export function outingsIn(stretch: Stretch, models: Models): { rides: readonly Ride[]; stops: StopFigures[] }[] {
  const { locations, strays, doubts } = withoutStrays(stretch, null);
  const found = segmentTrips({ ...stretch, locations, resume: null, endOfData: true });
  return outingsOf(found.trips, { locations, doubts }, found.openSince).map((outing) => {
    const decoded = decode(outing, { ...stretch, locations, strays }, models);
    return { rides: decoded.rides, stops: stopsOf(decoded) };
  });
}
