// The analysis at a glance: a stretch of one user's data -> trips (the segmenter) -> links of their chain.

import type { Carry, LastSeen, Resume, Silence, TripRecord } from '../model/trip.ts';
import { findGaps } from './clean/gaps.ts';
import { locationOf } from './positions.ts';
import { shippedSegmenter } from './segment.ts';
import type { Segmenter, Stretch } from './segmenter.ts';
import { nextLink } from './trips/chain-links.ts';

/** A user's stretch of observations and the state with which its analysis begins. */
export interface AnalyseInput extends Stretch {
  userId: string;
  /** State after the link before; null: at the beginning. */
  carry: Carry | null;
}

/** The trips of a stretch and the state with which the next stretch begins. */
export interface AnalyseOutput {
  records: TripRecord[];
  /** What the next stretch begins with: the last link's state, moved on to the open trip or to the last location. */
  nextState: Carry | null;
  /** Silences since the last link, and what the phone did last; null: it never sent anything. */
  latest: { silences: Silence[]; seen: LastSeen } | null;
  /** Trips that could not be built, by start: they are left out and reported. */
  failed: { chainTs: number; error: unknown }[];
}

/** Builds links until the data end. What follows from data that are not loaded yet is left to the next stretch. */
export function analyse(input: AnalyseInput, segmenter: Segmenter = shippedSegmenter): AnalyseOutput {
  const { userId } = input;
  const records: TripRecord[] = [];
  const failed: AnalyseOutput['failed'] = [];
  let { carry } = input;
  const stay = carry?.raw_place ? { ...carry.raw_place, location: locationOf(carry.raw_place.location) } : null;
  const { trips, nextState } = segmenter.segment(input, carry, stay);
  for (const trip of trips) {
    const { seen, silences } = gapsSince(input, carry, trip.resume.resume_ts);
    const gap = [...(carry?.seen?.gap ? [carry.seen.gap] : []), ...silences].findLast(({ to }) => to <= trip.first.ts);
    const { record, error } = nextLink(userId, trip, carry, gap?.from);
    if (error !== undefined) failed.push({ chainTs: record.chain_ts, error });
    carry = { ...record.carry, ...(seen && { seen }) };
    records.push({ ...record, ...(silences.length > 0 && { silences }), carry });
  }
  const next = nextState === null ? null : goOnWith(input, carry, nextState);
  const { seen, silences } = gapsSince(input, next ?? carry, Number.POSITIVE_INFINITY);
  return { records, nextState: next, latest: seen && { seen, silences }, failed };
}

/** The state before the next stretch. */
function goOnWith(stretch: Stretch, carry: Carry | null, nextState: Resume): Carry {
  const { seen, silences } = gapsSince(stretch, carry, nextState.resume_ts);
  return { ...(carry ?? { raw_place: null, place: null }), ...nextState, ...(seen && { seen }), silences };
}

/** The silences since the last link up to `until`, and the state of the phone at that time. */
function gapsSince(stretch: Stretch, carry: Carry | null, until: number): ReturnType<typeof findGaps> {
  const { seen, silences } = findGaps(stretch, carry?.seen ?? null, until);
  return { seen, silences: [...(carry?.silences ?? []), ...silences] };
}
