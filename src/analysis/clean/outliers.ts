// Outliers: removes locations where the user cannot have been, and short detours from a rest that nothing confirms.
//
//   at home      o o  o o        o  o o  o
//   elsewhere            x                      removed: 20 km away for a minute; no geofence exit, no motion readings
//
//   at home      o o  o o|                      |: the geofence reports an exit
//   elsewhere              o  o    o            kept: the user left
//
//   at home      o o  o o              o o  o
//   elsewhere            x x x x x x x          removed, though each x is near the one before: the first x cannot be
//                                               reached in time, and the user is back within 30 locations
//
// A decision may need later locations, which show whether the user came back. If these are not loaded yet, the result
// ends before the location in question.
import { distance } from '../../model/geo/distance.ts';
import type { Resume } from '../../model/trip.ts';
import { cellStates, isMoving, readingState } from '../motion-states.ts';
import { lookAround, type Stretch } from '../segmenter.ts';
import { firstAtOrAfter, someWithin, within } from '../sorted-times.ts';
import { isExit, type Location } from './observations.ts';

/** When a location is in doubt, and what confirms it. By hand, except where marked physical. */
const limits = {
  fastest: 340, // m/s; no traveller is faster (physical)
  /** m/s. Only planes are faster, and a flight takes longer than `flight` s (physical). */
  fastestOnGround: 90,
  flight: 300,
  away: 100, // m; a location this near to the previous one is never an outlier
  agreement: 180, // s; locations near each other for so long show a rest
  gap: 600, // s; after a longer gap the user may have rested
  longestRun: 30, // at most this many consecutive locations are removed as unreachable
  reported: 120, // s; the phone may report a departure this long before or after the location
};

/** A decision whether the location at `ts` is an outlier, made with data after `ts`. */
export interface Doubt {
  ts: number;
  decidedTs: number; // the decision used data up to this time; infinite: up to the end of the data
}

interface CleanStretch {
  locations: Location[];
  outliers: number[]; // times of the outliers, including the outliers in `resume`
  doubts: Doubt[];
  decidedUntil: number; // before this time all outliers are known
}

/** Removes outliers. `resume`: the state of an earlier call, which decided on all locations before `resume_ts`. */
export function removeOutliers(stretch: Stretch, resume: Resume | null): CleanStretch {
  const { locations, loadedUntil } = stretch;
  const outliers = [...(resume?.left_out ?? [])];
  const first = resume ? firstAtOrAfter(locations, resume.resume_ts) : 0;
  const kept = locations.slice(0, first).filter(({ ts }) => !outliers.includes(ts));
  const doubts: Doubt[] = [];
  for (let i = first; i < locations.length; i += 1) {
    const here = locations[i]!;
    if (i > first && isDoubted(kept, here)) {
      const { isOutlier, decidedTs } = decide(stretch, i, kept.at(-1)!);
      const until = Math.max(decidedTs, here.ts + limits.reported);
      if (until >= loadedUntil && loadedUntil !== Number.POSITIVE_INFINITY)
        return { locations: kept, outliers, doubts, decidedUntil: here.ts };
      doubts.push({ ts: here.ts, decidedTs: until });
      if (isOutlier) {
        outliers.push(here.ts);
        const run = isUnreachable(kept.at(-1)!, here);
        for (; run && (locations[i + 1]?.ts ?? decidedTs) < decidedTs; i += 1) outliers.push(locations[i + 1]!.ts);
        continue;
      }
    }
    kept.push(here);
  }
  return { locations: kept, outliers, doubts, decidedUntil: loadedUntil };
}

export function withOutliers(resume: Resume, outliers: readonly number[]): Resume {
  const { resume_ts, started } = resume;
  const left_out = outliers.filter((ts) => ts < resume_ts && ts >= resume_ts - lookAround);
  return { resume_ts, started, ...(left_out.length > 0 && { left_out }) };
}

function isDoubted(kept: readonly Location[], here: Location): boolean {
  const from = kept.at(-1)!;
  const metres = distance(from, here);
  if (metres < limits.away) return false;
  if (isUnreachable(from, here)) return true;
  return here.ts - from.ts >= limits.gap || rests(kept);
}

function isUnreachable(from: Location, to: Location): boolean {
  const seconds = to.ts - from.ts;
  const speed = seconds > limits.flight ? limits.fastest : limits.fastestOnGround;
  return distance(from, to) - from.accuracy - to.accuracy > speed * seconds;
}

/** True if the user may be at rest: all earlier locations of the last minutes, if any, are near the last location. */
function rests(kept: readonly Location[]): boolean {
  const here = kept.at(-1)!;
  for (let j = kept.length - 2; j >= 0 && here.ts - kept[j]!.ts < limits.gap; j -= 1) {
    const one = kept[j]!;
    if (distance(one, here) >= limits.away) return false;
    if (here.ts - one.ts >= limits.agreement) return true;
  }
  return true;
}

function decide(stretch: Stretch, i: number, from: Location): { isOutlier: boolean; decidedTs: number } {
  const { locations } = stretch;
  const first = locations[i]!;
  const unreachable = isUnreachable(from, first);
  const onGround = distance(from, first) <= limits.fastestOnGround * (first.ts - from.ts);
  if (onGround && isReported(stretch, first.ts)) return { isOutlier: false, decidedTs: first.ts };
  let last = first;
  let count = 1;
  for (let j = i + 1; j < locations.length; j += 1) {
    const here = locations[j]!;
    const apart = distance(last, here);
    // The user is back if `here` is nearer to `from` than to `last`. Factor 3: the user may have moved on in a gap, so
    // `here` may be farther from `from`. Factor 1/3: unreachable locations jump, so `here` must be much nearer.
    const factor = here.ts - last.ts > limits.gap ? 3 : unreachable ? 1 / 3 : 1;
    const back = distance(from, here) < apart * factor;
    const short = last.ts - first.ts < limits.agreement;
    if (back && (short || (unreachable && isUnreachable(last, here)))) return { isOutlier: true, decidedTs: here.ts };
    const agree = here.ts - first.ts >= limits.agreement && !unreachable;
    if (agree || count >= limits.longestRun) return { isOutlier: false, decidedTs: here.ts };
    last = here;
    count += 1;
  }
  return { isOutlier: false, decidedTs: Number.POSITIVE_INFINITY };
}

function isReported({ events, motions }: Stretch, ts: number): boolean {
  const [from, to] = [ts - limits.reported, ts + limits.reported];
  if (someWithin(events, from, ts + limits.reported / 2, isExit)) return true;
  let [moving, still] = [0, 0];
  for (const { type } of within(motions, from, to)) {
    const state = readingState(type);
    if (isMoving(state)) moving += 1;
    else if (state === cellStates.still) still += 1;
  }
  return moving >= 2 && moving >= 2 * still;
}
