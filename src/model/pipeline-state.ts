import type { TimeRange } from './time.ts';
import type { Carry, LastSeen, Silence } from './trip.ts';

/** Entries that the analysis ignores: entries with a data time from `start_ts` to `end_ts`, both included. */
export interface Exclusion {
  start_ts: number;
  end_ts: number;
  /** Only entries of this platform or program; absent: entries of all. */
  source?: string;
  /** Only entries pushed with the token of this id; absent: with any. */
  token_id?: string;
}

/** The limit below which `mobility retain` removed old data. Links up to `chain_ts` are never derived again. */
export interface Retained {
  /** `chain_ts` of the last retained link. */
  chain_ts: number;
  /** The state after the last retained link. The analysis continues from this state. */
  carry: Carry;
  /** s since the epoch; sensed entries with an earlier data time were removed; null: none were */
  raw_before: number | null;
  /** s since the epoch; days before this time were removed; null: none were */
  days_before: number | null;
  /** Versions of the analysis that made the retained links, ascending. `until`: `chain_ts` of the last link of each. */
  versions: { until: number; version: string }[];
}

/** The pipeline's state for one user. Times are seconds since the epoch. */
export interface PipelineState {
  /** The dirty range: data time that changed since trips were last derived, both ends included; null: none. */
  changed: TimeRange | null;
  /** True if the documents may differ from the trips. */
  documents_due: boolean;
  /** Data time up to which the diary is final; null before the first trip. */
  complete_until: number | null;
  /** True from when `complete_until` becomes null until the documents of the removed trips are removed. */
  complete_lost: boolean;
  /** The locations that trips were derived from: the phone's filtered ones, or all if it sends no filtered ones. */
  locations_from: 'background/filtered_location' | 'background/location' | null;
  /** Time of the first location, gaps after the last trip, and last state of the phone; null before the first run. */
  observed: { from: number; silences: Silence[]; seen: LastSeen } | null;
  /** The excluded entries when trips were last derived. */
  set_aside: readonly Exclusion[];
  /** null: `mobility retain` removed nothing. */
  retained: Retained | null;
  /** Cells of 0.5 degrees with locations (`coarseCell`); null: the analysis that made the trips recorded no cells. */
  cells: readonly string[] | null;
  /** Ids of the transit feeds that had stops in `cells` when the last analysis derived trips. */
  feeds: readonly string[];
  drafts: number;
  /** Identifies the data that the stored places were derived from, see `keepPlaces`; null: no places are stored. */
  places: string | null;
  /**
   * `newest`: the newest month with stored figures. `until`: the last `chain_ts` that stored figures depend on. null:
   * no figures are stored.
   */
  months: { newest: string; until: number } | null;
  /** Version of the analysis (code and model) that derived the trips. */
  analysis_version: string | null;
  /** When entries last left the usercache; null: never. */
  moved_ts: number | null;
  /** When the converters last accepted an entry; null: never. */
  converted_ts: number | null;
  /** End and duration (s) of the last run that had work. */
  last_run_ts: number | null;
  last_run_seconds: number | null;
  /** Why the last run with work failed; null: it succeeded. */
  last_error: string | null;
}

/** The state before the first run. */
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

/** Number of days that a rebuild derives again: from the first entry, or the last retained link, to the last entry. */
export function derivedDays({ observed, retained }: PipelineState): number {
  if (observed === null) return 0;
  return Math.max(0, Math.ceil((observed.seen.ts - Math.max(observed.from, retained?.chain_ts ?? -Infinity)) / 86_400));
}

/** The version of the analysis that made a link; null: the pipeline did not run. */
export function versionAt({ retained, analysis_version }: PipelineState, chainTs: number): string | null {
  return retained?.versions.find(({ until }) => chainTs <= until)?.version ?? analysis_version;
}

/**
 * The exclusive right to work on a user until it expires. `fence` grows with every lease on the user, so that the store
 * recognises a former owner.
 */
export interface Lease {
  user_id: string;
  owner: string;
  fence: number;
  expires_ts: number;
  /** s from its last renewal, or from its start, to its end */
  seconds: number;
}

/** s; leases allow for this difference between clocks of hosts and servers */
export const clockSlack = 5;
