// Step "segment sections": one trip's locations and motion readings -> its parts in one mode.
import { distance } from '../../geo/distance.ts';
import { motionTypes, transitions } from '../../model/payloads.ts';
import { someWithin, within } from '../in-time.ts';
import type { Location, Motion, PhoneEvent, Sampling } from '../observations.ts';
import { type MotionRun, motionRuns, motionRunsDefaults } from './motion-runs.ts';

export interface SegmentSectionsInput {
  sampling: Sampling;
  /** The trip's locations, ascending by `ts`; at least one. */
  locations: readonly Location[];
  /** Motion readings within the trip's time. */
  motions: readonly Motion[];
  /** Transitions from the trip's start to `eventSlack` after its end. */
  events: readonly PhoneEvent[];
  /** Where the user was before the trip. */
  startPlace: { latitude: number; longitude: number };
}

/** Part of a trip in one mode, before cleaning. The first begins and the last ends with the trip. */
export interface RawSection {
  /** Motion type, see `motionTypes`. */
  type: number;
  locations: Location[];
}

export interface SegmentSectionsOptions {
  /** m; a trip without telling motion readings has to lead this far to be travel */
  least: Record<Sampling, number>;
  /** s; a transition this long after the trip still speaks for it */
  eventSlack: number;
  /** m; with distance sampling, a wider gap between two sections is given to one of them */
  widestGap: number;
  runs: typeof motionRunsDefaults;
}

export const segmentSectionsDefaults: SegmentSectionsOptions = {
  least: { time: 100, distance: 50 },
  eventSlack: 300,
  widestGap: 150,
  runs: motionRunsDefaults,
};

/** Sections in order of time; empty when nothing speaks for travel. */
export function segmentSections(input: SegmentSectionsInput, options = segmentSectionsDefaults): RawSection[] {
  const { locations, sampling } = input;
  const runs = motionRuns(input.motions, locations, sampling, options.runs);
  if (runs.length === 0)
    return isTravel(input, options) ? [{ type: motionTypes.UNKNOWN, locations: [...locations] }] : [];
  const stretched = stretch(runs, locations[0]!.ts, locations.at(-1)!.ts);
  const sections = stretched.map((run) => ({ type: run.type, locations: within(locations, run.from, run.to) }));
  const least = sampling === 'time' ? 1 : 2;
  const kept = sections.filter((section) => section.locations.length >= least);
  if (kept.length === 0) return [{ type: longest(stretched).type, locations: [...locations] }];
  return joinNeighbours(
    sampling === 'distance' ? closeGaps(toEnds(kept, locations), stretched, options) : toEnds(kept, locations),
  );
}

/** The first run begins and the last ends with the trip. */
function stretch(runs: readonly MotionRun[], from: number, to: number): MotionRun[] {
  return runs.map((run, i) => ({
    ...run,
    from: i === 0 ? from : Math.max(from, run.from),
    to: i === runs.length - 1 ? to : Math.min(to, run.to),
  }));
}

/** Locations before the first and after the last section that was kept go to these. */
function toEnds(sections: RawSection[], locations: readonly Location[]): RawSection[] {
  const first = sections[0]!;
  const last = sections.at(-1)!;
  const lead = locations.filter((l) => l.ts < first.locations[0]!.ts);
  const tail = locations.filter((l) => l.ts > last.locations.at(-1)!.ts);
  first.locations = [...lead, ...first.locations];
  last.locations = [...last.locations, ...tail];
  return sections;
}

const longest = (runs: readonly MotionRun[]): MotionRun =>
  runs.reduce((best, run) => (run.to - run.from > best.to - best.from ? run : best));

function isTravel(
  { locations, sampling, startPlace, events }: SegmentSectionsInput,
  options: SegmentSectionsOptions,
): boolean {
  const first = locations[0]!;
  const end = locations.at(-1)!;
  if (sampling === 'time') return distance(startPlace, end) > options.least.time;
  const to = end.ts + options.eventSlack;
  if (!someWithin(events, first.ts, to)) return false;
  return (
    distance(first, end) > options.least.distance ||
    someWithin(events, first.ts, to, (e) => e.transition === transitions.VISIT_ENDED)
  );
}

/** A wide gap between two sections goes to the one whose locations lie clearly farther from the boundary in time. */
function closeGaps(sections: RawSection[], runs: readonly MotionRun[], options: SegmentSectionsOptions): RawSection[] {
  let run = 0;
  for (let i = 1; i < sections.length; i += 1) {
    const before = sections[i - 1]!.locations.at(-1)!;
    const after = sections[i]!.locations[0]!;
    if (distance(before, after) <= options.widestGap) continue;
    while (run < runs.length && runs[run]!.to < before.ts) run += 1;
    const end = runs[run]?.to ?? Number.POSITIVE_INFINITY;
    const boundary = end <= after.ts ? end : (before.ts + after.ts) / 2;
    const toBefore = boundary - before.ts;
    const toAfter = after.ts - boundary;
    if (Math.max(toBefore, toAfter) < 1.5 * Math.min(toBefore, toAfter)) continue;
    if (toBefore < toAfter) sections[i]!.locations.unshift(before);
    else sections[i - 1]!.locations.push(after);
  }
  return sections;
}

/** Sections that lie side by side with equal type are one; a section between them may have had no locations. */
function joinNeighbours(sections: readonly RawSection[]): RawSection[] {
  const out: RawSection[] = [];
  for (const section of sections) {
    const last = out.at(-1);
    if (!last || last.type !== section.type) {
      out.push({ type: section.type, locations: [...section.locations] });
      continue;
    }
    const until = last.locations.at(-1)!.ts;
    last.locations = [...last.locations, ...section.locations.filter((l) => l.ts > until)];
  }
  return out;
}
