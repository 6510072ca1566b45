// Collects evidence of transit feeds for the legs of a group: matches each leg that is not on foot with nearby lines.
//
//   leg        o----o  o   o       o--o       3 s to the nearest location at the start, 200 s at the end
//   ride       both ends, these times, the track, and its halts; null in place of halts if locations are rare
//   evidence   bus 4.1, train -1; lines: 7 (.93)     added to the scores of the leg in modes/mode-crf.ts
import { localDateTime, localDay, maxTime, minTime } from '../../model/time.ts';
import { withFields } from '../../model/with-fields.ts';
import { matchRide, noEvidence, type TransitEvidence, type TransitRide } from '../../transit/match-ride.ts';
import type { TransitNetwork } from '../../transit/network.ts';
import type { Track } from '../clean/track.ts';
import { cellStates } from '../motion-states.ts';
import { findHalts, type LegEvidence } from './leg-evidence.ts';

/** 0 to 1; halts are used only if locations are close together in at least this share of the leg's time (by hand). */
const haltsCovered = 0.7;

export type TransitSource = (legs: readonly LegEvidence[], track: Track) => readonly TransitEvidence[];

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
  const pointAt = (ts: number): TransitRide['track'][number] => {
    const { latitude, longitude } = track.positionAt(ts);
    return { ts, latitude, longitude };
  };
  const inside = track.ts.subarray(track.firstAfter(start), track.firstAfter(end));
  const { halts, covered } = findHalts(track, leg);
  return {
    start: withFields(pointAt(start), { gap: secondsToLocation(track, start) }),
    end: withFields(pointAt(end), { gap: secondsToLocation(track, end) }),
    seconds: end - start,
    track: [start, ...inside, end].map(pointAt),
    halts: covered < haltsCovered ? null : halts.map((i) => pointAt(track.ts[i]!)),
  };
}

function secondsToLocation(track: Track, ts: number): number {
  const next = track.firstAfter(ts);
  const [before, after] = [track.ts[next - 1] ?? -Infinity, track.ts[next] ?? Infinity];
  return Math.min(ts - before, after - ts);
}
