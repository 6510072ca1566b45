// A segmenter without a model, for tests of the contract: one trip for each hour of UTC in which the user moved.
import type { Location } from '../../src/analysis/clean/observations.ts';
import type {
  PathPoint,
  Segmented,
  SegmentedSection,
  SegmentedTrip,
  Segmenter,
  Stay,
  Stretch,
} from '../../src/analysis/segmenter.ts';
import { firstAtOrAfter } from '../../src/analysis/sorted-times.ts';
import { unseenBefore } from '../../src/analysis/trips/trip-bounds.ts';
import { distance } from '../../src/model/geo/distance.ts';
import type { Resume } from '../../src/model/trip.ts';

/** s */
const hour = 3600;

/** m/s; slower than this is the error of a receiver at rest (by hand). */
const leastSpeed = 0.5;

/** How the trips, places, sections and stops were found. */
const source = 'Hourly';

/** One trip for each hour of movement, without modes. */
export const hourlySegmenter: Segmenter = { version: 'hourly 1', segment };

/**
 * The way to a location belongs to the hour of that location. An hour is decided once the data are complete up to its
 * end, or end before it: either way it follows from data before its end only, so its trip is settled then.
 */
function segment(stretch: Stretch, resume: Resume | null, stay: Stay | null): Segmented {
  const { locations, loadedUntil } = stretch;
  const trips: SegmentedTrip[] = [];
  let here = stay;
  let nextState = resume;
  for (let from = startOf(locations, resume); from < locations.length; ) {
    const end = (Math.floor(locations[from]!.ts / hour) + 1) * hour;
    if (end > loadedUntil) break;
    const to = firstAtOrAfter(locations, end);
    nextState = { resume_ts: locations[to - 1]!.ts, started: false };
    const moved = movedPart(locations, from, to);
    if (moved.length > 0) {
      const trip = tripOf(moved, stretch, here, end, nextState);
      trips.push(trip);
      here = { location: trip.end, enter_ts: trip.end_ts };
    }
    from = to;
  }
  return { trips, nextState };
}

/** Index of the first location behind the state; the one before it is its predecessor. */
function startOf(locations: readonly Location[], resume: Resume | null): number {
  if (resume === null) return 0;
  const at = firstAtOrAfter(locations, resume.resume_ts);
  return locations[at]?.ts === resume.resume_ts ? at + 1 : at;
}

/** The locations from the first to the last step of movement to one in `from` to `to`; none: at rest. */
function movedPart(locations: readonly Location[], from: number, to: number): readonly Location[] {
  let [first, last] = [-1, -1];
  for (let i = Math.max(from, 1); i < to; i += 1) {
    const [a, b] = [locations[i - 1]!, locations[i]!];
    if (distance(a, b) < leastSpeed * (b.ts - a.ts)) continue;
    if (first < 0) first = i - 1;
    last = i;
  }
  return first < 0 ? [] : locations.slice(first, last + 1);
}

function tripOf(
  moved: readonly Location[],
  { locations, events, motions }: Stretch,
  stay: Stay | null,
  settledTs: number,
  resume: Resume,
): SegmentedTrip {
  const [first, last] = [moved[0]!, moved.at(-1)!];
  const path = pathOf(moved);
  const section: SegmentedSection = {
    sensed_mode: 'MotionTypes.UNKNOWN',
    mode_confidence: 0,
    mode_probabilities: { UNKNOWN: 0 },
    path,
  };
  return {
    first,
    last,
    settledTs,
    resume,
    source,
    end_ts: last.ts,
    end: { latitude: last.latitude, longitude: last.longitude },
    sections: [section],
    recorded: path.at(-1)!.length,
    unseen: stay && unseenBefore({ locations, events, motions, segments: [] }, stay, first),
    needsFrom: resume.resume_ts,
    evidence: { model: 'none', start: 'hour', end: 'hour', ended_by: 'hour', left_out: {} },
  };
}

function pathOf(moved: readonly Location[]): PathPoint[] {
  let length = 0;
  return moved.map(({ ts, latitude, longitude, altitude }, i) => {
    if (i > 0) length += distance(moved[i - 1]!, moved[i]!);
    return { ts, latitude, longitude, altitude, length };
  });
}
