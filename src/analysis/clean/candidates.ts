// Step "candidates": locations, motions and transitions -> stretches between two rests, by dwells and gaps.

import { distance } from '../../model/geo/distance.ts';
import { median } from '../../model/geo/speed.ts';
import type { Resume } from '../../model/trip.ts';
import { withFields } from '../../model/with-fields.ts';
import { lookAround } from '../segmenter.ts';
import { firstAtOrAfter, firstLater, someWithin } from '../sorted-times.ts';
import { isEnd, type Location, type Observations, restartedBetween, type Sampling } from './observations.ts';
import type { Doubt } from './outliers.ts';

/** Thresholds of the dwell segmentation, after the original service (its time and distance filter methods). */
export const limits = {
  /**
   * Time sampling: the user dwells when the locations of the last `timeThreshold` s and the last `pointThreshold` all
   * lie within `timeDistance` m.
   */
  timeThreshold: 300,
  pointThreshold: 9,
  timeDistance: 100,
  /** s; slack of the oldest location that shows `timeThreshold` to have passed */
  timeSlack: 30,
  /** s; a location this soon after an ended trip, and near, still isSameGroup to its end */
  glueTime: 60,
  /** m in `timeThreshold` s that show that the user walked off by and by (by hand: farther than receivers drift) */
  walkedOff: 250,
  /**
   * Distance sampling: the user dwells when no location came for `gapThreshold` s; `gapDistance` m is what counts as
   * moving.
   */
  gapThreshold: 600,
  gapDistance: 50,
  /** s; a gap this long always ends a trip */
  longestGap: 12 * 3600,
  /** m/s; over a gap, slower than this is no travel */
  slowSpeed: 1 / 3,
  /** A trip with more locations than this is cut, so that memory stays bounded. */
  longestTrip: 100_000,
};

/** The observations in which candidates for trips are looked for. */
export interface CandidateInput extends Observations {
  /** Where an earlier trip ended: see `Carry`. null: at the user's first location. */
  resume: Resume | null;
  /** True when no later data exist, so that the last trip may end by the phone's or the import's word. */
  endOfData: boolean;
}

/** A trip between two of `locations`. */
export interface Candidate {
  startIndex: number;
  endIndex: number;
  sampling: Sampling;
  /** Data time up to which the decision looked; null: to the end of data. */
  settledTs: number | null;
  /** Where the search for the next trip begins. */
  resume: Resume;
  /** The rule that ended it. */
  endedBy: 'dwell' | 'gap' | 'restart' | 'phone' | 'length';
}

/** `openSince`: index of the location with which a trip begins that has not ended yet; null if none. */
export interface CandidateOutput {
  trips: Candidate[];
  openSince: number | null;
}

/**
 * Finds trips. Each location is looked at once, in order: it is glued to the trip that just ended, begins a trip, goes
 * on with one, or shows that it has ended.
 *
 * Two phones of one user that sample differently: the open trip isSameGroup to the phone that began it. A location of the
 * other is no part of it; after `gapThreshold` of silence it only helps to tell whether the trip has ended, and then
 * counts again.
 */
export function findCandidates(input: CandidateInput): CandidateOutput {
  const { locations, resume } = input;
  const trips: Candidate[] = [];
  let start: number | null = null; // index of the open trip's first location
  let last = -1; // index of the last location that counted
  let i = 0;
  if (resume) {
    i = firstAtOrAfter(locations, resume.resume_ts);
    if (i < locations.length && locations[i]!.ts === resume.resume_ts) {
      last = i;
      if (resume.started) start = i;
      i += 1;
    }
  }
  for (; i < locations.length; i += 1) {
    const here = locations[i]!;
    if (start === null) {
      if (last < 0 || !isGlued(locations, last, i)) start = i;
      last = i;
      continue;
    }
    const before = locations[last]!;
    const other = here.sampling !== locations[start]!.sampling;
    if (other && here.ts - before.ts <= limits.gapThreshold) continue;
    const end = endOfTrip(input, start, last, i);
    if (end) {
      trips.push(withFields(end, { startIndex: start, sampling: locations[start]!.sampling, settledTs: here.ts }));
      start = end.resume.started ? i : null;
      if (end.resume.started || end.resume.resume_ts === here.ts) last = i;
      else i = last; // what came since is looked at again, now as after a trip
      continue;
    }
    if (!other) last = i;
  }
  const since = locations[last]?.ts ?? Number.POSITIVE_INFINITY;
  if (start !== null && input.endOfData && someWithin(input.events, since, Number.POSITIVE_INFINITY, isEnd)) {
    trips.push({
      startIndex: start,
      endIndex: stillSince(locations, start, last),
      sampling: locations[start]!.sampling,
      settledTs: null,
      resume: { resume_ts: locations[last]!.ts, started: false },
      endedBy: 'phone',
    });
    start = null;
  }
  return { trips, openSince: start };
}

/** Whether location `i` still isSameGroup to the rest after a trip; `last`: the last one that does. */
function isGlued(locations: readonly Location[], last: number, i: number): boolean {
  const [before, here] = [locations[last]!, locations[i]!];
  if (here.sampling === 'time' && here.ts - before.ts > limits.glueTime) return false;
  if (distance(before, here) >= (here.sampling === 'time' ? limits.timeDistance : limits.gapDistance)) return false;
  // A phone that is awake sends each step of who walks off: none is far from the one before, but all of them are.
  const since = locations[firstAtOrAfter(locations, here.ts - limits.timeThreshold)]!;
  return since.sampling !== here.sampling || distance(since, here) < limits.walkedOff;
}

type TripEnd = Pick<Candidate, 'endIndex' | 'resume' | 'endedBy'>;

/** Decides at location `i`, the next after `last`, whether the trip that began at `start` has ended. */
function endOfTrip(input: CandidateInput, start: number, last: number, i: number): TripEnd | null {
  const { locations } = input;
  const here = locations[i]!;
  const sampling = locations[start]!.sampling;
  if (i - start >= limits.longestTrip)
    return { endIndex: last, resume: { resume_ts: here.ts, started: true }, endedBy: 'length' };
  if (gapEndsTrip(input, sampling, locations[last]!, here)) {
    const endIndex = stillSince(locations, start, last);
    // Without motion in between the location after a gap may be where the user stayed: with distance sampling it has to
    // move first; with time sampling it begins the next trip, as the phone reports only while it tracks one. What
    // another phone sent since the last location may be travel of its own.
    const resume =
      sampling === 'time' && here.sampling === sampling
        ? { resume_ts: here.ts, started: true }
        : { resume_ts: locations[last]!.ts, started: false };
    const endedBy = restartedBetween(input.events, locations[last]!.ts, here.ts) ? 'restart' : 'gap';
    return { endIndex, resume, endedBy };
  }
  if (here.sampling !== sampling) return null;
  const resume = { resume_ts: here.ts, started: false };
  const endIndex = (sampling === 'distance' ? restSince : middleOfDwell)(locations, start, i);
  return endIndex === null ? null : { endIndex, resume, endedBy: 'dwell' };
}

/**
 * Of a program that also sends while the user rests: index of the first location of a rest of `gapThreshold` that ends
 * at location `i`; null: none does.
 */
function restSince(locations: readonly Location[], start: number, i: number): number | null {
  const here = locations[i]!;
  for (let j = i - 1; j >= start; j -= 1) {
    const one = locations[j]!;
    if (one.sampling !== here.sampling) continue;
    if (distance(one, here) >= limits.gapDistance) return null;
    if (here.ts - one.ts >= limits.gapThreshold) return j;
  }
  return null;
}

function gapEndsTrip(input: CandidateInput, sampling: Sampling, before: Location, here: Location): boolean {
  const seconds = here.ts - before.ts;
  const long = sampling === 'time' ? 2 * limits.timeThreshold : limits.gapThreshold;
  const restarted = restartedBetween(input.events, before.ts, here.ts);
  if (seconds <= long) return restarted && sampling === 'time';
  return (
    restarted ||
    !someWithin(input.motions, before.ts, here.ts) ||
    seconds > limits.longestGap ||
    distance(before, here) / seconds < limits.slowSpeed
  );
}

/**
 * The middle of the dwell that ends at location `i`: of the last minutes or the last few locations, whichever is
 * earlier; null: these do not all lie near it.
 */
function middleOfDwell(locations: readonly Location[], start: number, i: number): number | null {
  const here = locations[i]!;
  const few = Math.max(i - limits.pointThreshold, start);
  if (i - few + 1 < limits.pointThreshold - 1) return null;
  const recent = recentSince(locations, start, i);
  if (here.ts - locations[recent]!.ts < limits.timeThreshold - limits.timeSlack) return null;
  for (let j = Math.min(recent, few); j < i; j += 1) {
    const one = locations[j]!;
    if (one.sampling === here.sampling && distance(one, here) >= limits.timeDistance) return null;
  }
  return Math.max(start, Math.floor(Math.min(few + i, recent + i - 1) / 2));
}

/**
 * Index of the first location of the trip less than `timeThreshold` before location `i`, or of the one before it, if a
 * phone that sends seldom leaves too little time since that.
 */
function recentSince(locations: readonly Location[], start: number, i: number): number {
  const here = locations[i]!.ts;
  const j = Math.max(start, firstLater(locations, here - limits.timeThreshold));
  const short = here - locations[j]!.ts < limits.timeThreshold - limits.timeSlack;
  return short && j > start && here - locations[j - 1]!.ts <= 2 * limits.timeThreshold ? j - 1 : j;
}

/**
 * The location at which the user came to rest before a silence: with time sampling the middle of the last few locations
 * that lie near the last one; with distance sampling the last one, as none comes while the user rests.
 */
function stillSince(locations: readonly Location[], start: number, last: number): number {
  if (locations[start]!.sampling === 'distance') return last;
  const near: number[] = [];
  for (let j = last; j >= Math.max(start, last - limits.pointThreshold); j -= 1) {
    if (locations[j]!.sampling !== locations[last]!.sampling) continue;
    if (distance(locations[j]!, locations[last]!) >= limits.timeDistance) break;
    near.push(j);
  }
  return Math.floor(median(near));
}

// Step "outings": candidate trips -> outings, the trips that follow each other so soon that they may be one journey.

/** s; an group that began this long ago takes no further candidate, so that no life is one group (by hand) */
const longestGroup = 86_400;

/** Candidates that are decided on together. */
export interface CandidateGroup {
  candidates: Candidate[];
  sampling: Sampling;
  /** Its first and its last location's time. */
  from: number;
  to: number;
  /** Data time from which on no candidate can join it; null: not known yet. */
  settledTs: number | null;
  /** Start of what follows it, be it a trip that has not ended; infinite when nothing is known to follow. */
  nextTs: number;
}

/** Outings in order of time. `openSince`: index of the location with which a trip begins that has not ended. */
export function groupCandidates(
  candidates: readonly Candidate[],
  { locations, doubts }: { locations: readonly Location[]; doubts: readonly Doubt[] },
  openSince: number | null,
): CandidateGroup[] {
  const groups: Candidate[][] = [];
  for (const candidate of candidates) {
    const group = groups.at(-1);
    if (group && isSameGroup(group, locations[candidate.startIndex]!, locations)) group.push(candidate);
    else groups.push([candidate]);
  }
  return groups.map((group, i) => {
    const following = groups[i + 1]?.[0]?.startIndex ?? openSince;
    const next = following === null ? null : locations[following]!;
    const from = locations[group[0]!.startIndex]!.ts;
    return {
      candidates: group,
      sampling: group[0]!.sampling,
      from,
      to: locations[group.at(-1)!.endIndex]!.ts,
      settledTs: settledWithOutliers(doubts, from, settledTsOf(group, next, locations)),
      nextTs: next?.ts ?? Number.POSITIVE_INFINITY,
    };
  });
}

/** True when a trip that begins at `start` isSameGroup to the group of the candidates before it. */
function isSameGroup(group: readonly Candidate[], start: Location, locations: readonly Location[]): boolean {
  const last = group.at(-1)!;
  return (
    start.sampling === last.sampling &&
    start.ts - locations[last.endIndex]!.ts <= lookAround &&
    start.ts - locations[group[0]!.startIndex]!.ts <= longestGroup
  );
}

/** Data time that decides on all locations from an group's start to when it is settled; null: not known yet. */
function settledWithOutliers(doubts: readonly Doubt[], from: number, settled: number | null): number | null {
  if (settled === null) return null;
  const decided = doubts.filter(({ ts }) => ts >= from && ts <= settled).map(({ decidedTs }) => decidedTs);
  const last = Math.max(settled, ...decided);
  return last === Number.POSITIVE_INFINITY ? null : last;
}

function settledTsOf(
  group: readonly Candidate[],
  next: Location | null,
  locations: readonly Location[],
): number | null {
  const last = group.at(-1)!;
  if (last.settledTs === null) return null;
  const until = locations[last.endIndex]!.ts + lookAround;
  if (next && next.ts <= until)
    return isSameGroup(group, next, locations) ? null : Math.max(last.settledTs, next.ts, until);
  // Known only after later data: then no candidate can begin in between.
  const later = locations[firstAtOrAfter(locations, until)];
  return later ? Math.max(last.settledTs, later.ts) : null;
}
