// Decides the mode of a section, from the probabilities of the leg that shares most of its time.
//
//   leg of the group      |---- bus .6, car .3, train .1 ----|
//   section                  |------------------------------|        takes the probabilities of that leg
//   without readings      p ** 0.45 to 0.9, divided by the sum       locations alone: less confidence
//   too fast for a mode   its probability becomes 0                  30 m/s: not by bicycle
//   speed alone           a limit for its probability                no feed: a car, bus or train is at most .85
//   faster than 55 m/s    AIR_OR_HSR, or unknown                     two locations at each end must agree

import type { TransitLine } from '../../model/trip.ts';
import { candidateLimits } from '../clean/candidates.ts';
import type { Track } from '../clean/track.ts';
import { trackLimits } from '../clean/track.ts';
import type { DecodedGroup } from '../decode-group.ts';
import type { Mode } from '../segmenter.ts';
import type { Leg } from '../states/segments.ts';
import { legFeatures, legLimits, modes } from './leg-evidence.ts';
import { nameLine } from './line-name.ts';

/** Index of the first mode by vehicle. */
const vehicle = modes.indexOf('CAR');

const coveredFeature = legFeatures.indexOf('covered');

/**
 * Exponent of the probabilities if there are no motion readings and locations are never close together in the leg;
 * twice that if they always are. Calibrated on recorded days without their readings, see docs/quality.md.
 */
const sharpnessUnread = 0.45;

/**
 * The highest probabilities of a mode that only speed and turning support (by hand, on simulated days and on logged
 * rides of another country). `slow` replaces `vehicle` if the 95 % quantile of the speed is below `train` or `bicycle`,
 * m/s: ferries and trams are as slow as such trains, and runners are as slow as such bicycles.
 */
const confidenceLimits = { vehicle: 0.85, slow: 0.65, train: 15, bicycle: 4.2 };

/** Probabilities by state for a section that overlaps no leg, in the order of `modes` (by hand: little confidence). */
const modesByState = [
  [0, 0, 0, 0, 0],
  [0.7, 0.1, 0.1, 0.1, 0],
  [0.2, 0.6, 0.1, 0.1, 0],
  [0, 0.1, 0.5, 0.25, 0.15],
];

/** m/s; a faster average, or a fast peak with `averageWithPeak`, means a flight or a high-speed train (physical) */
const air = { average: candidateLimits.air, averageWithPeak: 100 / 3.6 };

/** A flight or a high-speed train. */
const byAir: Mode = {
  sensed_mode: 'PredictedModeTypes.AIR_OR_HSR',
  mode_confidence: 1,
  mode_probabilities: { AIR_OR_HSR: 1 },
};

/** Faster than any mode on the ground, but its ends are not certain enough to be a flight. */
const unknownMode: Mode = {
  sensed_mode: 'MotionTypes.UNKNOWN',
  mode_confidence: 0,
  mode_probabilities: {},
};

/** The mode of a section, from the leg that shares most of its time. `average`: m/s */
export function sectionMode(
  { legs, probabilities, transit, track, motions }: DecodedGroup,
  section: Leg,
  average: number,
): Mode & { transit?: TransitLine } {
  const shared = legs.map((leg) => Math.min(leg.end, section.end) - Math.max(leg.start, section.start));
  const i = shared.indexOf(Math.max(...shared));
  const fastest = legs[i]?.fastest ?? 0;
  if (average > air.average || (average > air.averageWithPeak && fastest > air.average))
    return isConfirmedAt(track, section.start) && isConfirmedAt(track, section.end) ? byAir : unknownMode;
  const own = i >= 0 && shared[i]! > 0 ? probabilities.single[i]! : modesByState[section.state]!;
  const covered = legs[i]?.features[coveredFeature] ?? 0;
  const sharpness = motions.length > 0 ? 1 : sharpnessUnread * (1 + covered);
  const sharpened = own.map((p, m) => (average <= legLimits.limits[m]! ? p ** sharpness : 0));
  const sum = sharpened.reduce((a, b) => a + b, 0);
  const line = shared[i]! > 0 ? transit[i] : undefined;
  if (sum === 0) return nameLine(toMode([0, 0, 0, 0, 1]), line);
  const found = sharpened.map((p) => p / sum);
  return nameLine(toMode(line === undefined || line.lines.length === 0 ? limited(found, fastest) : found), line);
}

/** The same probabilities with the most probable one limited; the others share the rest. */
function limited(probabilities: readonly number[], fastest: number): number[] {
  const best = probabilities.indexOf(Math.max(...probabilities));
  const name = modes[best]!;
  if (name === 'WALKING') return [...probabilities];
  const isSlow =
    fastest < (name === 'TRAIN' ? confidenceLimits.train : name === 'BICYCLING' ? confidenceLimits.bicycle : 0);
  const most = isSlow ? confidenceLimits.slow : name === 'BICYCLING' ? 1 : confidenceLimits.vehicle;
  if (probabilities[best]! <= most) return [...probabilities];
  const others = 1 - probabilities[best]!;
  const vehicles = modes.length - vehicle;
  return probabilities.map((p, m) => {
    if (m === best) return most;
    // If no other mode was probable, the other vehicles share the rest.
    return others > 0.001
      ? (p * (1 - most)) / others
      : m >= vehicle
        ? (1 - most) / (vehicles - (best >= vehicle ? 1 : 0))
        : 0;
  });
}

/** The most probable mode; of equally probable ones the first. */
function toMode(probabilities: readonly number[]): Mode {
  const best = probabilities.indexOf(Math.max(...probabilities));
  const mode_probabilities: Record<string, number> = {};
  for (const [m, p] of probabilities.entries()) {
    const rounded = Math.round(p * 1000) / 1000;
    if (rounded > 0 || m === best) mode_probabilities[modes[m]!] = rounded;
  }
  const name = modes[best]!;
  return { sensed_mode: `PredictedModeTypes.${name}`, mode_confidence: mode_probabilities[name]!, mode_probabilities };
}

/** s, by hand: the shortest and longest time between two locations that confirm a speed, see `isConfirmedAt` */
const agreement = { least: 120, most: 3600 };

/** True if two locations near an end of a section, at least `agreement.least` s apart, are not impossibly far apart. */
function isConfirmedAt(track: Track, ts: number): boolean {
  const after = track.firstAfter(ts);
  for (const i of [after - 1, after]) {
    if (i < 0 || i >= track.ts.length || Math.abs(track.ts[i]! - ts) > agreement.most) continue;
    for (let j = 0; j < track.ts.length; j += 1) {
      const seconds = Math.abs(track.ts[j]! - track.ts[i]!);
      if (seconds < agreement.least || seconds > agreement.most) continue;
      if (track.apart(i, j) <= trackLimits.impossibleSpeed * seconds) return true;
    }
  }
  return false;
}
