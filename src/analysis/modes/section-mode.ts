// Decides the mode of a section, from the probabilities of the leg that shares most of its time.
//
//   leg of the group      |---- bus .6, car .3, train .1 ----|
//   section                  |------------------------------|        takes the probabilities of that leg
//   without readings      p ** 0.45 to 0.75, divided by the sum      locations alone: less confidence
//   too fast for a mode   its probability becomes 0                  30 m/s over 500 m: not by bicycle
//   no feed confirms it   a limit for its probability                a car or bus is at most .8
//   faster than 55 m/s    AIR_OR_HSR, or unknown                     two locations at each end must agree
import type { TransitEvidence } from '../../transit/match-ride.ts';
import { candidateLimits } from '../clean/candidates.ts';
import { type Track, trackLimits } from '../clean/track.ts';
import type { DecodedGroup } from '../decode-group.ts';
import type { Mode } from '../segmenter.ts';
import type { Leg } from '../states/segments.ts';
import { boardingRatios, type LegEvidence, legFeatures, modes, possibleModes } from './leg-evidence.ts';
import { asMode, type ModeByLine, nameLine, roundProbability } from './line-name.ts';

const vehicle = modes.indexOf('CAR'); // the first mode by vehicle
const coveredFeature = legFeatures.indexOf('covered');

/**
 * The power to which probabilities are raised if there are no motion readings: `none` if the locations of a leg are
 * never close together, `none + all` if they always are. Set on simulated days, and on recorded days without readings.
 */
const sharpnessUnread = { none: 0.45, all: 0.3 };

/**
 * The highest probability of a mode that no feed confirms. By hand, on simulated days and on logged rides of another
 * country: there, most "cars" between two walks were trains.
 */
const confidenceLimits = {
  vehicle: 0.8, // a car or a bus, unless `walked` or `noWait` applies
  train: 0.85, // a train faster than `slow.train`
  unread: 0.8, // any mode, if there are no motion readings
  /** A train or bicycle slower than this (m/s, 95 % quantile) may be a ferry or a runner, so `most` limits it. */
  slow: { most: 0.65, train: 19, bicycle: 4.6 },
  walked: 0.4, // a car between two long walks, because few people walk far to their car and from it
  noWait: 0.6, // a bus after a wait of less than 105 s or more than 1075 s, see `waitFeature`
};

/** For a section that overlaps no leg: probabilities by state and mode, with little confidence (by hand). */
const modesByState = [
  [0, 0, 0, 0, 0],
  [0.7, 0.1, 0.1, 0.1, 0],
  [0.2, 0.6, 0.1, 0.1, 0],
  [0, 0.1, 0.5, 0.25, 0.15],
];
/** For a section that is too fast for all probable modes of its leg: a train, the fastest of the five modes. */
const noneIsPossible = [0, 0, 0, 0, 1];

/** m/s (physical). A flight has a mean over `average`, or over `averageWithPeak` and a 95 % quantile over `average`. */
const air = { average: candidateLimits.air, averageWithPeak: 100 / 3.6 };

const byAir = asMode('AIR_OR_HSR', 1);

/** The mode of a section that is too fast for modes on the ground, but whose ends are too uncertain for a flight. */
const unknownMode: Mode = { sensed_mode: 'MotionTypes.UNKNOWN', mode_confidence: 0, mode_probabilities: {} };

/** The mode of a section, from the leg that overlaps it longest. `average`: its `knownAverage` */
export function sectionMode(decoded: DecodedGroup, section: Leg, average: number): ModeByLine {
  const { legs, probabilities, transit, track, motions } = decoded;
  const shared = legs.map((leg) => Math.min(leg.end, section.end) - Math.max(leg.start, section.start));
  const i = shared.indexOf(Math.max(...shared));
  const fastest = legs[i]?.fastest ?? 0;
  if (average > air.average || (average > air.averageWithPeak && fastest > air.average))
    return isConfirmedAt(track, section.start) && isConfirmedAt(track, section.end) ? byAir : unknownMode;
  const own = i >= 0 && shared[i]! > 0 ? probabilities.single[i]! : modesByState[section.state]!;
  const covered = legs[i]?.features[coveredFeature] ?? 0;
  const sharpness = motions.length > 0 ? 1 : sharpnessUnread.none + sharpnessUnread.all * covered;
  const isPossible = possibleModes(average);
  const sharpened = own.map((p, m) => (isPossible[m] ? p ** sharpness : 0));
  const sum = sharpened.reduce((a, b) => a + b, 0);
  const line = shared[i]! > 0 ? transit[i] : undefined;
  if (sum === 0) return nameLine(toMode(noneIsPossible), line);
  const found = sharpened.map((p) => p / sum);
  const cap = confidenceCap(found, legs[i], line, motions.length > 0);
  return nameLine(toMode(limitConfidence(found, isPossible, cap)), line);
}

function confidenceCap(found: number[], leg?: LegEvidence, line?: TransitEvidence, isRead = false): number {
  const name = modes[found.indexOf(Math.max(...found))]!;
  if (line !== undefined && ((name === 'BUS' && line.bus > 0) || (name === 'TRAIN' && line.train > 0))) return 1;
  const { wait, walks } = leg === undefined ? { wait: 0, walks: 0 } : boardingRatios(leg.features);
  const fastest = leg?.fastest ?? 0;
  const most = isRead ? 1 : confidenceLimits.unread;
  if (name === 'WALKING') return most;
  if (name === 'BICYCLING') return fastest < confidenceLimits.slow.bicycle ? confidenceLimits.slow.most : most;
  if (name === 'TRAIN')
    return Math.min(most, fastest < confidenceLimits.slow.train ? confidenceLimits.slow.most : confidenceLimits.train);
  if (name === 'BUS') return wait < 1 ? confidenceLimits.noWait : confidenceLimits.vehicle;
  return walks >= 1 ? confidenceLimits.walked : confidenceLimits.vehicle;
}

/** Lowers the highest probability to `most`: adds equal shares for all possible modes or vehicles. It stays highest. */
function limitConfidence(probabilities: readonly number[], isPossible: readonly boolean[], most: number): number[] {
  const p = Math.max(...probabilities);
  const isVehicle = probabilities.indexOf(p) >= vehicle;
  const mixed = modes.map((_, m) => isPossible[m] && (m >= vehicle || !isVehicle));
  const equal = 1 / mixed.filter(Boolean).length;
  if (p <= most || equal >= most) return [...probabilities];
  const share = (p - most) / (p - equal);
  return probabilities.map((one, m) => (1 - share) * one + (mixed[m] ? share * equal : 0));
}

function toMode(probabilities: readonly number[]): Mode {
  const best = probabilities.indexOf(Math.max(...probabilities));
  const mode_probabilities: Record<string, number> = {};
  for (const [m, p] of probabilities.entries()) {
    if (roundProbability(p) > 0 || m === best) mode_probabilities[modes[m]!] = roundProbability(p);
  }
  const name = modes[best]!;
  return { sensed_mode: `PredictedModeTypes.${name}`, mode_confidence: mode_probabilities[name]!, mode_probabilities };
}

/** s; shortest and longest time between two locations that confirm a speed in `isConfirmedAt` (by hand) */
const agreement = { least: 120, most: 3600 };

/** True if a location next to `ts` has a possible speed to another, 2 to 60 minutes away. */
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
