// Step "journeys": an outing's candidates and states -> journeys. A wait within a journey joins, an errand parts, a
// phantom goes.

import { distance } from '../../geo/distance.ts';
import { withFields } from '../../model/with-fields.ts';
import { firstAtOrAfter, someWithin, within } from '../in-time.ts';
import { isRestart, type Location, type Motion, type PhoneEvent } from '../observations.ts';
import type { RawTrip } from './candidates.ts';
import { readingKind } from './features.ts';
import { cellStates } from './model.ts';
import { movements, movingBetween, type Run, secondsIn } from './runs.ts';
import { positionAt, type Track } from './track.ts';

/** The transfer rule's limits. Set by hand on the developers' days, but what is marked physical. */
export interface JourneyOptions {
  /** s; nobody waits longer for a bus: the longest headway one bears (physical) */
  longestWait: number;
  /** Way from start to end over the ways of both parts; below it the user turned back: an errand. */
  directness: number;
  /** s of walking, at most, between the wait and the vehicle that goes on */
  walkToVehicle: number;
  /** m; shorter travel before and after a wait does not count as travel */
  leastBefore: number;
  leastAfter: number;
  /** s of walking beside a wait that show the vehicle to be another one (or none: a rest on a drive) */
  changeOnFoot: number;
  /** s; a shorter stop of a vehicle needs no walk */
  shortStop: number;
  /** m and directness; a car waits where it was parked (physical) and goes back */
  parked: number;
  parkedDirectness: number;
  /**
   * s; who boards stood before: of a car that nobody waited for a long stop where it was parked is an errand (physical)
   */
  boarding: number;
  /** s; rides nearer together are one */
  sameRide: number;
  /** s of walking before a wait that begins a journey on foot */
  walkBefore: number;
  /** s; a candidate is cut at rest as long as this, with so much movement on both sides */
  errand: number;
  errandMovement: number;
  /** m; who rests stays: farther apart the ends of a rest were not one (physical) */
  restExtent: number;
  /** m; a candidate without movement that stays within this is a phantom, a receiver's error */
  phantom: number;
  /** Confidence from which a motion reading speaks against a phantom, if it got on faster than this, m/s (physical) */
  phantomConfidence: number;
  phantomSpeed: number;
  /** m; what stays within this is a phantom whatever moved: no receiver indoors is surer (physical) */
  standing: number;
  /** m; so far from where the user was a phone may notice late that they left; farther, the way was another one */
  lateNotice: number;
}

/** The values in use, set by hand on the training days. */
export const journeyDefaults: JourneyOptions = {
  longestWait: 2400,
  directness: 0.65,
  walkToVehicle: 420,
  leastBefore: 400,
  leastAfter: 800,
  changeOnFoot: 60,
  shortStop: 900,
  parked: 60,
  parkedDirectness: 0.85,
  boarding: 60,
  sameRide: 180,
  walkBefore: 240,
  errand: 600,
  errandMovement: 120,
  restExtent: 300,
  phantom: 150,
  phantomConfidence: 50,
  phantomSpeed: 0.2,
  standing: 60,
  lateNotice: 2500,
};

/** Why two neighbouring trips are one journey or two; kept with the trip. */
export type JoinReason =
  | 'change of vehicle'
  | 'walk to a vehicle'
  | 'ride to a vehicle'
  | 'restart'
  | 'too long'
  | 'turned back'
  | 'no vehicle next'
  | 'too short'
  | 'parked'
  | 'no walk';

const joining: ReadonlySet<JoinReason> = new Set(['change of vehicle', 'walk to a vehicle', 'ride to a vehicle']);

/** Candidates, or parts of one, that are one journey; indexes of `locations`. */
export interface Journey {
  startIndex: number;
  endIndex: number;
  /** The last candidate of it. */
  last: RawTrip;
  /** Stops that were found to be waits, and what the stop after the journey was found to be. */
  waits: { start_ts: number; end_ts: number; reason: JoinReason }[];
  after: JoinReason | null;
  phantom: boolean;
}

/** A candidate, or what an errand left of it. */
interface Piece {
  startIndex: number;
  endIndex: number;
  last: RawTrip;
  /** First and last movement, those that continue it into the stops beside it included; null: it does not move. */
  moved: { start: number; end: number } | null;
}

/** A piece that moves. */
interface Travel extends Piece {
  moved: { start: number; end: number };
}

/** The last journey that travels: all that was joined to it, and the last piece. */
interface Open {
  journey: Journey;
  all: Travel;
  before: Travel;
}

/** Candidates for trips and the observations by which they are joined to journeys. */
export interface JourneyInput {
  candidates: readonly RawTrip[];
  locations: readonly Location[];
  motions: readonly Motion[];
  events: readonly PhoneEvent[];
  track: Track;
  runs: readonly Run[];
  /** Where the user was before, if the way from there was seen. */
  from: { latitude: number; longitude: number } | null;
}

/** Journeys in order of time. Travel is judged against the travel before it: what lies inside a wait belongs to it. */
export function journeysOf(input: JourneyInput, options = journeyDefaults): Journey[] {
  const journeys: Journey[] = [];
  let open: Open | null = null;
  let last: Piece | null = null;
  for (const piece of piecesOf(input, options)) {
    const phantom = isPhantom(input, piece, last, options);
    last = piece;
    if (open && isTravel(piece)) {
      const { journey, all, before }: Open = open;
      const reason = judge(input, all, before, piece, options);
      if (joining.has(reason)) {
        journey.waits.push({ start_ts: before.moved.end, end_ts: piece.moved.start, reason });
        journey.endIndex = piece.endIndex;
        journey.last = piece.last;
        journeys.length = journeys.indexOf(journey) + 1;
        const moved = { start: all.moved.start, end: piece.moved.end };
        open = { journey, all: { ...piece, startIndex: all.startIndex, moved }, before: piece };
        continue;
      }
      journey.after = reason;
    }
    const { startIndex, endIndex } = piece;
    const journey: Journey = { startIndex, endIndex, last: piece.last, waits: [], after: null, phantom };
    journeys.push(journey);
    if (isTravel(piece)) open = { journey, all: piece, before: piece };
  }
  return journeys;
}

const isTravel = (piece: Piece): piece is Travel => piece.moved !== null;

/** Candidates, cut where the user rested so long within one that it may have been an errand. */
function piecesOf({ candidates, locations, runs, track }: JourneyInput, options: JourneyOptions): Piece[] {
  const pieces: Omit<Piece, 'moved'>[] = [];
  for (const candidate of candidates) {
    let { startIndex } = candidate;
    const [from, to] = [locations[startIndex]!.ts, locations[candidate.endIndex]!.ts];
    const moving = movingBetween(runs, from, to);
    for (let i = 1; i < moving.length; i += 1) {
      const [rest, end] = [moving[i - 1]!.end, moving[i]!.start];
      if (end - rest < options.errand) continue;
      if (apart(positionAt(track, rest), positionAt(track, end)) > options.restExtent) continue;
      const cut = firstAtOrAfter(locations, (rest + end) / 2);
      const last = cut - 1;
      const [left, right] = [locations[startIndex]!.ts, (rest + end) / 2];
      const enough = (a: number, b: number): boolean => secondsMoving(moving, a, b) >= options.errandMovement;
      if (last <= startIndex || cut >= candidate.endIndex || !enough(left, right) || !enough(right, to)) continue;
      // The part ends with the last location of its movement, not with one of the rest.
      const endIndex = Math.max(startIndex, Math.min(last, firstAtOrAfter(locations, rest)));
      pieces.push({ startIndex, endIndex, last: candidate });
      startIndex = Math.max(endIndex + 1, Math.min(cut, firstAtOrAfter(locations, end) - 1));
    }
    pieces.push({ startIndex, endIndex: candidate.endIndex, last: candidate });
  }
  const whole: Piece[] = [];
  for (const [i, piece] of pieces.entries()) {
    const before = whole.at(-1)?.moved?.end ?? Number.NEGATIVE_INFINITY;
    const next = pieces[i + 1];
    const after = next ? locations[next.startIndex]!.ts : Number.POSITIVE_INFINITY;
    const [from, to] = [locations[piece.startIndex]!.ts, locations[piece.endIndex]!.ts];
    whole.push(withFields(piece, { moved: movementOf(runs, from, to, { before, after }) }));
  }
  return whole;
}

const secondsMoving = (moving: readonly Run[], from: number, to: number): number =>
  moving.reduce((sum, run) => sum + Math.max(0, Math.min(run.end, to) - Math.max(run.start, from)), 0);

/** The movement between two times, and what continues it outwards, up to those of the pieces beside it. */
function movementOf(
  runs: readonly Run[],
  from: number,
  to: number,
  { before, after }: { before: number; after: number },
): Piece['moved'] {
  const own = movements(runs).filter((run) => run.end > Math.max(from, before) && run.start < to);
  if (own.length === 0) return null;
  return { start: Math.max(own[0]!.start, before), end: Math.min(own.at(-1)!.end, after) };
}

const apart = (a: { x: number; y: number }, b: { x: number; y: number }): number =>
  Math.sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2);

/**
 * Whether the user who stops between `before` and `next` is still under way, and why; `all`: what was joined to
 * `before`.
 */
function judge(
  { track, runs, events, locations }: JourneyInput,
  all: Travel,
  before: Travel,
  next: Travel,
  options: JourneyOptions,
): JoinReason {
  const [a, b] = [before.moved, next.moved];
  const [left, reached] = [locations[before.endIndex]!.ts, locations[next.startIndex]!.ts];
  if (someWithin(events, left, reached, isRestart)) return 'restart';
  const stop = Math.max(0, b.start - a.end);
  if (stop > options.longestWait) return 'too long';
  const at = (ts: number) => positionAt(track, ts);
  const direct = (start: number): number => {
    const way = apart(at(start), at(a.end)) + apart(at(b.start), at(b.end));
    return way > 0 ? apart(at(start), at(b.end)) / way : 0;
  };
  const directness = Math.max(direct(a.start), direct(all.moved.start));
  if (directness < options.directness) return 'turned back';
  const going = movingBetween(runs, b.start, b.end);
  const first = going.findIndex((run) => run.state !== cellStates.walk);
  const walkOn = secondsIn(first < 0 ? going : going.slice(0, first), cellStates.walk);
  if (going[first]?.state !== cellStates.motor || walkOn > options.walkToVehicle) return 'no vehicle next';
  // From the end of the stop's rest on: the phone may have noticed late that the user went on.
  if (at(b.end).length - at(a.end).length < options.leastAfter) return 'too short';
  const came = movingBetween(runs, all.moved.start, a.end);
  const last = came.findLastIndex((run) => run.state !== cellStates.walk);
  const walkOff = secondsIn(came.slice(last + 1), cellStates.walk);
  if (last >= 0 && came[last]!.state === cellStates.cycle) return 'ride to a vehicle';
  if (at(a.end).length - at(all.moved.start).length < options.leastBefore) return 'too short';
  if (last < 0) return walkOff >= options.walkBefore ? 'walk to a vehicle' : 'no walk';
  const [alighted, boarded] = [came[last]!.end, going[first]!.start];
  const walked = walkOff + walkOn >= options.changeOnFoot;
  const long = stop > options.shortStop;
  // Who never left the vehicle, or changed at one platform, ran no errand.
  const back = apart(at(alighted), at(boarded)) <= options.parked && directness < options.parkedDirectness;
  if (back && (walked || long)) return 'parked';
  const away = long && stoodBefore(came, last, options) < options.boarding;
  if (away && closest(track, alighted, boarded) <= options.parked) return 'parked';
  return walked || !long ? 'change of vehicle' : 'no walk';
}

/** m between where the user was around two times; a state changes half a minute too early or late. */
function closest(track: Track, a: number, b: number): number {
  const around = [-30, -15, 0, 15, 30];
  const [left, right] = [around.map((s) => positionAt(track, a + s)), around.map((s) => positionAt(track, b + s))];
  return Math.min(...left.flatMap((one) => right.map((other) => apart(one, other))));
}

/** s that the user stood before the ride that ends with run `last`, since the ride before it or the start. */
function stoodBefore(came: readonly Run[], last: number, options: JourneyOptions): number {
  let ride = last;
  while (came[ride - 1]?.state === cellStates.motor && came[ride]!.start - came[ride - 1]!.end < options.sameRide)
    ride -= 1;
  const previous = came.slice(0, ride).findLastIndex((run) => run.state !== cellStates.walk);
  const since = previous < 0 ? came[0]!.start : came[previous]!.end;
  return came[ride]!.start - since - secondsIn(came.slice(previous + 1, ride), cellStates.walk);
}

/**
 * True for a candidate of a phone at rest: nothing moved, nothing lies far off, and the phone did not say that it
 * moves.
 */
function isPhantom(input: JourneyInput, piece: Piece, before: Piece | null, options: JourneyOptions): boolean {
  const { locations, motions, track } = input;
  const [from, to] = [locations[piece.startIndex]!.ts, locations[piece.endIndex]!.ts];
  const start = before ? positionAt(track, locations[before.endIndex]!.ts) : input.from;
  const away = start ? distance(start, positionAt(track, from)) : 0;
  const metres = Math.max(away <= options.lateNotice ? away : 0, extent(track, from, to));
  if (metres < options.standing) return true;
  if (piece.moved || metres >= options.phantom) return false;
  const telling = within(motions, from, to).some(
    ({ type, confidence }) => [1, 2, 3].includes(readingKind(type)) && confidence >= options.phantomConfidence,
  );
  return !telling || metres < (to - from) * options.phantomSpeed;
}

/** m; the longer side of the box around the smoothed locations between two times */
function extent(track: Track, from: number, to: number): number {
  let [west, east, south, north] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < track.ts.length; i += 1) {
    if (track.ts[i]! < from || track.ts[i]! > to) continue;
    west = Math.min(west, track.x[i]!);
    east = Math.max(east, track.x[i]!);
    south = Math.min(south, track.y[i]!);
    north = Math.max(north, track.y[i]!);
  }
  return Math.max(0, east - west, north - south);
}
