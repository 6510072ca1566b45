// Step "clean trip": a raw trip's sections -> a trip that joins the places before and after, with lines, lengths and modes.
import { distance } from '../geo/distance.ts';
import { median, quantile, speedBetween, speedsAlong } from '../geo/speed.ts';
import { idOf } from '../model/ids.ts';
import { motionTypes } from '../model/payloads.ts';
import type { Position, Section, Stop } from '../model/trip.ts';
import { sensedMode } from './dwell/infer-mode.ts';
import { isMotorised } from './dwell/motion-runs.ts';
import type { RawSection } from './dwell/segment-sections.ts';
import type { Location } from './observations.ts';
import { type Line, resample } from './resample.ts';
import { smooth } from './smooth.ts';

export interface CleanTripInput {
  userId: string;
  /** `ts` of the raw trip's first location: the trip's name within the user. */
  chainTs: number;
  sections: readonly RawSection[];
  /** Where the user was before: they left no earlier than `enter_ts` (null: unknown). */
  startPlace: { latitude: number; longitude: number; enterTs: number | null };
  /** The raw trip's last location: where the user is afterwards. */
  endPlace: Location;
}

export interface CleanTripOptions {
  /** s; of the stay before the trip at least this much remains, or half of it */
  leastStay: number;
  /** m; a stop longer than this is no stop: one of its sections is continued over it */
  longestStop: number;
  /** A joined leg faster than Q3 + this * IQR of the section's speeds makes its mode unknown. */
  spread: number;
}

export const cleanTripDefaults: CleanTripOptions = {
  leastStay: 180,
  longestStop: 150,
  spread: 1.5,
};

export interface CleanTrip {
  start_ts: number;
  end_ts: number;
  start_loc: Position;
  end_loc: Position;
  /** m, sections and stops */
  distance: number;
  sections: Section[];
  stops: Stop[];
}

const source = 'SmoothedHighConfidenceMotion';

interface Part {
  type: number;
  locations: Location[];
}

/** The trip in clean form; null when nothing of it is left. */
export function cleanTrip(input: CleanTripInput, options = cleanTripDefaults): CleanTrip | null {
  const parts: Part[] = input.sections.map(({ type, locations }) => ({ type, locations: smooth(locations) }));
  if (parts.length === 0) return null;
  joinEnd(parts.at(-1)!, input);
  joinStart(parts, input, options);
  closeStops(parts, options);
  return assemble(input, parts);
}

/**
 * Puts the place that the user left in front of the first section, as early as the section's own speed tells. A place that was made
 * from the trip's first location is no place of its own: the trip begins with the first location that is to be believed.
 */
function joinStart(parts: readonly Part[], input: CleanTripInput, options: CleanTripOptions): void {
  const part = parts[0]!;
  const place = input.startPlace;
  const first = part.locations[0]!;
  const metres = distance(place, first);
  if (metres === 0 || place.enterTs === null || place.enterTs >= input.chainTs) return;
  const speed = typicalSpeed(part.locations) ?? typicalSpeed(parts.flatMap((each) => each.locations));
  if (speed === null) return;
  const stay = first.ts - place.enterTs;
  const earliest = place.enterTs + Math.min(stay / 2, options.leastStay);
  const ts = Math.max(first.ts - metres / speed, earliest);
  if (ts >= first.ts) return; // too near to tell apart
  const start: Location = { ...first, ts, latitude: place.latitude, longitude: place.longitude };
  const speeds = speedsAlong(part.locations);
  const usual = quantile(speeds, 0.75) + options.spread * (quantile(speeds, 0.75) - quantile(speeds, 0.25));
  if (speeds.length > 2 && speedBetween(start, first) > usual) part.type = motionTypes.UNKNOWN;
  part.locations.unshift(start);
}

/** m/s; the median, without standing where the user stood more than half of the time. null: no movement. */
function typicalSpeed(locations: readonly Location[]): number | null {
  const speeds = speedsAlong(locations);
  return median(speeds) || median(speeds.filter((speed) => speed > 0)) || null;
}

/** Ends the section at the place where the user stays afterwards. */
function joinEnd(part: Part, { endPlace }: CleanTripInput): void {
  if (endPlace.ts > part.locations.at(-1)!.ts) part.locations.push(endPlace);
}

/** Continues a section over a stop that is too long to be one: the vehicle's, else the one with more locations to the metre. */
function closeStops(parts: Part[], options: CleanTripOptions): void {
  for (let i = 1; i < parts.length; i += 1) {
    const before = parts[i - 1]!;
    const after = parts[i]!;
    const from = before.locations.at(-1)!;
    const to = after.locations[0]!;
    if (to.ts <= from.ts || distance(from, to) <= options.longestStop) continue;
    const forward =
      isMotorised(before.type) === isMotorised(after.type)
        ? density(before) <= density(after)
        : isMotorised(before.type);
    if (forward) before.locations.push(to);
    else after.locations.unshift(from);
  }
}

function density({ locations }: Part): number {
  const metres = distance(locations[0]!, locations.at(-1)!);
  return metres > 0 ? locations.length / metres : Number.POSITIVE_INFINITY;
}

function assemble(input: CleanTripInput, parts: readonly Part[]): CleanTrip {
  const sections = parts.map((part, i) => makeSection(input, part, i));
  const stops = sections.slice(1).map((section, i) => makeStop(input, sections[i]!, section, i));
  const first = sections[0]!;
  const last = sections.at(-1)!;
  const metres = [...sections, ...stops].reduce((sum, part) => sum + part.distance, 0);
  return {
    start_ts: first.start_ts,
    end_ts: last.end_ts,
    start_loc: first.coordinates[0]!,
    end_loc: last.coordinates.at(-1)!,
    distance: metres,
    sections,
    stops,
  };
}

function makeSection(input: CleanTripInput, part: Part, index: number): Section {
  const line: Line = resample(part.locations);
  const start_ts = part.locations[0]!.ts;
  const end_ts = part.locations.at(-1)!.ts;
  const duration = end_ts - start_ts;
  const metres = line.distances.reduce((sum, d) => sum + d, 0);
  return {
    id: idOf(input.userId, 'section', input.chainTs, index),
    start_ts,
    end_ts,
    sensed_mode: sensedMode(part.type, { distance: metres, duration, speeds: line.speeds }),
    duration,
    distance: metres,
    ...line,
    source,
  };
}

function makeStop(input: CleanTripInput, before: Section, after: Section, index: number): Stop {
  const enter_loc = before.coordinates.at(-1)!;
  const exit_loc = after.coordinates[0]!;
  const metres = distance(
    { longitude: enter_loc[0], latitude: enter_loc[1] },
    { longitude: exit_loc[0], latitude: exit_loc[1] },
  );
  return {
    id: idOf(input.userId, 'stop', input.chainTs, index),
    enter_ts: before.end_ts,
    exit_ts: after.start_ts,
    enter_loc,
    exit_loc,
    distance: metres,
    duration: after.start_ts - before.end_ts,
    ending_section: before.id,
    starting_section: after.id,
    source,
  };
}
