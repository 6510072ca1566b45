// Collects evidence of transit feeds for the legs of a group: matches each leg that is not on foot with nearby lines.
//
//   leg        o----o  o   o       o--o       3 s to the nearest location at the start, 200 s at the end
//   ride       both ends, these times, the track, and its halts; null in place of halts if locations are rare
//   evidence   bus 4.1, train -1; lines: 7 (.93)     added to the scores of the leg in modes/mode-crf.ts
import { localDateTime, localDay, maxTime, minTime } from '../../model/time.ts';
import { matchRide, noEvidence, type TransitEvidence, type TransitRide } from '../../transit/match-ride.ts';
import type { TransitNetwork } from '../../transit/network.ts';
import type { Track } from '../clean/track.ts';
import { cellStates } from '../motion-states.ts';
import { findHalts, type LegEvidence } from './leg-evidence.ts';

/** Halts are used if locations are close together for at least this share of the leg's time (by hand). */
const haltsCovered = 0.7;

/** Gives the evidence of transit feeds for each leg. */
export type TransitSource = (legs: readonly LegEvidence[], track: Track) => readonly TransitEvidence[];

/** The evidence of the feeds of a network. */
export function transitOf(network: TransitNetwork): TransitSource {
  const forLeg = (leg: LegEvidence, track: Track): TransitEvidence => {
    if (leg.state === cellStates.walk || leg.start < minTime || leg.end > maxTime) return noEvidence;
    return matchRide(toRide(leg, track), network, (zone) => {
      const { hour, weekday } = localDateTime(leg.start, zone);
      return { day: localDay(leg.start, zone), hour, weekday };
    });
  };
  return (legs, track) => legs.map((leg) => forLeg(leg, track));
}

function toRide(leg: LegEvidence, track: Track): TransitRide {
  const { start, end } = leg;
  const [first, last] = [track.firstAfter(start), track.firstAfter(end)];
  const from = { ...track.positionAt(start), ts: start };
  const to = { ...track.positionAt(end), ts: end };
  const inside: TransitRide['track'][number][] = [];
  for (let i = first; i < last; i += 1) {
    inside.push({ ts: track.ts[i]!, latitude: track.latitude[i]!, longitude: track.longitude[i]! });
  }
  const { halts, covered } = findHalts(track, leg);
  return {
    start: { ...from, gap: secondsToLocation(track, start) },
    end: { ...to, gap: secondsToLocation(track, end) },
    seconds: end - start,
    track: [from, ...inside, to],
    halts:
      covered < haltsCovered
        ? null
        : halts.map((i) => ({ latitude: track.latitude[i]!, longitude: track.longitude[i]! })),
  };
}

/** s from a time to the nearest location of the track */
function secondsToLocation(track: Track, ts: number): number {
  const next = track.firstAfter(ts);
  const [before, after] = [track.ts[next - 1] ?? -Infinity, track.ts[next] ?? Infinity];
  return Math.min(ts - before, after - ts);
}
