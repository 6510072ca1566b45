// What a user is likely to say about a trip, told from their own labelled trips, each with its probability. Pure.
import { distance } from '../../model/geo/distance.ts';
import { localDateTime } from '../../model/time.ts';
import type { Position } from '../../model/trip.ts';

/** The labels that are suggested. */
export const suggestedLabels = ['mode_confirm', 'purpose_confirm', 'replaced_mode'] as const;

/** Labels by the name of their key. */
export type LabelSet = Readonly<Partial<Record<(typeof suggestedLabels)[number], string>>>;

/** What is looked at of a trip. */
export interface Way {
  /** Seconds since the epoch. */
  start_ts: number;
  start: Position;
  end: Position;
  /** Minute of the local day at which it began, and whether that is a Saturday or a Sunday. */
  minute: number;
  weekend: boolean;
  /** Sensed mode of its longest part. */
  mode: string;
}

/** A trip of the user that they labelled. */
export interface LabelledWay extends Way {
  labels: LabelSet;
}

/** A set of labels and how probable it is that the user would say it. */
export interface Suggestion {
  p: number;
  labels: LabelSet;
}

/** From which probability on suggestions count, 0 to 1. */
export interface SuggestionSettings {
  /** Apps show a suggested label that is more probable than this. */
  shownFrom: number;
  /** A trip with a set of labels this probable is not asked about; 1: every trip is. */
  sureFrom: number;
}

/** What is needed of a trip: when, from where to where, and by what. */
export interface WaySource {
  start_ts: number;
  start_zone: string;
  start_loc: Position;
  end_loc: Position;
  sections: readonly { sensed_mode: string; distance: number }[];
}

/** The way of a trip. */
export function wayOf(trip: WaySource): Way {
  const { hour, minute, weekday } = localDateTime(trip.start_ts, trip.start_zone);
  let longest = trip.sections[0];
  for (const section of trip.sections) if (section.distance > longest!.distance) longest = section;
  return {
    start_ts: trip.start_ts,
    start: trip.start_loc,
    end: trip.end_loc,
    minute: hour * 60 + minute,
    weekend: weekday >= 5,
    mode: longest?.sensed_mode ?? '',
  };
}

/** m; ends of trips nearer to each other than this are at one place. */
const sameEnd = 300;

/**
 * How much a labelled trip tells about one of another sensed mode, or of the other kind of day, beside one of the same.
 */
const otherMode = 0.2;
const otherKindOfDay = 0.7;

/** Minutes; a trip that began this much earlier or later in the day has half the weight. */
const halfTime = 240;

/**
 * How often something new is said: as often as in this many trips, and more often where such trips had several sets of
 * labels, by so much for each. Found, as the weights above, by what made-up people said next
 * (test/diary/labels/suggest.test.ts).
 */
const newness = 0.2;
const newnessOfEach = 0.15;

/** Less probable sets of labels are left out. */
const leastProbable = 0.02;

/**
 * What the user would say about a trip, the most probable first; the rest of the probability is that they say something
 * else. `said` is what they said about it already: nothing is suggested that contradicts it. Only trips between the
 * same two ends count, the more the nearer in time of day and kind of day, and those of the same sensed mode.
 */
export function suggest(way: Way, said: LabelSet, known: readonly LabelledWay[]): Suggestion[] {
  if (!isAsked(said)) return [];
  const weights = new Map<string, { labels: LabelSet; weight: number }>();
  let total = 0;
  for (const other of known) {
    if (other.start_ts === way.start_ts || !isSameWay(other, way) || contradicts(other.labels, said)) continue;
    const weight = weightOf(other, way);
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

/** True while the user has not said both by what and why they travelled. */
export const isAsked = ({ mode_confirm, purpose_confirm }: LabelSet): boolean =>
  mode_confirm === undefined || purpose_confirm === undefined;

const contradicts = (labels: LabelSet, said: LabelSet): boolean =>
  suggestedLabels.some((name) => labels[name] !== undefined && said[name] !== undefined && labels[name] !== said[name]);

const isSameWay = (a: Way, b: Way): boolean => isNear(a.start, b.start) && isNear(a.end, b.end);

function isNear(a: Position, b: Position): boolean {
  // A degree of latitude is 111 km: what is further apart needs no trigonometry.
  if (Math.abs(a[1] - b[1]) * 111_000 > sameEnd) return false;
  return distance({ longitude: a[0], latitude: a[1] }, { longitude: b[0], latitude: b[1] }) <= sameEnd;
}

function weightOf(a: Way, b: Way): number {
  const apart = Math.abs(a.minute - b.minute);
  return (
    0.5 ** (Math.min(apart, 1440 - apart) / halfTime) *
    (a.mode === b.mode ? 1 : otherMode) *
    (a.weekend === b.weekend ? 1 : otherKindOfDay)
  );
}
