// What the pipeline derives: trips with sections and stops, the places between them, and the chain they form.

/** `[longitude, latitude]`, degrees WGS84. */
export type Position = [longitude: number, latitude: number];

/** A stay: where one trip ends and the next begins. */
export interface Place {
  id: string;
  location: Position;
  /** Ids of the raw places that this one unites: more than one where trips too short to keep lay between. */
  raw_places: string[];
  /** When the user came; null for the first place of all. Seconds since the epoch. */
  enter_ts: number | null;
  /** Zone at `enter_ts`. */
  enter_zone: string | null;
  /** The trip that ends here. */
  ending_trip: string | null;
  /** How the place was found: the segmentation method. */
  source: string;
  /** A name given by a person; absent: none. */
  name?: string;
}

/** Part of a trip in one mode. Lists are aligned: one element per vertex of the line. */
export interface Section {
  id: string;
  start_ts: number;
  end_ts: number;
  /** `PredictedModeTypes.X` where the service inferred the mode, `MotionTypes.X` where it repeats the phone. */
  sensed_mode: string;
  /** How probable that mode is, 0 to 1, and the others beside it by name; absent in trips of version 1. */
  mode_confidence?: number;
  mode_probabilities?: Record<string, number>;
  /** s */
  duration: number;
  /** m, along the line */
  distance: number;
  /** m of `distance` that no location shows: estimated; absent: none */
  estimated?: number;
  coordinates: Position[];
  /** m above sea level; null if the phone did not give it */
  altitudes: (number | null)[];
  /** seconds since the epoch */
  times: number[];
  /** m/s since the vertex before; first 0 */
  speeds: number[];
  /** m since the vertex before; first 0 */
  distances: number[];
  source: string;
  /** The line that was probably used; absent without a transit feed, and if no line fits. */
  transit?: TransitLine;
}

/** A line of a transit feed. */
export interface TransitLine {
  /** Id of the feed. */
  feed: string;
  agency: string;
  route_id: string;
  route_short_name: string;
  route_long_name: string;
  route_type: 'bus' | 'tram' | 'subway' | 'rail' | 'ferry';
  from_stop: string;
  to_stop: string;
  /** 0 to 1 that it was this line, given the mode. */
  probability: number;
  /** Names of other lines that are nearly as probable. */
  alternatives: string[];
  /** Days between the ride and the days of the feed; absent if the feed holds the day. */
  feed_age_days?: number;
}

/** Pause between two sections of one trip. */
export interface Stop {
  id: string;
  enter_ts: number;
  exit_ts: number;
  enter_loc: Position;
  exit_loc: Position;
  /** m, straight */
  distance: number;
  /** s */
  duration: number;
  /** Section before and section after. */
  ending_section: string;
  starting_section: string;
  source: string;
}

/** Movement between two places, cleaned: it starts and ends at the stays before and after. */
export interface Trip {
  id: string;
  raw_trip: string;
  /** Segmentation method, such as `DwellSegmentationTimeFilter`. */
  source: string;
  start_ts: number;
  end_ts: number;
  /** Zones at start and end; `zone_guessed` when the phone did not name them. */
  start_zone: string;
  end_zone: string;
  zone_guessed: boolean;
  start_loc: Position;
  end_loc: Position;
  /** s */
  duration: number;
  /** m, sections and stops */
  distance: number;
  start_place: Place;
  end_place: Place;
  /** In order of time; the stop of the same index lies between two neighbours. */
  sections: Section[];
  stops: Stop[];
  /** Absent in trips of version 1. */
  evidence?: TripEvidence;
  /** True where a correction made the trip another than the analysis found; never in the stored chain. */
  corrected?: true;
  /** True if it has not ended: later data may change it. */
  draft?: true;
}

/** How a trip was derived: the rules for its bounds, the waits that were joined, and the locations left out. */
export interface TripEvidence {
  /** Name of the model that estimated the states. */
  model: string;
  /** Rules that set the start and the end. */
  start: string;
  end: string;
  /** What ended the candidate, see `Candidate.endedBy`; `end` says how the end time was set. */
  ended_by: string;
  /** Why it was not joined with the next trip; absent: no trip followed soon. */
  parted_by?: string;
  /** Stops that did not end the journey, and why. */
  waits?: { start_ts: number; end_ts: number; reason: string }[];
  /** True for a phone at rest that seemed to move. */
  phantom?: true;
  /** The number of locations of the outing that were left out, by reason. */
  left_out: { repeats?: number; spikes?: number; strays?: number };
}

/** The state with which a segmenter continues. */
export interface Resume {
  /** Segmentation continues at this location's `ts`: the location itself is the predecessor of the next one. */
  resume_ts: number;
  /** True when that location itself starts the next trip. */
  started: boolean;
  /** Times of locations before it that were removed as outliers, as far back as the analysis looks; absent: none. */
  left_out?: number[];
}

/**
 * Why nothing is known of a time: `silent` where the phone did not say; `no location`: it moved, and did not say where.
 */
export type SilenceReason = 'tracking off' | 'no permission' | 'phone off' | 'silent' | 'no location' | 'moved';

/** Time in which the phone sent nothing, and which was no stay. */
export interface Silence {
  from: number;
  to: number;
  reason: SilenceReason;
  /** Of `moved`: m in a straight line to the location after it. */
  moved_m?: number;
  /** True where it was a stay after all, inferred from two locations of a phone that reports no rest. */
  inferred?: true;
}

/** The phone's last event and location. */
export interface LastSeen {
  ts: number;
  /** `waits`: it is at rest and waits for the user to leave. `error`: it must not, or cannot, measure. */
  phone: 'waits' | 'moves' | 'off' | 'error' | 'unknown';
  /** Its last location. */
  at: Position | null;
  /** Time of that location; absent in states of older versions. */
  at_ts?: number;
  /** The latest gap. */
  gap?: { from: number; to: number };
  /** Locations that it sent since it waits. */
  reports: number;
  /** A silence that seems to have been a stay; the phone's next word decides. */
  stay: { from: number; to: number } | null;
  /** First and last of the latest readings of movement on end since the last location; absent: none came. */
  moving?: { from: number; to: number };
  /** Up to when its reports showed it on a trip since its last location, without a gap; absent: they did not. */
  led?: number;
  /** True if it ever reported a state; absent: it has no state machine. */
  machine?: true;
  /** True if the user moved in a gap and no event came since: its last report is of another place. */
  unreported?: true;
  /** Since when it reported movement without a location, up to its next location; absent: it did not. */
  unlocated?: number;
}

/** The state that the analysis needs after one link to derive the next. */
export interface Carry extends Resume {
  /** The phone's last event up to `resume_ts`. */
  seen?: LastSeen;
  /** Silences since the link before; within a run only, where none follows yet. */
  silences?: Silence[];
  /** The next links are derived from data from this time on; absent in links of older versions: from `resume_ts`. */
  needs_from?: number;
  /** The place after this link according to the segmentation; null before the first trip. */
  raw_place: { id: string; location: Position; enter_ts: number } | null;
  /** The place in the diary, which leaves out trips too short to keep. */
  place: Place | null;
  /** Since when trips too short to keep have led away from `place`; absent: the user is there. */
  away_since?: number;
}

/**
 * Time in which the user moved without being recorded: the next location is at another place, too far for the time or
 * after a restart.
 */
export interface Untracked {
  start_ts: number;
  end_ts: number;
  start_loc: Position;
  end_loc: Position;
}

/**
 * One link of a user's chain of trips: a trip, or a `dropped` trip, too short to keep. Links are sorted by `chain_ts`.
 * Each depends on the link before it and on the data since. A `draft` is a trip after the chain that has not ended.
 */
export interface TripRecord {
  id: string;
  kind: 'trip' | 'dropped' | 'draft';
  /** Start as segmented; ascending and unique within a user. */
  chain_ts: number;
  /** Start and end as shown. */
  start_ts: number;
  end_ts: number;
  /** Local day of the start, `YYYY-MM-DD`. */
  day: string;
  /** The link depends on data up to this data time only; null: it also depends on the absence of later data. */
  settled_ts: number | null;
  /** Why there is no trip: `no travel`, `too short`, `failed`, or `corrected`; absent of a trip. */
  dropped?: string;
  /** The trip; null when dropped. */
  trip: Trip | null;
  /** Untracked time right before the link; null: none. */
  untracked: Untracked | null;
  /**
   * Silences that end after the `resume_ts` of the link before and not after `resume_ts` of this link; absent: none.
   */
  silences?: Silence[];
  carry: Carry;
}

/** The times of a trip, and when it was last written. */
export interface TripSpan {
  chain_ts: number;
  start_ts: number;
  end_ts: number;
  /** By the store's clock. A trip that a run finds unchanged is not written. */
  written_ts: number;
}

/** A short form of a trip: ends and modes, without its line. */
export interface TripOutline {
  chain_ts: number;
  start_ts: number;
  start_zone: string;
  start_loc: Position;
  end_loc: Position;
  /** Of each section. */
  sections: { sensed_mode: string; distance: number }[];
}

/** The time zone that a phone had when it wrote an entry. */
export interface ZoneSighting {
  write_ts: number;
  zone: string;
}
