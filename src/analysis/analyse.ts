// Entry point of the analysis: finds trips in a stretch of one user's data and makes links of the trip chain.
//
//   trips     |--a--|    |--b--|          |--c--...        c has not ended yet
//   records   link a     link b                            each with the gaps before it and the state after it
//   drafts                                draft c
//   nextState                             ^                the next stretch begins here, with the state after link b
import { motionTypes } from '../model/payloads.ts';
import type { Carry, LastSeen, Resume, Silence, TripRecord } from '../model/trip.ts';
import { findGaps } from './clean/gaps.ts';
import { locationOf } from './positions.ts';
import { shippedSegmenter } from './segment.ts';
import type { SegmentedTrip, Segmenter, Stretch } from './segmenter.ts';
import { nextLink } from './trips/chain-links.ts';

export interface AnalyseInput extends Stretch {
  userId: string;
  carry: Carry | null; // state after the previous link; null: this is the first stretch
}

export interface AnalyseOutput {
  records: TripRecord[];
  /** Trips that have not ended yet. Later data may change them. */
  drafts: TripRecord[];
  /** The state after the last link, in which the next stretch begins; null: there are no locations. */
  nextState: Carry | null;
  /** Gaps since the last link, and the state of the phone after the last entry; null: there are no entries. */
  latest: { silences: Silence[]; seen: LastSeen } | null;
  /** Trips that could not be built, by start time. The pipeline leaves them out and reports them. */
  failed: { chainTs: number; error: unknown }[];
}

/** Builds the links of a stretch. The next stretch builds the trips that depend on data not loaded yet. */
export function analyse(input: AnalyseInput, segmenter: Segmenter = shippedSegmenter): AnalyseOutput {
  const { userId } = input;
  const records: TripRecord[] = [];
  const failed: AnalyseOutput['failed'] = [];
  let { carry } = input;
  const stay = carry?.raw_place ? { ...carry.raw_place, location: locationOf(carry.raw_place.location) } : null;
  const { trips, drafts: found = [], nextState, outliers } = segmenter.segment(input, carry, stay);
  const cleaned = withoutOutliers(input, outliers);
  for (const trip of trips) {
    const { record, error } = linkAfter(carry, trip);
    if (error !== undefined) failed.push({ chainTs: record.chain_ts, error });
    carry = record.carry;
    records.push(record);
  }
  const drafts: TripRecord[] = [];
  for (const trip of found) {
    const { record } = linkAfter(drafts.at(-1)?.carry ?? carry, trip);
    if (record.trip !== null) drafts.push({ ...record, kind: 'draft', trip: { ...record.trip, draft: true } });
  }
  const next = nextState === null ? null : nextCarry(cleaned, carry, nextState);
  const { seen, silences } = gapsSince(cleaned, next ?? carry, Number.POSITIVE_INFINITY);
  return { records, nextState: next, latest: seen && { seen, silences }, drafts, failed };

  function linkAfter(before: Carry | null, trip: SegmentedTrip): ReturnType<typeof nextLink> {
    const { seen, silences } = gapsSince(cleaned, before, trip.resume.resume_ts);
    const gap = [...(before?.seen?.gap ? [before.seen.gap] : []), ...silences].findLast(
      ({ to }) => to <= trip.first.ts,
    );
    const { record, ...failure } = nextLink(userId, trip, before, gap?.from);
    const after = { ...record.carry, ...(seen && { seen: withoutOldGap(seen, record.carry) }) };
    return { ...failure, record: { ...record, ...(silences.length > 0 && { silences }), carry: after } };
  }
}

/**
 * Removes a gap that began before the user arrived at the place after the trip. No later trip needs such a gap, and
 * a re-analysis converges sooner without it.
 */
function withoutOldGap(seen: LastSeen, { raw_place }: Carry): LastSeen {
  const { gap, ...others } = seen;
  return gap !== undefined && raw_place !== null && gap.from <= raw_place.enter_ts ? others : seen;
}

/** Replaces outliers by readings of unknown motion, because the phone was on at these times: they are no gaps. */
function withoutOutliers(stretch: Stretch, outliers: readonly number[] = []): Stretch {
  if (outliers.length === 0) return stretch;
  const out = new Set(outliers);
  const readings = outliers.map((ts) => ({ ts, type: motionTypes.UNKNOWN, confidence: 0 }));
  const motions = [...stretch.motions, ...readings].sort((a, b) => a.ts - b.ts);
  return { ...stretch, locations: stretch.locations.filter(({ ts }) => !out.has(ts)), motions };
}

function nextCarry(stretch: Stretch, carry: Carry | null, nextState: Resume): Carry {
  const { seen, silences } = gapsSince(stretch, carry, nextState.resume_ts);
  return { ...(carry ?? { raw_place: null, place: null }), ...nextState, ...(seen && { seen }), silences };
}

function gapsSince(stretch: Stretch, carry: Carry | null, until: number): ReturnType<typeof findGaps> {
  const { seen, silences } = findGaps(stretch, carry?.seen ?? null, until);
  return { seen, silences: [...(carry?.silences ?? []), ...silences] };
}
