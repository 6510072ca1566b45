// Outliers: removes locations where the user cannot have been, and short detours from a rest that nothing confirms.
//
//   at home      o o  o o        o  o o  o           .  20 km away for one minute; no geofence, no motion
//   elsewhere            .                    :      removed: it cannot be reached in time, or no sign of leaving
//
//   at home      o o  o o|                           |  the geofence reports an exit
//   elsewhere              o  o    o                    kept: the user left
//
//   at home      o o  o o              o o  o         :  a run of 5 to 30 locations that begins unreachably far away
//   elsewhere            . . . . . . .                   removed up to the return, though each is near the one before
//
// A decision may need later locations ("did they come back?"). If these are not loaded yet, the result ends before.
import { distance } from '../../model/geo/distance.ts';
import type { Resume } from '../../model/trip.ts';
import { cellStates, isMoving, readingState } from '../motion-states.ts';
import { lookAround, type Stretch } from '../segmenter.ts';
import { firstAtOrAfter, someWithin, within } from '../sorted-times.ts';
import { isExit, type Location } from './observations.ts';

/** Which locations are doubted, and what confirms them. By hand, except where marked physical. */
const limits = {
  /** m/s; no traveller is faster (physical) */
  fastest: 340,
  /** m/s; the same within `flight` s, in which no plane takes off and lands (physical) */
  fastestOnGround: 90,
  flight: 300,
  /** m; a location this near to the previous one is no detour */
  away: 100,
  /** s; locations that agree for this long are no error of the receiver */
  minutes: 180,
  /** s; after a longer gap the user may have rested */
  silence: 600,
  /** The longest run of unreachable locations. */
  most: 30,
  /** s around a departure in which the phone may report it */
  reported: 120,
};

/**
 * A decision that looked forward: on the location at `ts`, by data up to `decidedTs`; infinite: by there being no more.
 */
export interface Doubt {
  ts: number;
  decidedTs: number;
}

/** The locations of a stretch without outliers. */
export interface CleanStretch {
  locations: Location[];
  /** Times of the outliers, including those in `resume`. */
  outliers: number[];
  doubts: Doubt[];
  /** All locations before this time are decided; infinite: all. */
  decidedUntil: number;
}

/**
 * Removes outliers. Locations before `resume` were decided by an earlier call. Ends before the first location that only
 * later data decide.
 */
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

/** Adds the outliers to the state that the next call looks back at. */
export function withOutliers(resume: Resume, outliers: readonly number[]): Resume {
  const { resume_ts, started } = resume;
  const left_out = outliers.filter((ts) => ts < resume_ts && ts >= resume_ts - lookAround);
  return { resume_ts, started, ...(left_out.length > 0 && { left_out }) };
}

/** True if the location is unreachable, or ends a rest. */
function isDoubted(kept: readonly Location[], here: Location): boolean {
  const from = kept.at(-1)!;
  const metres = distance(from, here);
  if (metres < limits.away) return false;
  if (isUnreachable(from, here)) return true;
  return here.ts - from.ts >= limits.silence || rests(kept);
}

function isUnreachable(from: Location, to: Location): boolean {
  const seconds = to.ts - from.ts;
  const speed = seconds > limits.flight ? limits.fastest : limits.fastestOnGround;
  return distance(from, to) - from.accuracy - to.accuracy > speed * seconds;
}

/** True if the locations of the last minutes lie near the last one, or none do: the user may rest. */
function rests(kept: readonly Location[]): boolean {
  const here = kept.at(-1)!;
  for (let j = kept.length - 2; j >= 0 && here.ts - kept[j]!.ts < limits.silence; j -= 1) {
    const one = kept[j]!;
    if (distance(one, here) >= limits.away) return false;
    if (here.ts - one.ts >= limits.minutes) return true;
  }
  return true;
}

/** Decides on the doubted location `i`, which follows `from`. */
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
    // After a gap the user may have left again: then only locations near the run confirm it.
    const back = distance(from, here) < apart * (here.ts - last.ts > limits.silence ? 3 : 1);
    const short = last.ts - first.ts < limits.minutes;
    if (back && (short || (unreachable && isUnreachable(last, here)))) return { isOutlier: true, decidedTs: here.ts };
    const agree = here.ts - first.ts >= limits.minutes && !unreachable;
    if (agree || count >= limits.most) return { isOutlier: false, decidedTs: here.ts };
    last = here;
    count += 1;
  }
  return { isOutlier: false, decidedTs: Number.POSITIVE_INFINITY };
}

/** True if the geofence reports an exit, or twice as many readings name movement as rest. */
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
