// Finds candidates (spans between two rests that may contain a trip) by dwells and gaps, and groups near candidates.
//
//   locations    oooo o  o  o  o ooooo       o  o  o ooooo          o  o o
//   candidates       |-----------|           |-----|                |----|
//   rests        dwell            5 min dwell       gap of 2 h
//   groups           |=============================|                |====|     less than 45 min apart
//
// Android phones ("time") send about every 30 s, so the user dwells if the locations of 5 minutes lie within 100 m.
// iPhones ("distance") send when the user has moved, so 10 minutes without a location are a dwell. A group may turn out
// to be one journey with a wait, or several journeys: `findJourneys` decides once the modes are known.
import { distance } from '../../model/geo/distance.ts';
import { median } from '../../model/geo/quantile.ts';
import type { Resume } from '../../model/trip.ts';
import { withFields } from '../../model/with-fields.ts';
import { lookAround } from '../segmenter.ts';
import { firstAtOrAfter, firstLater, someWithin } from '../sorted-times.ts';
import {
  isEnd,
  type Location,
  movesThrough,
  type Observations,
  restartedBetween,
  type Sampling,
} from './observations.ts';
import type { Doubt } from './outliers.ts';

/** Thresholds of e-mission's dwell segmentation by time and by distance, unless a comment says otherwise. */
export const candidateLimits = {
  // The user dwells if all locations of `timeThreshold` s, and the last `pointThreshold`, lie within `timeDistance` m.
  timeThreshold: 300,
  pointThreshold: 9,
  timeDistance: 100,
  timeSlack: 30, // s; the locations of a dwell may span this much less than `timeThreshold`
  longestRestStep: 60, // s; a near location at most this long after the previous one belongs to the rest after a trip
  walkedOff: 250, // m in `timeThreshold` s; a longer move ends a rest: receivers at rest drift less (by hand)
  gapThreshold: 600, // s; distance sampling: the user dwells if no location arrives for this long
  gapDistance: 50, // m; distance sampling: the user moved if two locations are farther apart
  longestGap: 2700, // s; a longer gap without movement ends a trip (the longest tunnel took 2,363 s)
  longestFlight: 12 * 3600, // s; a flight may take this long
  air: 200 / 3.6, // m/s; only a plane or a high-speed train has a higher average (physical)
  slowSpeed: 1 / 3, // m/s; a gap with a slower average ends the trip
  longestTrip: 100_000, // A trip with more locations is cut, to bound memory
};

interface CandidateInput extends Observations {
  resume: Resume | null; // where the search continues; null: at the user's first location
  /** True if no later data exist. Then an event "trip ended" from the phone or an import may end the last trip. */
  endOfData: boolean;
}

export interface Candidate {
  startIndex: number;
  endIndex: number;
  sampling: Sampling;
  /** Time of the last entry that the decision used; null: the decision used the end of the data. */
  settledTs: number | null;
  resume: Resume; // where the search for the next trip begins
  /** The rule that ended the candidate; `no data`: the candidate is still open. */
  endedBy: 'dwell' | 'gap' | 'restart' | 'phone' | 'length' | 'no data';
}

/**
 * Finds candidates in one pass: each location belongs to the rest after a trip, begins a trip, continues one, or shows
 * that the trip has ended. `open`: the candidate that has not ended; null: none.
 *
 * If two phones sample differently, an open trip belongs to the phone that began it. Locations of the other phone count
 * only after a gap of `gapThreshold`: they show whether the trip has ended.
 */
export function findCandidates(input: CandidateInput): { trips: Candidate[]; open: Candidate | null } {
  const { locations, resume } = input;
  const trips: Candidate[] = [];
  let start: number | null = null; // index of the open trip's first location
  let last = -1; // index of the last location that was used
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
      if (last < 0 || !isSameRest(locations, last, i)) start = i;
      last = i;
      continue;
    }
    const before = locations[last]!;
    const other = here.sampling !== locations[start]!.sampling;
    if (other && here.ts - before.ts <= candidateLimits.gapThreshold) continue;
    const end = endOfTrip(input, start, last, i);
    if (end) {
      trips.push(withFields(end, { startIndex: start, sampling: locations[start]!.sampling, settledTs: here.ts }));
      start = end.resume.started ? i : null;
      if (end.resume.started || end.resume.resume_ts === here.ts) last = i;
      else i = last; // search again from `last`, because the locations after it now follow a trip
      continue;
    }
    if (!other) last = i;
  }
  if (start === null) return { trips, open: null };
  const { ts } = locations[last]!;
  const open: Candidate = {
    startIndex: start,
    endIndex: stillSince(locations, start, last),
    sampling: locations[start]!.sampling,
    settledTs: null,
    resume: { resume_ts: ts, started: false },
    endedBy: 'no data',
  };
  const isEnded = input.endOfData && someWithin(input.events, ts, Number.POSITIVE_INFINITY, isEnd);
  return isEnded ? { trips: [...trips, { ...open, endedBy: 'phone' }], open: null } : { trips, open };
}

/** True if location `i` still belongs to the rest after a trip. `last`: index of the last location of the rest. */
function isSameRest(locations: readonly Location[], last: number, i: number): boolean {
  const [before, here] = [locations[last]!, locations[i]!];
  if (here.sampling === 'time' && here.ts - before.ts > candidateLimits.longestRestStep) return false;
  if (distance(before, here) >= (here.sampling === 'time' ? candidateLimits.timeDistance : candidateLimits.gapDistance))
    return false;
  // During a slow walk each location is near the previous location, but not near the location 5 minutes before.
  const since = locations[firstAtOrAfter(locations, here.ts - candidateLimits.timeThreshold)]!;
  return since.sampling !== here.sampling || distance(since, here) < candidateLimits.walkedOff;
}

type TripEnd = Pick<Candidate, 'endIndex' | 'resume' | 'endedBy'>;

function endOfTrip(input: CandidateInput, start: number, last: number, i: number): TripEnd | null {
  const { locations } = input;
  const here = locations[i]!;
  const sampling = locations[start]!.sampling;
  if (i - start >= candidateLimits.longestTrip)
    return { endIndex: last, resume: { resume_ts: here.ts, started: true }, endedBy: 'length' };
  if (gapEndsTrip(input, sampling, locations[last]!, here)) {
    const endIndex = stillSince(locations, start, last);
    // An iPhone sends only after movement, so after a gap it may still be where the user stayed. An Android phone sends
    // only while it tracks a trip, so its next location begins a trip. A location of another phone may also be at rest.
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

/** For apps that send at rest: index where a rest of `gapThreshold` s up to `i` begins, or null. */
function restSince(locations: readonly Location[], start: number, i: number): number | null {
  const here = locations[i]!;
  for (let j = i - 1; j >= start; j -= 1) {
    const one = locations[j]!;
    if (one.sampling !== here.sampling) continue;
    if (distance(one, here) >= candidateLimits.gapDistance) return null;
    if (here.ts - one.ts >= candidateLimits.gapThreshold) return j;
  }
  return null;
}

function gapEndsTrip(input: CandidateInput, sampling: Sampling, before: Location, here: Location): boolean {
  const seconds = here.ts - before.ts;
  const long = sampling === 'time' ? 2 * candidateLimits.timeThreshold : candidateLimits.gapThreshold;
  const restarted = restartedBetween(input.events, before.ts, here.ts);
  if (seconds <= long) return restarted && sampling === 'time';
  if (restarted || !someWithin(input.motions, before.ts, here.ts)) return true;
  const speed = distance(before, here) / seconds;
  if (speed > candidateLimits.air) return seconds > candidateLimits.longestFlight;
  if (seconds > candidateLimits.longestGap && !movesThrough(input.motions, before.ts, here.ts)) return true;
  return speed < candidateLimits.slowSpeed;
}

/** Index of the middle location of the dwell that ends at `i`; null: the last locations are not near `i`. */
function middleOfDwell(locations: readonly Location[], start: number, i: number): number | null {
  const here = locations[i]!;
  const few = Math.max(i - candidateLimits.pointThreshold, start);
  if (i - few + 1 < candidateLimits.pointThreshold - 1) return null;
  const recent = recentSince(locations, start, i);
  if (here.ts - locations[recent]!.ts < candidateLimits.timeThreshold - candidateLimits.timeSlack) return null;
  for (let j = Math.min(recent, few); j < i; j += 1) {
    const one = locations[j]!;
    if (one.sampling === here.sampling && distance(one, here) >= candidateLimits.timeDistance) return null;
  }
  return Math.max(start, Math.floor(Math.min(few + i, recent + i - 1) / 2));
}

/**
 * Index of the first location of the trip that is at most `timeThreshold` s before location `i`. If locations are so
 * rare that this span is short, the index of the previous location.
 */
function recentSince(locations: readonly Location[], start: number, i: number): number {
  const here = locations[i]!.ts;
  const j = Math.max(start, firstLater(locations, here - candidateLimits.timeThreshold));
  const short = here - locations[j]!.ts < candidateLimits.timeThreshold - candidateLimits.timeSlack;
  return short && j > start && here - locations[j - 1]!.ts <= 2 * candidateLimits.timeThreshold ? j - 1 : j;
}

/** Index where the user came to rest before a gap. An iPhone sends one location at rest, Android several. */
function stillSince(locations: readonly Location[], start: number, last: number): number {
  if (locations[start]!.sampling === 'distance') return last;
  const near: number[] = [];
  for (let j = last; j >= Math.max(start, last - candidateLimits.pointThreshold); j -= 1) {
    if (locations[j]!.sampling !== locations[last]!.sampling) continue;
    if (distance(locations[j]!, locations[last]!) >= candidateLimits.timeDistance) break;
    near.push(j);
  }
  return Math.floor(median(near));
}

type Cleaned = { locations: readonly Location[]; doubts: readonly Doubt[] };

const longestGroup = 86_400; // s; a group that began this long ago gets no further candidate (by hand)

/** Candidates that are decoded together; `findJourneys` decides which candidates form one journey. */
export interface CandidateGroup {
  candidates: Candidate[];
  sampling: Sampling;
  from: number; // times of the first and last location of the group
  to: number;
  /** The data up to this time show that no further candidate can join the group; null: they are not loaded yet. */
  settledTs: number | null;
  nextTs: number; // start of the next group or of the open trip; infinite: there is none
}

export function groupCandidates(candidates: Candidate[], cleaned: Cleaned, open: Candidate | null): CandidateGroup[] {
  const { locations, doubts } = cleaned;
  const groups: Candidate[][] = [];
  for (const candidate of candidates) {
    const group = groups.at(-1);
    if (group && isSameGroup(group, locations[candidate.startIndex]!, locations)) group.push(candidate);
    else groups.push([candidate]);
  }
  return groups.map((group, i) => {
    const following = groups[i + 1]?.[0] ?? open;
    const next = following === null ? null : locations[following.startIndex]!;
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

function isSameGroup(group: readonly Candidate[], start: Location, locations: readonly Location[]): boolean {
  const last = group.at(-1)!;
  return (
    start.sampling === last.sampling &&
    start.ts - locations[last.endIndex]!.ts <= lookAround &&
    start.ts - locations[group[0]!.startIndex]!.ts <= longestGroup
  );
}

/** The time up to which data decided about a group: `settled`, or later if a location of the group was in doubt. */
function settledWithOutliers(doubts: readonly Doubt[], from: number, settled: number | null): number | null {
  if (settled === null) return null;
  const decided = doubts.filter(({ ts }) => ts >= from && ts <= settled).map(({ decidedTs }) => decidedTs);
  const last = Math.max(settled, ...decided);
  return last === Number.POSITIVE_INFINITY ? null : last;
}

function settledTsOf(group: Candidate[], next: Location | null, locations: readonly Location[]): number | null {
  const last = group.at(-1)!;
  if (last.settledTs === null) return null;
  const until = locations[last.endIndex]!.ts + lookAround;
  if (next && next.ts <= until)
    return isSameGroup(group, next, locations) ? null : Math.max(last.settledTs, next.ts, until);
  // Only a location after `until` shows that no other candidate of the group begins before `until`.
  const later = locations[firstAtOrAfter(locations, until)];
  return later ? Math.max(last.settledTs, later.ts) : null;
}
