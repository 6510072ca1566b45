// Step "outings": candidate trips -> outings, the trips that follow each other so soon that they may be one journey.

import type { JointModel, JointOdds } from '../modes/mode-crf.ts';
import type { Ride } from '../modes/segment-evidence.ts';
import { lookAround } from '../segmenter.ts';
import { firstAtOrAfter } from '../sorted-times.ts';
import type { Run } from '../states/state-runs.ts';
import type { Cells } from '../states/viterbi.ts';
import type { RawTrip } from './candidates.ts';
import type { Location, Observations, Sampling } from './observations.ts';
import type { Doubt } from './outliers.ts';
import type { Track } from './track.ts';

/** s; an outing that began this long ago takes no further candidate, so that no life is one outing (by hand) */
const longestOuting = 86_400;

/** Candidates that are decided on together. */
export interface Outing {
  candidates: RawTrip[];
  sampling: Sampling;
  /** Its first and its last location's time. */
  from: number;
  to: number;
  /** Data time from which on no candidate can join it; null: not known yet. */
  settledTs: number | null;
  /** Start of what follows it, be it a trip that has not ended; infinite when nothing is known to follow. */
  nextTs: number;
}

/** An outing with its track and states. */
export interface Decoded extends Observations {
  outing: Outing;
  /** Times of locations that were left out before. */
  strays: readonly number[];
  track: Track;
  cells: Cells;
  runs: readonly Run[];
  /** Its legs, and what is said of their modes. */
  rides: readonly Ride[];
  odds: JointOdds;
  joint: JointModel;
  /** Name of the model that the states are from. */
  model: string;
}

/** Outings in order of time. `openSince`: index of the location with which a trip begins that has not ended. */
export function outingsOf(
  candidates: readonly RawTrip[],
  { locations, doubts }: { locations: readonly Location[]; doubts: readonly Doubt[] },
  openSince: number | null,
): Outing[] {
  const groups: RawTrip[][] = [];
  for (const candidate of candidates) {
    const group = groups.at(-1);
    if (group && belongs(group, locations[candidate.startIndex]!, locations)) group.push(candidate);
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
      settledTs: decidedBy(doubts, from, settledBy(group, next, locations)),
      nextTs: next?.ts ?? Number.POSITIVE_INFINITY,
    };
  });
}

/** True when a trip that begins at `start` belongs to the outing of the candidates before it. */
function belongs(group: readonly RawTrip[], start: Location, locations: readonly Location[]): boolean {
  const last = group.at(-1)!;
  return (
    start.sampling === last.sampling &&
    start.ts - locations[last.endIndex]!.ts <= lookAround &&
    start.ts - locations[group[0]!.startIndex]!.ts <= longestOuting
  );
}

/** Data time that decides on all locations from an outing's start to when it is settled; null: not known yet. */
function decidedBy(doubts: readonly Doubt[], from: number, settled: number | null): number | null {
  if (settled === null) return null;
  const decided = doubts.filter(({ ts }) => ts >= from && ts <= settled).map(({ decidedTs }) => decidedTs);
  const last = Math.max(settled, ...decided);
  return last === Number.POSITIVE_INFINITY ? null : last;
}

function settledBy(group: readonly RawTrip[], next: Location | null, locations: readonly Location[]): number | null {
  const last = group.at(-1)!;
  if (last.settledTs === null) return null;
  const until = locations[last.endIndex]!.ts + lookAround;
  if (next && next.ts <= until)
    return belongs(group, next, locations) ? null : Math.max(last.settledTs, next.ts, until);
  // Known only after later data: then no candidate can begin in between.
  const later = locations[firstAtOrAfter(locations, until)];
  return later ? Math.max(last.settledTs, later.ts) : null;
}
