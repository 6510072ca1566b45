// Matches a ride with a network of transit lines: evidence for a bus and for a train, and the probability of each line.
//
//   line 7:   S1 ----- S2 ----- S3 ----- S4        stops of a pattern in order, 11 min from S2 to S4
//                     A  . . . . . . . B           the ride: begins 40 m from S2, ends 60 m from S4, 12 min
//   score:    start .70 + end .58 + time 1 + path 1.06 (95 % of 3 km on the line) + stops .40 (S3 passed) = 3.74
//   result:   bus 3.64 = 3.74 - ln(1 + .1 for each route with a stop near the start, here one); lines: 7 (.98)
//
// Each pattern with a stop near both ends gets a score: a sum of logarithms of likelihood ratios. Each ratio compares
// rides that used the pattern with other rides. The constants were set on recorded rides: see docs/transit.md.
import { distance, type LatLon } from '../model/geo/distance.ts';
import { Plane } from '../model/geo/plane.ts';
import { logSum } from '../model/log-sum.ts';
import { withFields } from '../model/with-fields.ts';
import { dayType, railKinds, type TransitKind, type TransitRoute } from './feed-index.ts';
import { Polyline } from './line.ts';
import {
  feedAge,
  feedsOfDay,
  type NearStop,
  type NetworkPattern,
  type PatternFilter,
  type TransitNetwork,
} from './network.ts';

export interface TransitRide {
  /** Where the ride began and ended. `gap`: s from that time to the nearest location. */
  start: LatLon & { gap: number };
  end: LatLon & { gap: number };
  seconds: number;
  track: readonly (LatLon & { ts: number })[]; // locations in order, with both ends
  halts: readonly LatLon[] | null; // where the vehicle halted for 10 s; null: locations are too rare to show it
}

/** Local time of the ride in the zone of a feed. `day`: `2024-03-08`; `weekday`: Monday is 0. */
export type LocalTime = (zone: string) => { day: string; hour: number; weekday: number };

export interface LineFound {
  kind: TransitKind;
  feed: string;
  agency: string;
  route_id: string;
  short_name: string;
  long_name: string;
  from_stop: string;
  to_stop: string;
  /** 0 to 1. The probabilities of all lines sum to less than 1: the rest is for a ride with none of the lines. */
  probability: number;
  feed_age_days: number; // days between the ride and the validity of the feed; 0 if it was valid
}

/** Evidence of feeds for a ride: logarithms of likelihood ratios. 0: no evidence; -1: stops are near, no line fits. */
export interface TransitEvidence {
  bus: number;
  train: number;
  lines: readonly LineFound[]; // lines within reach, the most probable first
}

export const noEvidence: TransitEvidence = { bus: 0, train: 0, lines: [] };

type Points = TransitRide['track'];

/** A ride whose track has been thinned. `length`: m along the track. */
type Ride = TransitRide & { length: number; localTime: LocalTime };

const leastRide = 150; // m; a shorter ride is not matched
const mostEvidence = 6; // upper limit of the evidence of `matchRide`, because no match is certain (by hand)
const endSpread = 90; // m; standard deviation of the distance from an end of a ride to its stop (seen: 10 to 110 m)
const gapSpread = 3; // m; a further standard deviation per second without a location beyond the first 10
const mostGapSpread = 300; // m; the most that a time without a location, such as below ground, adds
const lengthSpread = 0.25; // standard deviation of ln(length of the line between two stops / length of the ride)
const worstPair = 14; // A pair of stops is not used if its cost in `bestPair` is larger
const seenGap = 90; // s; locations closer together than this show the path between them
/** Scores of a pattern (by hand): an end at its stop adds `end`, the others are subtracted. */
const scores = { end: 0.8, mostOfDistance: 2.5, mostOfLength: 4, noTrip: 6 }; // `noTrip`: in an hour without trips
const scoreCutoff = 8; // a pattern is left out if its score cannot come this near to the best score

/** Matches a ride with the network. Returns the evidence for bus and train, and the lines, most probable first. */
export function matchRide(given: TransitRide, network: TransitNetwork, localTime: LocalTime): TransitEvidence {
  const track = thinned(given.track);
  const ride: Ride = withFields(given, { track, length: pathLength(track), localTime });
  if (network.patterns.length === 0 || Math.max(ride.length, distance(ride.start, ride.end)) < leastRide)
    return noEvidence;
  const plane = new Plane(ride.start);
  const nearStart = network.stopsNear(ride.start, plane);
  if (nearStart.size === 0) return noEvidence;
  const nearEnd = network.stopsNear(ride.end, plane);
  if (nearEnd.size === 0) return noEvidence;
  const agencies = feedsOfDay(network.feeds, (zone) => localTime(zone).day);
  const isUsed: PatternFilter = ({ feed, line }) => agencies.get(feed)?.has(line.agency) === true;
  const used = (near: NearStops): NearStops => new Map([...near].filter(([pattern]) => isUsed(pattern)));
  const [starts, ends] = [used(nearStart), used(nearEnd)];
  const scored = scorePatterns(ride, starts, ends);
  const evidenceFor = (family: Family): number => {
    const routes = countRoutes(family, starts);
    if (routes === 0 || countRoutes(family, ends) === 0) return 0;
    const best = bestOfRoutes(scored.filter(({ pattern }) => familyOf(pattern) === family));
    if (best.length === 0) return -1;
    return Math.min(mostEvidence, Math.max(-1, logSum(best.map(({ score }) => score)) - Math.log(1 + routes / 10)));
  };
  const train = evidenceFor('train');
  return {
    bus: evidenceFor('bus'),
    train: Math.max(train, railsAlone(ride, network, isUsed, train)),
    lines: findLines(ride, scored),
  };
}

const thinSeconds = 15; // s; nearer locations of a ride are left out: a bus travels at most 150 m in this time

function thinned(track: Points): Points {
  let last = Number.NEGATIVE_INFINITY;
  return track.filter(({ ts }, at) => {
    if (ts - last < thinSeconds && at < track.length - 1) return false;
    last = ts;
    return true;
  });
}

type Family = 'bus' | 'train' | 'ferry';
const familyOf = ({ line }: NetworkPattern): Family =>
  line.kind === 'bus' || line.kind === 'ferry' ? line.kind : 'train';

type Near = readonly NearStop[];
type NearStops = ReadonlyMap<NetworkPattern, Near>;

const countRoutes = (family: Family, near: NearStops): number =>
  new Set([...near.keys()].filter((pattern) => familyOf(pattern) === family).map(({ line }) => line)).size;

interface Unscored {
  pattern: NetworkPattern;
  from: number;
  to: number;
  score: number; // without the score of the path
}

type Scored = Unscored & { between: readonly StopBetween[] };

function scorePatterns(ride: Ride, nearStart: NearStops, nearEnd: NearStops): Scored[] {
  const candidates: Unscored[] = [];
  for (const [pattern, starts] of nearStart) {
    const pair = bestPair(ride, pattern, starts, nearEnd.get(pattern) ?? []);
    if (pair === null) continue;
    const { from, to, startOff, endOff, metres } = pair;
    const score =
      scores.end -
      Math.min(scores.mostOfDistance, startOff) +
      scores.end -
      Math.min(scores.mostOfDistance, endOff) -
      Math.min(scores.mostOfLength, (Math.log(metres / ride.length) / lengthSpread) ** 2 / 2) +
      timeScore(ride.seconds, pattern, from, to) +
      (isRunning(pattern, ride.localTime) ? 0 : -scores.noTrip);
    candidates.push({ pattern, from, to, score });
  }
  // Leave out patterns that cannot come near the best score, because the corridor score takes the most time.
  candidates.sort((a, b) => b.score - a.score);
  const best = { bus: Number.NEGATIVE_INFINITY, train: Number.NEGATIVE_INFINITY, ferry: Number.NEGATIVE_INFINITY };
  const scored: Scored[] = [];
  for (const one of candidates) {
    const family = familyOf(one.pattern);
    if (one.score + mostOfCorridor < best[family] - scoreCutoff) continue;
    const path = new Polyline(ride.track, one.pattern.path.plane);
    const found = withFields(one, { between: stopsBetween(one, ride.track, path) });
    found.score += corridorScore(found, ride.track, path);
    best[family] = Math.max(best[family], found.score);
    scored.push(found);
  }
  return scored;
}

interface Pair {
  from: number;
  to: number;
  startOff: number; // half of the squared distance from the start of the ride to its stop, divided by its variance
  endOff: number; // half of the squared distance from the end of the ride to its stop, divided by its variance
  metres: number; // m along the line between the two stops
}

function bestPair(ride: Ride, pattern: NetworkPattern, starts: Near, ends: Near): Pair | null {
  let best: Pair | null = null;
  let least = worstPair;
  const [atStart, atEnd] = [spread(ride.start.gap), spread(ride.end.gap)];
  for (const from of starts) {
    const startOff = (from.off / atStart) ** 2 / 2;
    if (startOff > least) continue;
    for (const to of ends) {
      if (to.at <= from.at) continue;
      const endOff = (to.off / atEnd) ** 2 / 2;
      if (startOff + endOff > least) continue;
      const { stops } = pattern.path;
      const direct = stops[to.at]!.along - stops[from.at]!.along;
      const metres = Math.max(1, direct + detours(pattern, from.at, to.at));
      const cost = startOff + endOff + (Math.log(metres / ride.length) / lengthSpread) ** 2 / 2;
      if (cost > least) continue;
      least = cost;
      best = { from: from.at, to: to.at, startOff, endOff, metres };
    }
  }
  return best;
}

/** Metres by which an unknown path is longer than the straight line: on average, roads are 1.2 times as long. */
function detours({ path: { unknown, line } }: NetworkPattern, from: number, to: number): number {
  const between = unknown.filter((edge) => edge >= from && edge < to);
  return between.reduce((sum, edge) => sum + 0.2 * (line.along[edge + 1]! - line.along[edge]!), 0);
}

const spread = (gap: number): number =>
  Math.hypot(endSpread, Math.min(mostGapSpread, gapSpread * Math.max(0, gap - 10)));

const logNormal = (x: number, mean: number, deviation: number): number =>
  -(((x - mean) / deviation) ** 2) / 2 - Math.log(deviation);
const clamp = (x: number, least: number, greatest: number): number => Math.min(greatest, Math.max(least, x));

/** Score of the duration compared with the timetable. A car on the same road takes 0.6 (e^-.5) of a bus's time. */
function timeScore(seconds: number, { pattern, line }: NetworkPattern, from: number, to: number): number {
  const planned = pattern.seconds.length === 0 ? 0 : pattern.seconds[to]! - pattern.seconds[from]!;
  if (planned <= 0 || seconds <= 0) return 0;
  const x = Math.log(seconds / planned);
  // Logarithm of a ratio (by hand): probability of `x` for a vehicle of the line, and for any other vehicle.
  if (!railKinds.includes(line.kind)) return clamp(logNormal(x, 0, 0.3) - logNormal(x, -0.5, 0.4), -3, 1);
  return clamp(logNormal(x, 0.05, 0.25) - logNormal(x, 0, 0.6), -1, 0.8);
}

function isRunning({ feed, pattern }: NetworkPattern, localTime: LocalTime): boolean {
  const { hour, weekday } = localTime(feed.zone);
  const bits = pattern.hours[dayType(weekday)];
  return [hour, (hour + 1) % 24, (hour + 23) % 24].some((one) => (bits & (1 << one)) !== 0);
}

/** Value at `x` of a curve through points: linear between them, constant before the first and after the last. */
function curveAt(points: readonly (readonly [number, number])[], x: number): number {
  if (x <= points[0]![0]) return points[0]![1];
  for (let at = 1; at < points.length; at += 1) {
    const [[x0, y0], [x1, y1]] = [points[at - 1]!, points[at]!];
    if (x <= x1) return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
  }
  return points.at(-1)![1];
}

// Curves from a share to a score, by hand on the developers' own recorded rides; docs/transit.md has the results.

/** Score by the share of the path on the line of the pattern: 0.85 to 1 on the right line, up to 0.6 on other rides. */
const corridorCurve = [
  [0.4, -7],
  [0.6, -4],
  [0.75, -1.5],
  [0.9, 0.8],
  [1, 1.6],
] as const;
/** Score by the share of the stops between both ends that the path passes, for patterns with and without a shape. */
const stopsCurve = [
  [0.3, -6],
  [0.5, -3.5],
  [0.75, 0],
  [0.95, 1.2],
] as const;
/** Score by the share of the path within 50 m of rails. Half of it counts on a path of 1 km, more on a longer path. */
const railsCurve = [
  [0.5, -9],
  [0.7, -0.5],
  [0.85, 0.5],
  [0.97, 2],
] as const;
const mostOfCorridor = 1.6 + 1.2; // the highest score of `corridorScore`, with the last values of both curves
/** m; a location up to `onLine` from the line counts fully as on it, a location at `offLine` or farther not at all */
const onLine = 60;
const offLine = 150;
const passedStop = 80; // m; the path passes a stop if it comes at least this near

/** Score of the path: how well the locations follow the pattern between two stops, pass its stops, and move forward. */
function corridorScore({ pattern, from, to, between }: Scored, track: Points, path: Polyline): number {
  const { line, stops, unknown } = pattern.path;
  const [first, last] = [stops[from]!, stops[to]!];
  const firstEdge = line.edgeAt(first.along);
  const afterEdge = Math.max(firstEdge + 1, Math.min(line.x.length - 1, line.edgeAt(last.along) + 1));
  const metres = seenMetres(path, track);
  let [seen, on, back, farthest] = [0, 0, 0, first.along];
  for (let at = 0; at < track.length; at += 1) {
    const [x, y] = [path.x[at]!, path.y[at]!];
    const place = line.nearest(x, y, offLine, firstEdge, afterEdge);
    if (place.off <= offLine) {
      if (place.along < farthest - onLine) back += farthest - place.along - onLine;
      farthest = place.along;
    }
    if (metres[at] === 0 || (place.off > onLine && unknown.some((edge) => mayPass(line, edge, x, y)))) continue;
    seen += metres[at]!;
    on += metres[at]! * clamp((offLine - place.off) / (offLine - onLine), 0, 1);
  }
  // By hand: the weight of a score grows with its evidence: 1/2 for 400 m or 2 stops, 10/11 for 4 km or 20 stops.
  const corridor = seen === 0 ? 0 : (seen / (seen + 400)) * curveAt(corridorCurve, on / seen);
  const passed = between.filter(({ isPassed }) => isPassed).length;
  const count = between.length;
  const atStops = count === 0 ? 0 : (count / (count + 2)) * curveAt(stopsCurve, passed / count);
  return corridor + atStops - Math.min(4, back / 400); // subtracts 1 for each 400 m backwards, at most 4
}

/** True if a path between the ends of an edge by way of a position is at most 1.6 times as long as the edge. */
function mayPass(line: Polyline, edge: number, x: number, y: number): boolean {
  const length = line.along[edge + 1]! - line.along[edge]!;
  const there = Math.hypot(x - line.x[edge]!, y - line.y[edge]!);
  return there + Math.hypot(x - line.x[edge + 1]!, y - line.y[edge + 1]!) <= 1.6 * length;
}

/** Metres of the path that each location represents: half the distance to each neighbour less than `seenGap` s away. */
function seenMetres({ x, y }: Polyline, track: Points): Float64Array {
  const metres = new Float64Array(track.length);
  for (let at = 1; at < track.length; at += 1) {
    if (track[at]!.ts - track[at - 1]!.ts > seenGap) continue;
    const half = Math.hypot(x[at]! - x[at - 1]!, y[at]! - y[at - 1]!) / 2;
    metres[at - 1]! += half;
    metres[at]! += half;
  }
  return metres;
}

interface StopBetween {
  x: number;
  y: number;
  isPassed: boolean;
}

/** The stops of a pattern between two stops, except stops nearest to a gap, where the path is not known. */
function stopsBetween({ pattern, from, to }: Unscored, track: Points, path: Polyline): StopBetween[] {
  const { plane } = pattern.path;
  const between: StopBetween[] = [];
  for (const stop of pattern.stops.slice(from + 1, to)) {
    const [x, y] = [plane.x(stop.longitude), plane.y(stop.latitude)];
    const { off, edge } = path.nearest(x, y);
    if (track[edge + 1]!.ts - track[edge]!.ts <= seenGap) between.push({ x, y, isPassed: off <= passedStop });
  }
  return between;
}

/**
 * Scores the share of the path that follows rails (of subways and railways, not of trams in streets). Also finds rides
 * with a change of trains, and rides that end far from a station. Minus infinity: the score cannot exceed `least`.
 */
function railsAlone({ start, track }: Ride, network: TransitNetwork, isUsed: PatternFilter, least: number): number {
  const lines = network.railShapes(track, isUsed);
  const metres = seenMetres(new Polyline(track, new Plane(start)), track);
  const seen = metres.reduce((sum, one) => sum + one, 0);
  if (lines.length === 0 || seen === 0) return Number.NEGATIVE_INFINITY;
  const scoreOf = (along: number): number => (seen / (seen + 1000)) * curveAt(railsCurve, along / seen);
  let [on, off] = [0, 0];
  for (const [at, location] of track.entries()) {
    if (scoreOf(seen - off) <= least) return Number.NEGATIVE_INFINITY;
    if (metres[at] === 0) continue;
    const { longitude, latitude } = location;
    const isOn = lines.some(({ line, plane }) => line.nearest(plane.x(longitude), plane.y(latitude), 50).off <= 50);
    if (isOn) on += metres[at]!;
    else off += metres[at]!;
  }
  return scoreOf(on);
}

function bestOfRoutes(scored: readonly Scored[]): Scored[] {
  const best = new Map<TransitRoute, Scored>();
  for (const one of scored) {
    const { line } = one.pattern;
    if (one.score > (best.get(line)?.score ?? Number.NEGATIVE_INFINITY)) best.set(line, one);
  }
  return [...best.values()].sort((a, b) => b.score - a.score || a.pattern.number - b.pattern.number);
}

// A bus halts at 65 % of the stops of its line, and at 25 % of other stops (by hand).
const haltAtStop = 0.955; // ln(.65 / .25)
const noHaltAtStop = -0.762; // ln(.35 / .75)
const haltReach = 60; // m from the stop

/**
 * Returns the lines, the best first. Their probabilities are the softmax of the scores and of 0, which is the score of
 * all lines that no feed contains.
 */
function findLines(ride: Ride, scored: readonly Scored[]): LineFound[] {
  const named = scored.map((one) => withFields(one, { score: one.score + haltScore(ride, one) + rarity(one.pattern) }));
  const routes = bestOfRoutes(named);
  if (routes.length === 0) return [];
  const sum = logSum([0, ...routes.map(({ score }) => score)]);
  const lines = new Map<string, LineFound>();
  for (const { pattern, from, to, score } of routes) {
    const { feed, line, stops } = pattern;
    const probability = Math.exp(score - sum);
    // Agencies publish one line as several routes, such as one for each season. A person knows it by its name.
    const key = JSON.stringify([line.agency, line.kind, line.short_name || line.long_name || line.id]);
    const known = lines.get(key);
    if (known !== undefined) known.probability += probability;
    else {
      lines.set(key, {
        kind: line.kind,
        feed: feed.id,
        agency: line.agency,
        route_id: line.id,
        short_name: line.short_name,
        long_name: line.long_name,
        from_stop: stops[from]!.name,
        to_stop: stops[to]!.name,
        probability,
        feed_age_days: feedAge(feed, ride.localTime(feed.zone).day),
      });
    }
  }
  const found = [...lines.values()].filter(({ probability }) => probability >= 0.02);
  return found.sort((a, b) => b.probability - a.probability);
}

/** Score of a bus line by the halts of the ride at its stops, only to compare lines: buses halt at most stops. */
function haltScore({ halts }: TransitRide, { pattern, between }: Scored): number {
  if (halts === null || pattern.line.kind !== 'bus') return 0;
  const { plane } = pattern.path;
  return between.reduce((sum, { x, y, isPassed }) => {
    if (!isPassed) return sum;
    const isHalt = halts.some(
      (halt) => Math.hypot(plane.x(halt.longitude) - x, plane.y(halt.latitude) - y) <= haltReach,
    );
    return sum + (isHalt ? haltAtStop : noHaltAtStop);
  }, 0);
}

/**
 * Score of a pattern, -2 to 0: the logarithm of its trips per day. If a school trip and a usual line have the same
 * path, the ride was more probably with the usual line.
 */
const rarity = ({ pattern }: NetworkPattern): number => clamp(Math.log(Math.max(0.01, pattern.trips)), -2, 0);

function pathLength(track: readonly LatLon[]): number {
  let metres = 0;
  for (let at = 1; at < track.length; at += 1) metres += distance(track[at - 1]!, track[at]!);
  return Math.max(1, metres);
}
