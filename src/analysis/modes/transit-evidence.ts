// Evidence of transit feeds for the legs of a group: each leg that is not on foot is matched with the lines around.
import { localDateTime, localDay, maxTime, minTime } from '../../model/time.ts';
import { matchRide, noEvidence, type TransitEvidence, type TransitRide } from '../../transit/match-ride.ts';
import type { TransitNetwork } from '../../transit/network.ts';
import type { Track } from '../clean/track.ts';
import { cellStates } from '../motion-states.ts';
import { halting, type LegEvidence } from './leg-evidence.ts';

/** Share of a leg's time with locations close together from which on its halts are believed (by hand). */
const haltsCovered = 0.7;

/** What feeds say of each leg. */
export function transitEvidence(
  legs: readonly LegEvidence[],
  track: Track,
  network: TransitNetwork,
): TransitEvidence[] {
  return legs.map((leg) => {
    if (leg.state === cellStates.walk || leg.start < minTime || leg.end > maxTime) return noEvidence;
    return matchRide(rideOf(leg, track), network, (zone) => {
      const { hour, weekday } = localDateTime(leg.start, zone);
      return { day: localDay(leg.start, zone), hour, weekday };
    });
  });
}

function rideOf({ start, end }: LegEvidence, track: Track): TransitRide {
  const [first, last] = [track.firstAfter(start), track.firstAfter(end)];
  const end0 = { ...track.positionAt(start), ts: start };
  const end1 = { ...track.positionAt(end), ts: end };
  const inside: TransitRide['track'][number][] = [];
  for (let i = first; i < last; i += 1) {
    inside.push({ ts: track.ts[i]!, latitude: track.latitude[i]!, longitude: track.longitude[i]! });
  }
  const { halts, covered } = findHalts(track, start, end);
  return {
    start: { ...end0, gap: secondsToFix(track, start) },
    end: { ...end1, gap: secondsToFix(track, end) },
    seconds: end - start,
    track: [end0, ...inside, end1],
    halts: covered < haltsCovered ? null : halts,
  };
}

/** s from a time to the nearest fix of the track */
function secondsToFix(track: Track, ts: number): number {
  const next = track.firstAfter(ts);
  const [before, after] = [track.ts[next - 1] ?? -Infinity, track.ts[next] ?? Infinity];
  return Math.min(ts - before, after - ts);
}

/** Places where the vehicle stood, and the share of the leg's time in which they are visible. */
function findHalts(track: Track, start: number, end: number) {
  const halts: { latitude: number; longitude: number }[] = [];
  let [seen, standing] = [0, 0];
  const last = Math.min(track.firstAfter(end), track.ts.length - 1);
  for (let i = Math.max(1, track.firstAfter(start)); i <= last; i += 1) {
    const seconds = track.ts[i]! - track.ts[i - 1]!;
    if (seconds <= halting.gap) seen += seconds;
    if (track.metres[i]! - track.metres[i - 1]! < halting.speed * seconds) {
      standing += seconds;
      continue;
    }
    if (standing >= halting.least) halts.push({ latitude: track.latitude[i - 1]!, longitude: track.longitude[i - 1]! });
    standing = 0;
  }
  return { halts, covered: end > start ? Math.min(1, seen / (end - start)) : 0 };
}
