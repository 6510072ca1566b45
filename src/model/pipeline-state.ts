import type { TimeRange } from './time.ts';
import type { Carry, LastSeen, Silence } from './trip.ts';

/** The analysis ignores entries with a data time in the range, both ends included. */
export interface Exclusion {
  start_ts: number;
  end_ts: number;
  /** Only entries of this platform or program; absent: of all sources. */
  source?: string;
  /** Only entries pushed with the token of this id; absent: with any token. */
  token_id?: string;
}

/** `mobility retain` removed older data. Links up to `chain_ts` are never derived again. */
export interface Retained {
  chain_ts: number;
  /** The state after the last retained link, from which the analysis continues. */
  carry: Carry;
  /** Sensed entries with an earlier data time were removed; null: none were. */
  raw_before: number | null;
  /** Days before this time were removed; null: none were. */
  days_before: number | null;
  /** Versions of the analysis, ascending. `until`: `chain_ts` of the last link of a version. */
  versions: { until: number; version: string }[];
}

/** The state of one user. Times are seconds since the epoch. */
export interface PipelineState {
  /** The dirty range: data time that changed since the last analysis, both ends included. */
  changed: TimeRange | null;
  /** True if the documents may differ from the trips. */
  documents_due: boolean;
  /** Data time up to which the diary is final; null before the first trip. */
  complete_until: number | null;
  /** True if `complete_until` became null, and documents of the removed trips still exist. */
  complete_lost: boolean;
  /** Trips are derived from filtered locations, or from all if the phone sends no filtered ones. */
  locations_from: 'background/filtered_location' | 'background/location' | null;
  /** Time of the first location, gaps after the last trip, state of the phone; null: no run yet. */
  observed: { from: number; silences: Silence[]; seen: LastSeen } | null;
  set_aside: readonly Exclusion[];
  retained: Retained | null; // null: `mobility retain` removed nothing
  /** Cells of 0.5 degrees with locations (`coarseCell`); null: the analysis recorded none. */
  cells: readonly string[] | null;
  /** The transit feeds that had stops in `cells` in the last analysis. */
  feeds: readonly string[];
  drafts: number;
  /** Identifies the data of the stored places, see `keepPlaces`; null: no places are stored. */
  places: string | null;
  /** Newest month with stored figures, and the last `chain_ts` that these depend on; null: none. */
  months: { newest: string; until: number } | null;
  /** The version (code and model) that derived the trips. */
  analysis_version: string | null;
  /** When entries last left the usercache; null: never. */
  moved_ts: number | null;
  /** When the converters last accepted an entry; null: never. */
  converted_ts: number | null;
  last_run_ts: number | null;
  last_run_seconds: number | null;
  /** Why the last run with work failed; null: it succeeded. */
  last_error: string | null;
}

export const initialPipelineState: PipelineState = {
  changed: null,
  documents_due: false,
  complete_until: null,
  complete_lost: false,
  locations_from: null,
  observed: null,
  set_aside: [],
  retained: null,
  cells: null,
  feeds: [],
  drafts: 0,
  places: null,
  months: null,
  analysis_version: null,
  moved_ts: null,
  converted_ts: null,
  last_run_ts: null,
  last_run_seconds: null,
  last_error: null,
};

/** Counts the days of a rebuild: from the first entry, or from after the last retained link. */
export function derivedDays({ observed, retained }: PipelineState): number {
  if (observed === null) return 0;
  return Math.max(0, Math.ceil((observed.seen.ts - Math.max(observed.from, retained?.chain_ts ?? -Infinity)) / 86_400));
}

export function versionAt({ retained, analysis_version }: PipelineState, chainTs: number): string | null {
  return retained?.versions.find(({ until }) => chainTs <= until)?.version ?? analysis_version;
}

/** `fence` grows with every lease on the user, so that the store recognises a former owner. */
export interface Lease {
  user_id: string;
  owner: string;
  fence: number;
  expires_ts: number;
  /** s from the start or the last renewal of the lease to its end. */
  seconds: number;
}

/** s; clocks of hosts and servers may differ by this time. */
export const clockSlack = 5;
