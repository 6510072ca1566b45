// Trips and their parts. Without a comment, times are s since the epoch, lengths m, durations s.

/** `[longitude, latitude]`, degrees WGS84. */
export type Position = [longitude: number, latitude: number];

/** Where one trip ends and the next begins. */
export interface Place {
  id: string;
  location: Position;
  /** Ids of raw places: more than one if the analysis dropped trips between them. */
  raw_places: string[];
  /** When the user arrived, and the time zone then; null for the first place. */
  enter_ts: number | null;
  enter_zone: string | null;
  /** Id of the trip that ends here; null: none. */
  ending_trip: string | null;
  /** The method of the analysis, such as `DwellSegmentationTimeFilter`. Trips also name it. */
  source: string;
  name?: string;
}

/** A part of a trip in one mode. Its lists are aligned: one element per vertex of the line. */
export interface Section {
  id: string;
  start_ts: number;
  end_ts: number;
  /** Such as `PredictedModeTypes.BUS`; `MotionTypes.UNKNOWN`: no mode is known. */
  sensed_mode: string;
  /** The probability of `sensed_mode`, 0 to 1. Trips of version 1 have no probabilities. */
  mode_confidence?: number;
  mode_probabilities?: Record<string, number>;
  duration: number;
  distance: number; // m, along the line
  /** m; the part of `distance` where locations are missing; absent: 0. */
  estimated?: number;
  coordinates: Position[];
  /** m above sea level; null: the phone sent none */
  altitudes: (number | null)[];
  times: number[];
  /** m/s since the previous vertex; 0 for the first */
  speeds: number[];
  /** m since the previous vertex; 0 for the first */
  distances: number[];
  source: string;
  /** The line that was probably used; absent without a feed, and if no line matches. */
  transit?: TransitLine;
}

export interface TransitLine {
  feed: string;
  agency: string;
  route_id: string;
  route_short_name: string;
  route_long_name: string;
  route_type: 'bus' | 'tram' | 'subway' | 'rail' | 'ferry';
  from_stop: string;
  to_stop: string;
  probability: number; // 0 to 1
  alternatives: string[]; // other lines that are nearly as probable
  /** Days between the section and the validity of the feed; absent: the feed was valid. */
  feed_age_days?: number;
}

/** A pause between two sections. */
export interface Stop {
  id: string;
  enter_ts: number;
  exit_ts: number;
  enter_loc: Position;
  exit_loc: Position;
  distance: number; // m, in a straight line
  duration: number;
  ending_section: string;
  starting_section: string;
  source: string;
}

/** A trip starts when the stay before it ends, and ends when the next stay begins. */
export interface Trip {
  id: string;
  raw_trip: string;
  source: string;
  start_ts: number;
  end_ts: number;
  /** Time zones at start and end. `zone_guessed`: the phone did not name them. */
  start_zone: string;
  end_zone: string;
  zone_guessed: boolean;
  start_loc: Position;
  end_loc: Position;
  duration: number;
  /** The sum of the distances of sections and stops. */
  distance: number;
  start_place: Place;
  end_place: Place;
  /** In order of time. Stop `i` is between sections `i` and `i + 1`. */
  sections: Section[];
  stops: Stop[];
  evidence?: TripEvidence; // absent in trips of version 1
  /** True if a correction changed the trip. Never in the stored chain. */
  corrected?: true;
  /** True if the trip has not ended. Later data may change it. */
  draft?: true;
}

export interface TripEvidence {
  model: string;
  /** The names of the rules that set the start and the end of the trip. */
  start: string;
  end: string;
  /** The rule that ended the candidate, see `Candidate.endedBy`. The rule `end` set its time. */
  ended_by: string;
  /** Why the next trip was not joined; absent: no trip followed soon. */
  parted_by?: string;
  /** Stops in which the user waited within the journey, and the reasons. */
  waits?: { start_ts: number; end_ts: number; reason: string }[];
  /** The user did not move: errors of the receiver looked like movement. */
  phantom?: true;
  /** The number of removed locations of the candidate group, by reason. */
  left_out: { repeats?: number; spikes?: number; strays?: number };
}

/** The position in the data from which a segmenter continues. */
export interface Resume {
  /** Segmentation continues after the location with this `ts`. */
  resume_ts: number;
  /** True if the location at `resume_ts` starts the next trip. */
  started: boolean;
  /** Times of outliers in the `lookAround` seconds before `resume_ts`; absent: none. */
  left_out?: number[];
}

/**
 * The reason of a gap. `silent`: the phone gave no reason. `no location`: the phone reported
 * movement without locations. `moved`: the next location is far away.
 */
export type SilenceReason = 'tracking off' | 'no permission' | 'phone off' | 'silent' | 'no location' | 'moved';

/** A gap: time without data in which the user may have left the place. */
export interface Silence {
  from: number;
  to: number;
  reason: SilenceReason;
  /** For `moved`: the straight line to the location after the gap. */
  moved_m?: number;
  /** True if the user probably stayed at one place, although no event of the phone reports it. */
  inferred?: true;
}

/** The last known state of the phone. */
export interface LastSeen {
  ts: number;
  /** `waits`: for the user to leave. `error`: the phone cannot measure, e.g. without permission. */
  phone: 'waits' | 'moves' | 'off' | 'error' | 'unknown';
  at: Position | null;
  /** The time of `at`; absent in states of older versions. */
  at_ts?: number;
  gap?: { from: number; to: number };
  /** Number of locations that the phone has sent since it came to rest. */
  reports: number;
  /** A gap that counts as a stay. The phone's next event may show that the user moved. */
  stay: { from: number; to: number } | null;
  /** First and last reading of the latest movement since the last location; absent: none. */
  moving?: { from: number; to: number };
  /** Time of the last entry of the trip that `at` belongs to; absent: none was under way, or a gap followed. */
  led?: number;
  /** True if the phone has reported a state; absent: it has no state machine. */
  machine?: true;
  /** True if the user moved in a gap and the phone has sent no event since: its last event belongs to another place. */
  unreported?: true;
  /** Start of the reported movement since the last location, if it is long enough for a gap. */
  unlocated?: number;
}

/** The state after a link, from which the analysis derives the next link. */
export interface Carry extends Resume {
  /** The last known state of the phone at `resume_ts`. */
  seen?: LastSeen;
  /** Gaps that no link contains yet. Never stored: a run passes them to its next stretch. */
  silences?: Silence[];
  /** The next links are derived from data since this time. Older links have only `resume_ts`. */
  needs_from?: number;
  /** Where the last trip, also a dropped one, ended; null before the first trip. */
  raw_place: { id: string; location: Position; enter_ts: number } | null;
  /** Where the last trip of the diary ended: the diary does not contain dropped trips. */
  place: Place | null;
  /** When a dropped trip left `place`; absent: no dropped trip left it, or the user is back. */
  away_since?: number;
}

/** The time between a place and the next location, if the user moved without being recorded. */
export interface Untracked {
  start_ts: number;
  end_ts: number;
  start_loc: Position;
  end_loc: Position;
}

/**
 * A link of a user's trip chain: a trip, or a `dropped` trip. Links are sorted by `chain_ts`. Each
 * link depends on the link before it and the data since. A `draft` after the chain has not ended.
 */
export interface TripRecord {
  id: string;
  kind: 'trip' | 'dropped' | 'draft';
  /** Time of the first location of the link. Unique within a user. */
  chain_ts: number;
  start_ts: number;
  end_ts: number;
  day: string; // local day of the start, `YYYY-MM-DD`
  /** The link depends on data up to this time; null: later data can change the link. */
  settled_ts: number | null;
  /** The reason: `no travel`, `too short`, `failed` or `corrected`; absent for a trip. */
  dropped?: string;
  trip: Trip | null;
  /** Untracked time right before the link; null: none. */
  untracked: Untracked | null;
  /** Gaps that end after the previous `resume_ts`, up to the `resume_ts` of this link. */
  silences?: Silence[];
  carry: Carry;
}

export interface TripSpan extends Pick<TripRecord, 'chain_ts' | 'start_ts' | 'end_ts'> {
  /** When the store last wrote the link. A run does not write an unchanged link. */
  written_ts: number;
}

/** Stored lists have this order, so never change it. Fields that may be absent come last. */
export const briefTripFields = [
  ...(['id', 'source', 'start_ts', 'end_ts', 'start_zone', 'end_zone', 'start_loc', 'end_loc'] as const),
  ...(['duration', 'distance', 'start_place', 'end_place', 'sections', 'evidence', 'draft'] as const),
] as const;

export const briefSectionFields = [
  ...(['id', 'start_ts', 'end_ts', 'sensed_mode', 'duration', 'distance', 'source', 'estimated'] as const),
] as const;

export type BriefSection = Pick<Section, (typeof briefSectionFields)[number]>;

/** A trip in brief: what days, flags and figures need, without coordinates. */
export interface BriefTrip
  extends Pick<Trip, Exclude<(typeof briefTripFields)[number], 'sections' | 'start_place' | 'end_place' | 'evidence'>> {
  sections: BriefSection[];
  start_place: Pick<Place, 'id'>;
  end_place: Pick<Place, 'id'>;
  evidence?: Pick<TripEvidence, 'left_out'>;
}

export interface BriefRecord
  extends Pick<TripRecord, 'kind' | 'chain_ts' | 'start_ts' | 'end_ts' | 'day' | 'silences'> {
  trip: BriefTrip | null;
  untracked: Pick<Untracked, 'start_ts'> | null;
}

/** The time zone that a phone had when it wrote an entry. */
export interface ZoneSighting {
  write_ts: number;
  zone: string;
}
