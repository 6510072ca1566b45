// The contract of a segmenter: a stretch of one user's data and the state before it -> trips, and the state after them.
import type { Resume, TransitLine, TripEvidence, Untracked } from '../model/trip.ts';
import type { Location, Observations } from './clean/observations.ts';

/**
 * s before and after a candidate group that decide on it: a candidate within this time joins the group, and what the
 * phone sent in it sets the start and end (by hand: longer than the longest wait of a journey).
 */
export const lookAround = 2700;

/** One user's data, from `lookAround` before the state up to `loadedUntil`. */
export interface Stretch extends Observations {
  /** The data are complete below this time; infinite: there are no later ones. */
  loadedUntil: number;
}

/** A stay: where the user is, and since when. */
export interface Stay {
  location: { latitude: number; longitude: number };
  enter_ts: number;
}

/** A point of the path of a trip. */
export interface PathPoint {
  ts: number;
  latitude: number;
  longitude: number;
  /** m above sea level; null: unknown */
  altitude: number | null;
  /** m along the path since the start of the trip */
  length: number;
}

/** A mode with its probability, and the probability of every possible mode; they sum to 1. */
export interface Mode {
  /** As clients read it: `PredictedModeTypes.X`, or `MotionTypes.X` if only motion readings are known. */
  sensed_mode: string;
  mode_confidence: number;
  /** By name, the mode itself among them. */
  mode_probabilities: Record<string, number>;
}

/** A part of a trip in one mode. */
export interface SegmentedSection extends Mode {
  /** The transit line that was probably used. */
  transit?: TransitLine;
  /** At least two points, from the start to the end of the section. */
  path: PathPoint[];
  /** m of it that no location shows */
  estimated?: number;
}

/** A trip as segmented; without sections it was no travel. */
export interface SegmentedTrip {
  /** The locations with which it begins and ends. */
  first: Location;
  last: Location;
  /** When and where it ended, as far as is known. */
  end_ts: number;
  end: { latitude: number; longitude: number };
  sections: SegmentedSection[];
  /** m of its path that the phone recorded, and the straight line from the stay before it */
  recorded: number;
  /** The path from the stay before, if it was not recorded; null: the trip began at that stay. */
  unseen: Untracked | null;
  /** The trip follows from data up to this time; null: also from there being no later ones. */
  settledTs: number | null;
  /** The state after it, and the data time from which on what follows is derived. */
  resume: Resume;
  needsFrom: number;
  source: string;
  evidence: TripEvidence;
  /** Set when the segmenter failed on it: it has no sections then. */
  error?: unknown;
}

/** What a segmenter made of a stretch. */
export interface Segmented {
  trips: SegmentedTrip[];
  /** At the end of the data: the trips after these, as far as they can be seen. Later data may change them. */
  drafts?: SegmentedTrip[];
  /** The state with which the next stretch begins; null: there is none yet. */
  nextState: Resume | null;
  /** Times of locations where the user was not; absent: none. */
  outliers?: readonly number[];
}

/**
 * Finds trips. Pure: the same data and state give the same trips, however the data are cut into stretches. What it
 * must keep:
 *
 * - Trips are in order of time and do not overlap; each `first.ts` occurs once.
 * - A trip is given only when nothing loaded later can change it: its `settledTs` is not before its `end_ts`, and lies
 *   below `loadedUntil`; at the end of the data (`loadedUntil` infinite) it may be null, which makes the trip a draft.
 * - From the `resume` of any trip, and from `nextState`, it finds the same later trips as in one look at all data.
 *   `nextState` is the state before the trip that is still open, or at the last location where none is; a stretch that
 *   gives neither a
 *   trip nor a later `nextState` is read again at twice the length.
 */
export interface Segmenter {
  /** Changes whenever the same data would give other trips. */
  version: string;
  segment(stretch: Stretch, resume: Resume | null, stay: Stay | null): Segmented;
}

// The version of the analysis with the models of the package: known without loading them.
/** Raised whenever the same entries and model would give other trips than before. */
const codeVersion = 17;

/** The models that come with the package. */
export const shippedNames = {
  full: 'states-2',
  sparse: 'states-sparse-2',
  crf: 'journeys-2',
  crfSparse: 'journeys-sparse-2',
} as const;

/** The version of the analysis with the models that these names select. */
export const versionWith = ({ full, sparse, crf, crfSparse }: Record<keyof typeof shippedNames, string>): string =>
  [codeVersion, full, sparse, crf, crfSparse].join(' ');

/** The version of `shippedSegmenter`. */
export const shippedVersion = versionWith(shippedNames);
