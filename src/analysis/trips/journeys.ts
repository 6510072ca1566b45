// Makes journeys from candidates of a group. A wait joins two, a stay separates them, a phantom is a receiver's error.
//
//   candidates   |--walk--|     |---bus---|         |--walk--|      |.|
//   stops                  5 min           25 min              10 min
//   journeys     |========================|         |========|       phantom: nothing moved
//                 wait: walk to a vehicle   stay: no vehicle follows
//
// A logistic regression on the features of a stop, fitted by `tools/train/joint.mjs`, decides whether the stop is a
// wait. A stop is never a wait if the phone restarts during the stop, if the stop takes more than 40 minutes, or if no
// vehicle follows. A candidate is first cut at rests of 10 minutes; waits join the parts again.
import { distance, type LatLon } from '../../model/geo/distance.ts';
import { withFields } from '../../model/with-fields.ts';
import type { Candidate } from '../clean/candidates.ts';
import { isRestart } from '../clean/observations.ts';
import { apart } from '../clean/track.ts';
import type { DecodedGroup } from '../decode-group.ts';
import { type LegEvidence, modes } from '../modes/leg-evidence.ts';
import { cellStates, isMoving, readingState } from '../motion-states.ts';
import { firstAtOrAfter, someWithin, within } from '../sorted-times.ts';
import { movingBetween, movingSpans, secondsIn } from '../states/segments.ts';

/** By hand on the developers' own recorded days, except where marked physical. */
export const journeyLimits = {
  longestWait: 2400, // s; the longest headway of a bus that people wait for (physical)
  leastAfter: 800, // m; an unfinished trip that leads this far may continue the journey before it
  errand: 600, // s; a candidate is cut at rests this long
  restExtent: 300, // m; if the ends of a rest are farther apart, the user moved in it (physical)
  phantom: 150, // m; a smaller candidate without movement may be an error of the receiver
  phantomConfidence: 50, // 0 to 100; a more confident reading of movement shows that a candidate is no phantom
  noticedLate: 180, // s; motion readings up to this long before a candidate count: phones notice a short walk late
  phantomSpeed: 0.2, // m/s; a slower candidate is a phantom even if motion readings show movement (physical)
  standing: 60, // m; a smaller candidate is always a phantom: receivers indoors have such errors (physical)
  lateNotice: 2500, // m; a longer distance from the stay is no movement: phones notice departures within this distance
};

/** Why a stop is a wait, or why it is not. The names are stored with trips: do not change them. */
export type StopReason =
  | 'change of vehicle'
  | 'walk to a vehicle'
  | 'ride to a vehicle'
  | 'no vehicle next'
  | 'restart'
  | 'too long'
  | 'turned back'
  | 'parked'
  | 'stay';

/** Features of a stop, in the order of the weights in `models`. The names are stored there: do not rename. */
export const stopFeatures = [
  'one',
  'ln stop',
  'turned back',
  'public next',
  'public before',
  'on foot before',
  'bicycle before',
  'parked',
  'ln walk',
  'ln way before',
  'ln way next',
] as const;

/** One or more candidates, or a part of a candidate, by indexes into `locations`. */
export interface GroupPart {
  startIndex: number;
  endIndex: number;
  last: Candidate;
}

export interface Journey extends GroupPart {
  waits: { start_ts: number; end_ts: number; reason: StopReason }[];
  /** Why the stop after the journey is not a wait; null: no movement follows in the group. */
  after: StopReason | null;
  phantom: boolean;
}

interface Piece extends GroupPart {
  /** The movement may begin before the piece's locations and end after them. null: the user did not move. */
  moved: { start: number; end: number } | null;
}

type Travel = Piece & { moved: NonNullable<Piece['moved']> };

interface Open {
  journey: Journey; // the last journey with movement
  since: number; // start of its movement
  before: Travel; // its last piece
}

/**
 * Joins the pieces of a group (candidates or parts of them) into journeys, in order of time. Compares each moving piece
 * with the previous moving piece, so a phantom inside a wait belongs to the wait. `from`: the place before the group;
 * null: the path from the place was not recorded.
 */
export function findJourneys(decoded: DecodedGroup, from: LatLon | null): Journey[] {
  const journeys: Journey[] = [];
  let open: Open | null = null;
  let start = from; // position before the piece
  for (const piece of splitGroup(decoded)) {
    const phantom = isPhantom(decoded, piece, start);
    start = decoded.track.positionAt(decoded.locations[piece.endIndex]!.ts);
    if (open && isTravel(piece)) {
      const { journey, since, before }: Open = open;
      const { isWait, reason } = judgeStop(decoded, since, before, piece);
      if (isWait) {
        journey.waits.push({ start_ts: before.moved.end, end_ts: piece.moved.start, reason });
        journey.endIndex = piece.endIndex;
        journey.last = piece.last;
        journeys.length = journeys.indexOf(journey) + 1;
        open = { journey, since, before: piece };
        continue;
      }
      journey.after = reason;
    }
    const { startIndex, endIndex } = piece;
    const journey: Journey = { startIndex, endIndex, last: piece.last, waits: [], after: null, phantom };
    journeys.push(journey);
    if (isTravel(piece)) open = { journey, since: piece.moved.start, before: piece };
  }
  return journeys;
}

const isTravel = (piece: Piece): piece is Travel => piece.moved !== null;

/** Cuts all candidates into pieces whose movements do not overlap. */
function splitGroup(decoded: DecodedGroup): Piece[] {
  const { group, locations, segments } = decoded;
  const moving = movingSpans(segments);
  const parts = group.candidates.flatMap((candidate) => splitCandidate(decoded, candidate));
  const pieces: Piece[] = [];
  for (const [i, part] of parts.entries()) {
    const before = pieces.at(-1)?.moved?.end ?? Number.NEGATIVE_INFINITY;
    const next = parts[i + 1];
    const after = next ? locations[next.startIndex]!.ts : Number.POSITIVE_INFINITY;
    const [from, to] = [Math.max(locations[part.startIndex]!.ts, before), locations[part.endIndex]!.ts];
    const own = moving.filter((segment) => segment.end > from && segment.start < to);
    const moved =
      own.length > 0 ? { start: Math.max(own[0]!.start, before), end: Math.min(own.at(-1)!.end, after) } : null;
    pieces.push(withFields(part, { moved }));
  }
  return pieces;
}

/** Cuts a candidate at long rests, which may be errands. `findJourneys` joins the parts if the rest was a wait. */
function splitCandidate({ locations, segments, track }: DecodedGroup, candidate: Candidate): GroupPart[] {
  const parts: GroupPart[] = [];
  const { endIndex } = candidate;
  let { startIndex } = candidate;
  const moving = movingBetween(segments, locations[startIndex]!.ts, locations[endIndex]!.ts);
  for (let i = 1; i < moving.length; i += 1) {
    const [rest, end] = [moving[i - 1]!.end, moving[i]!.start];
    if (end - rest < journeyLimits.errand) continue;
    if (apart(track.positionAt(rest), track.positionAt(end)) > journeyLimits.restExtent) continue;
    const middle = firstAtOrAfter(locations, (rest + end) / 2);
    const last = Math.min(middle - 1, firstAtOrAfter(locations, rest));
    if (last <= startIndex || middle >= endIndex) continue;
    parts.push({ startIndex, endIndex: last, last: candidate });
    startIndex = Math.max(last + 1, Math.min(middle, firstAtOrAfter(locations, end) - 1));
  }
  return [...parts, { startIndex, endIndex, last: candidate }];
}

function judgeStop(decoded: DecodedGroup, since: number, before: Travel, next: Travel) {
  const { never, features } = describeStop(decoded, since, before, next);
  if (never) return { isWait: false, reason: never };
  const score = features.reduce((sum, figure, i) => sum + figure * decoded.crf.waits[i]!, 0);
  const by = (name: (typeof stopFeatures)[number]): number => features[stopFeatures.indexOf(name)]!;
  if (score <= 0) {
    // These thresholds only choose the reason that the explanation of a day shows.
    const reason: StopReason = by('turned back') > 0.2 ? 'turned back' : by('parked') > 0.5 ? 'parked' : 'stay';
    return { isWait: false, reason };
  }
  if (by('on foot before')) return { isWait: true, reason: 'walk to a vehicle' as const };
  const reason: StopReason = by('bicycle before') > 0.5 ? 'ride to a vehicle' : 'change of vehicle';
  return { isWait: true, reason };
}

/**
 * The features of a stop. Constants bound the features (by hand), and the weights were fitted with these bounds.
 * `never`: why the stop cannot be a wait; null: the stop can be a wait.
 */
function describeStop(decoded: DecodedGroup, since: number, before: Travel, next: Travel) {
  const { track, segments, events, locations, legs, probabilities } = decoded;
  const [a, b] = [before.moved, next.moved];
  const [start_ts, end_ts] = [a.end, Math.max(a.end, b.start)];
  const at = (ts: number) => track.positionAt(ts);
  const direct = (start: number): number => {
    const length = apart(at(start), at(a.end)) + apart(at(b.start), at(b.end));
    return length > 0 ? apart(at(start), at(b.end)) / length : 0;
  };
  const middle = (start_ts + end_ts) / 2;
  const isRide = ({ state }: LegEvidence): boolean => state !== cellStates.walk;
  const came = legs.findLastIndex((leg) => isRide(leg) && leg.start < middle && leg.end > since);
  const goes = legs.findIndex((leg) => isRide(leg) && leg.end > middle && leg.start < b.end);
  const share = (i: number, ...wanted: number[]): number =>
    i < 0 ? 0 : wanted.reduce((sum, mode) => sum + probabilities.single[i]![mode]!, 0);
  const never = ((): StopReason | null => {
    if (someWithin(events, locations[before.endIndex]!.ts, locations[next.startIndex]!.ts, isRestart)) return 'restart';
    if (end_ts - start_ts > journeyLimits.longestWait) return 'too long';
    return share(goes, 2, 3, 4) < 0.5 ? 'no vehicle next' : null; // people do not wait before they walk or cycle
  })();
  const isNext = goes >= 0 && legs[goes]!.before === came;
  const parked = isNext ? legs[goes]!.parked * probabilities.pairs[goes]![twoCars]! : 0;
  const from = came < 0 ? since : legs[came]!.end;
  const to = goes < 0 ? b.end : legs[goes]!.start;
  const walked = secondsIn(movingBetween(segments, from, to), cellStates.walk);
  const length = (start: number, end: number): number =>
    Math.log(Math.min(20, Math.max(0.1, (at(end).length - at(start).length) / 800)));
  const features = [
    1,
    Math.log(Math.max(60, end_ts - start_ts) / 600),
    Math.max(0, 0.85 - Math.max(direct(a.start), direct(since))),
    share(goes, 3, 4),
    share(came, 3, 4),
    came < 0 ? 1 : 0,
    share(came, 1),
    parked,
    Math.log(1 + Math.min(walked, 900) / 60),
    length(since, a.end),
    length(a.end, b.end), // from the end of the earlier movement, as the phone may notice the next departure late
  ];
  return { start_ts, end_ts, never, features };
}

const twoCars = 2 * modes.length + 2; // index in `probabilities.pairs` for two legs by car

export function describeStops(decoded: DecodedGroup) {
  const travels = splitGroup(decoded).filter(isTravel);
  return travels.slice(1).map((next, i) => describeStop(decoded, travels[i]!.moved.start, travels[i]!, next));
}

/**
 * True if the phone was at rest. Less than `standing` m of movement is always rest. Less than `phantom` m is rest if
 * all cells are still, and if there are no readings of movement or the average speed is below `phantomSpeed`.
 */
function isPhantom({ locations, motions, track }: DecodedGroup, piece: Piece, start: LatLon | null): boolean {
  const [from, to] = [locations[piece.startIndex]!.ts, locations[piece.endIndex]!.ts];
  const away = start ? distance(start, track.positionAt(from)) : 0;
  const metres = Math.max(away <= journeyLimits.lateNotice ? away : 0, track.extent(from, to));
  if (metres < journeyLimits.standing) return true;
  if (piece.moved || metres >= journeyLimits.phantom) return false;
  const moved = within(motions, from - journeyLimits.noticedLate, to).some(
    ({ type, confidence }) => isMoving(readingState(type)) && confidence >= journeyLimits.phantomConfidence,
  );
  return !moved || metres < (to - from) * journeyLimits.phantomSpeed;
}
