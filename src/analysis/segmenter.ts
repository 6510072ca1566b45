// The contract of a segmenter. It makes trips and a new state from a stretch of one user's data and the previous state.
import type { LatLon } from '../model/geo/distance.ts';
import type { Resume, TransitLine, TripEvidence, Untracked } from '../model/trip.ts';
import type { Location, Observations } from './clean/observations.ts';

/**
 * s; data this long before and after a candidate group influence the group. A candidate in this time joins the group.
 * Readings and events in this time set the start and end of trips. By hand: longer than the longest wait of a journey.
 */
export const lookAround = 2700;

/** One user's data, from `lookAround` s before the time where the analysis resumes, up to `loadedUntil`. */
export interface Stretch extends Observations {
  loadedUntil: number; // the data before this time are complete; infinite: there are no later data
}

export interface Stay {
  location: LatLon;
  enter_ts: number;
}

export interface PathPoint extends LatLon {
  ts: number;
  altitude: number | null; // m above sea level; null: unknown
  length: number; // m along the path since the start of the trip
}

/** A mode, and the probabilities of all possible modes by name; they sum to 1. */
export interface Mode {
  /** Name for clients: `PredictedModeTypes.X`, or `MotionTypes.X` if no mode is known. */
  sensed_mode: string;
  mode_confidence: number;
  mode_probabilities: Record<string, number>;
}

export interface SegmentedSection extends Mode {
  transit?: TransitLine;
  path: PathPoint[]; // at least two points, from the start to the end of the section
  estimated?: number; // m; the part of the length where locations are missing
}

/** A trip that a segmenter found. If it has no sections, the user did not travel. */
export interface SegmentedTrip {
  first: Location;
  last: Location;
  end_ts: number; // `end_ts` and `end` are estimated from the data around the last location
  end: LatLon;
  sections: SegmentedSection[];
  /** m; length of the recorded path, plus the straight line from the previous stay to its beginning */
  recorded: number;
  /** The move from the previous stay to the trip, if the phone did not record it; null: the trip began at that stay. */
  unseen: Untracked | null;
  /** Data after this time cannot change the trip. null: later data may change it, so it is not final. */
  settledTs: number | null;
  resume: Resume;
  needsFrom: number; // the next trips need only entries from this data time on
  source: string;
  evidence: TripEvidence;
  error?: unknown; // set if the segmenter failed on the trip, which then has no sections
}

/** The result of a segmenter for a stretch. */
export interface Segmented {
  trips: SegmentedTrip[];
  /** At the end of the data: the trips after `trips` that have not ended. Later data may change them. */
  drafts?: SegmentedTrip[];
  /** The state that the next stretch begins with; null: there are no locations yet. */
  nextState: Resume | null;
  outliers?: readonly number[]; // times of outliers; absent: none
}

/**
 * Finds trips. Pure: the same data and state give the same trips, however stretches cut the data. It must guarantee:
 *
 * - Trips are in order of time and do not overlap; each `first.ts` occurs once.
 * - It returns a trip only when no later data can change it: `settledTs` is not before `end_ts`, and is less than
 *   `loadedUntil`. At the end of the data (`loadedUntil` infinite), `settledTs` may be null: later data may change the
 *   trip.
 * - From the `resume` of any trip, and from `nextState`, it finds the same later trips as in one pass over all data.
 * - `nextState` is the state before the open trip, or at the last location if no trip is open. If a stretch gives
 *   neither a trip nor a later `nextState`, the caller reads a stretch of twice the length.
 */
export interface Segmenter {
  version: string; // changes whenever the same data would give other trips
  segment(stretch: Stretch, resume: Resume | null, stay: Stay | null): Segmented;
}

/** The version of the analysis code. Increase it when the same entries and models give other trips than before. */
const codeVersion = 22;

/**
 * Names of the models that come with the package, listed so that a program can know them without loading the models.
 */
export const shippedNames = {
  full: 'states-2',
  sparse: 'states-sparse-2',
  crf: 'journeys-2',
  crfSparse: 'journeys-sparse-2',
} as const;

export const versionWith = ({ full, sparse, crf, crfSparse }: Record<keyof typeof shippedNames, string>): string =>
  [codeVersion, full, sparse, crf, crfSparse].join(' ');

/** The version of `shippedSegmenter`, known without loading its models. */
export const shippedVersion = versionWith(shippedNames);
