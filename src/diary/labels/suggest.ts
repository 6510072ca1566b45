// Suggests label sets with probabilities for a trip, from the user's own labelled trips. Pure.
//
//   trip       home -> office  Tue 08:10  sensed bus
//   labelled   home -> office  Mon 08:05  sensed bus      bus, work        weight 0.99
//              home -> office  Sat 12:05  sensed bicycle  bicycle, work    weight 0.07
//              4 h apart: 0.5, other mode: 0.2, other kind of day: 0.7
//   result     bus, work: 0.63   bicycle, work: 0.05      the rest to 1: labels not seen before
import { locationOf } from '../../analysis/positions.ts';
import { distance } from '../../model/geo/distance.ts';
import { localDateTime } from '../../model/time.ts';
import type { BriefTrip, Position } from '../../model/trip.ts';

export const suggestedLabels = ['mode_confirm', 'purpose_confirm', 'replaced_mode'] as const;

export type LabelSet = Readonly<Partial<Record<(typeof suggestedLabels)[number], string>>>;

export interface TripTraits {
  start_ts: number;
  start: Position;
  end: Position;
  minute: number; // minute of the local day at the start, 0 to 1439
  weekend: boolean; // the trip starts on a Saturday or Sunday
  mode: string; // sensed mode of the longest section
}

export type LabelledTraits = TripTraits & { labels: LabelSet };

export type Suggestion = { p: number; labels: LabelSet };

/**
 * Apps show a label that is more probable than `shownFrom`, and do not ask about a trip from
 * `sureFrom` on. Seven trips with the same labels give about 95 %.
 */
export const suggestionLimits = { shownFrom: 0.55, sureFrom: 0.95 };

export type TraitSource = Pick<BriefTrip, 'start_ts' | 'start_zone' | 'start_loc' | 'end_loc'> & {
  sections: Pick<BriefTrip['sections'][number], 'sensed_mode' | 'distance'>[];
};

export function toTraits(trip: TraitSource): TripTraits {
  const { hour, minute, weekday } = localDateTime(trip.start_ts, trip.start_zone);
  const [longest] = trip.sections.toSorted((a, b) => b.distance - a.distance);
  return {
    start_ts: trip.start_ts,
    start: trip.start_loc,
    end: trip.end_loc,
    minute: hour * 60 + minute,
    weekend: weekday >= 5,
    mode: longest?.sensed_mode ?? '',
  };
}

const sameEnd = 300; // m; two trip ends closer than this are one place

// All weights are fitted to simulated users (test/diary/labels/suggest.test.ts).
const otherMode = 0.2; // factor of the weight of a labelled trip with another sensed mode
const otherKindOfDay = 0.7; // factor if one trip is on a workday and the other at the weekend
const halfTime = 240; // minutes; a trip this much earlier or later in the day has half the weight
/** Weight of all label sets not used before; each used label set adds `newnessOfEach` to it. */
const newness = 0.2;
const newnessOfEach = 0.15;

const leastProbable = 0.02; // label sets with a lower probability are left out

/**
 * Ranks label sets for a trip, by known trips with the same two ends. The probabilities sum to less
 * than 1: other label sets have the rest. Suggestions agree with the `given` labels.
 */
export function suggest(trip: TripTraits, given: LabelSet, known: readonly LabelledTraits[]): Suggestion[] {
  if (!isAsked(given)) return [];
  const weights = new Map<string, { labels: LabelSet; weight: number }>();
  let total = 0;
  for (const other of known) {
    if (other.start_ts === trip.start_ts || !hasSameEnds(other, trip) || contradicts(other.labels, given)) continue;
    const weight = weightOf(other, trip);
    const text = JSON.stringify(suggestedLabels.map((name) => other.labels[name] ?? null));
    const same = weights.get(text);
    if (same === undefined) weights.set(text, { labels: other.labels, weight });
    else same.weight += weight;
    total += weight;
  }
  const all = total + newness + newnessOfEach * weights.size;
  return [...weights]
    .sort(([a, { weight: x }], [b, { weight: y }]) => y - x || (a < b ? -1 : 1))
    .map(([, { labels, weight }]) => ({ p: Math.round((1000 * weight) / all) / 1000, labels }))
    .filter(({ p }) => p >= leastProbable);
}

export const isAsked = ({ mode_confirm, purpose_confirm }: LabelSet): boolean =>
  mode_confirm === undefined || purpose_confirm === undefined;

const contradicts = (labels: LabelSet, given: LabelSet): boolean =>
  suggestedLabels.some(
    (name) => labels[name] !== undefined && given[name] !== undefined && labels[name] !== given[name],
  );

const hasSameEnds = (a: TripTraits, b: TripTraits): boolean => isNear(a.start, b.start) && isNear(a.end, b.end);

function isNear(a: Position, b: Position): boolean {
  // A degree of latitude is 111 km. Latitudes alone exclude most positions, which saves time.
  if (Math.abs(a[1] - b[1]) * 111_000 > sameEnd) return false;
  return distance(locationOf(a), locationOf(b)) <= sameEnd;
}

function weightOf(a: TripTraits, b: TripTraits): number {
  const apart = Math.abs(a.minute - b.minute);
  return (
    0.5 ** (Math.min(apart, 1440 - apart) / halfTime) *
    (a.mode === b.mode ? 1 : otherMode) *
    (a.weekend === b.weekend ? 1 : otherKindOfDay)
  );
}
