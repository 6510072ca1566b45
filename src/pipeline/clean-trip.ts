// Stage "clean trip": a raw trip's sections -> a trip that joins the places before and after, with lines, lengths and modes.
import { distance } from '../geo/distance.ts';
import { median, quantile, speedBetween, speedsAlong } from '../geo/speed.ts';
import { idOf } from '../model/ids.ts';
import { motionTypes } from '../model/payloads.ts';
import type { Position, Section, Stop } from '../model/trip.ts';
import type { Location } from './clean-locations.ts';
import { sensedMode } from './infer-mode.ts';
import { isMotorised } from './motion-runs.ts';
import { type Line, resample } from './resample.ts';
import type { RawSection } from './segment-sections.ts';
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
  /** m; a jump this near to the place says nothing about the place */
  bogusDistance: number;
  /** s; at most this much, and at most half of the stay, is taken from the stay before */
  mostFromPlace: number;
  /** m; a stop longer than this is no stop: one of its sections is continued over it */
  longestStop: number;
  /** A joined leg faster than Q3 + this * IQR of the section's speeds makes its mode unknown. */
  spread: number;
}

export const cleanTripDefaults: CleanTripOptions = {
  bogusDistance: 100,
  mostFromPlace: 180,
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
  const parts: Part[] = [];
  for (const section of input.sections) {
    const locations = smooth(section.locations);
    // A section that lost all its locations still says how the user travelled: it becomes a point at its start.
    parts.push({ type: section.type, locations: locations.length > 0 ? locations : section.locations.slice(0, 1) });
  }
  const first = parts[0];
  if (!first) return null;
  joinStart(first, input, options);
  joinEnd(parts.at(-1)!, input, options);
  closeStops(parts, options);
  return assemble(input, parts);
}

/** Puts the place that the user left in front of the section, as early as the section's own speed tells. */
function joinStart(part: Part, input: CleanTripInput, options: CleanTripOptions): void {
  const place = input.startPlace;
  const first = part.locations[0]!;
  const rawFirst = input.sections[0]!.locations[0]!;
  const lost = first !== rawFirst && distance(rawFirst, place) < options.bogusDistance;
  const metres = distance(place, first);
  if (metres === 0 || lost) return;
  const speeds = speedsAlong(part.locations);
  const speed = median(speeds) || median(speeds.filter((s) => s > 0));
  if (!(speed > 0) || place.enterTs === null) return;
  const stay = first.ts - place.enterTs;
  const earliest = Math.min(place.enterTs + stay / 2, place.enterTs + options.mostFromPlace);
  const ts = Math.min(first.ts, Math.max(first.ts - metres / speed, earliest));
  if (ts >= first.ts) return;
  const start: Location = { ...first, ts, latitude: place.latitude, longitude: place.longitude };
  const usual = quantile(speeds, 0.75) + options.spread * (quantile(speeds, 0.75) - quantile(speeds, 0.25));
  if (speeds.length > 2 && speedBetween(start, first) > usual) part.type = motionTypes.UNKNOWN;
  part.locations.unshift(start);
}

/** Ends the section at the place where the user stays afterwards. */
function joinEnd(part: Part, input: CleanTripInput, options: CleanTripOptions): void {
  const end = input.endPlace;
  const last = part.locations.at(-1)!;
  const lost = last !== end && last.ts < end.ts && distance(last, end) < options.bogusDistance;
  if (end.ts <= last.ts || (lost && distance(last, end) === 0)) return;
  part.locations.push(end);
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
