// Step "outliers": a stretch's locations -> those where the user can have been, without short excursions that nothing
// else tells of.

import { distance } from '../../model/geo/distance.ts';
import type { Resume } from '../../model/trip.ts';
import { cellStates, isMoving, readingState } from '../motion-states.ts';
import { lookAround, type Stretch } from '../segmenter.ts';
import { firstAtOrAfter, someWithin, within } from '../sorted-times.ts';
import { isExit, type Location } from './observations.ts';

/** When a location is doubted, and what clears it. Physical, but `away`, `most` and `told` (by hand). */
const limits = {
  /** m/s; nothing travels faster, and over a step of at most `flight` s nothing takes off and lands */
  fastest: 340,
  fastestOnGround: 90,
  flight: 300,
  /** m; nearer to the location before, the user is where they were */
  away: 100,
  /** s; two locations so far apart in time that agree are no error of the receiver; who stays so long rests */
  minutes: 180,
  /** s; after a longer silence the user may have rested */
  silence: 600,
  /** Locations, at most, that cannot be reached. */
  most: 30,
  /** s around a departure in which the phone may tell of it */
  told: 120,
};

/**
 * A decision that looked forward: on the location at `ts`, by data up to `decidedTs`; infinite: by there being no more.
 */
export interface Doubt {
  ts: number;
  decidedTs: number;
}

/** What is left of a stretch. */
export interface CleanStretch {
  locations: Location[];
  /** Times of the locations left out, those of `resume` among them. */
  outliers: number[];
  doubts: Doubt[];
  /** Locations below this time are decided on; infinite: all. */
  decidedUntil: number;
}

/**
 * Leaves out locations that can be neither reached nor left, and those of less than `minutes` to which the user seems
 * to leave a rest, if neither the phone's geofence nor its motion readings tell of a departure. Ends before a location
 * that only later data decide on. What lies before `resume` was decided there.
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
      const until = Math.max(decidedTs, here.ts + limits.told);
      if (until >= loadedUntil && loadedUntil !== Number.POSITIVE_INFINITY)
        return { locations: kept, outliers, doubts, decidedUntil: here.ts };
      doubts.push({ ts: here.ts, decidedTs: until });
      if (isOutlier) {
        outliers.push(here.ts);
        continue;
      }
    }
    kept.push(here);
  }
  return { locations: kept, outliers, doubts, decidedUntil: loadedUntil };
}

/** The state with the locations that were left out in what the analysis looks back at from there. */
export function withOutliers(resume: Resume, outliers: readonly number[]): Resume {
  const { resume_ts, started } = resume;
  const left_out = outliers.filter((ts) => ts < resume_ts && ts >= resume_ts - lookAround);
  return { resume_ts, started, ...(left_out.length > 0 && { left_out }) };
}

/** True when the user cannot have got to a location, or leaves a rest with it. */
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

/** True when the locations of the last minutes lie near the last one, or there are none: the user may rest. */
function rests(kept: readonly Location[]): boolean {
  const here = kept.at(-1)!;
  for (let j = kept.length - 2; j >= 0 && here.ts - kept[j]!.ts < limits.silence; j -= 1) {
    const one = kept[j]!;
    if (distance(one, here) >= limits.away) return false;
    if (here.ts - one.ts >= limits.minutes) return true;
  }
  return true;
}

/** Whether the doubted location at `i`, after `from`, is a outlier, and the time of the location that shows it. */
function decide(stretch: Stretch, i: number, from: Location): { isOutlier: boolean; decidedTs: number } {
  const { locations } = stretch;
  const first = locations[i]!;
  const unreachable = isUnreachable(from, first);
  const onGround = distance(from, first) <= limits.fastestOnGround * (first.ts - from.ts);
  if (onGround && isTold(stretch, first.ts)) return { isOutlier: false, decidedTs: first.ts };
  let last = first;
  let count = 1;
  for (let j = i + 1; j < locations.length; j += 1) {
    const here = locations[j]!;
    const apart = distance(last, here);
    // After a silence the user may have left again: then only what lies near the segment agrees with it.
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

/**
 * True when the phone tells of a departure: its geofence, or at least twice as many readings of movement as of rest.
 */
function isTold({ events, motions }: Stretch, ts: number): boolean {
  const [from, to] = [ts - limits.told, ts + limits.told];
  if (someWithin(events, from, ts + limits.told / 2, isExit)) return true;
  let [moving, still] = [0, 0];
  for (const { type } of within(motions, from, to)) {
    const state = readingState(type);
    if (isMoving(state)) moving += 1;
    else if (state === cellStates.still) still += 1;
  }
  return moving >= 2 && moving >= 2 * still;
}
